"""The stopping rule: which matchups have played enough, by a sequential test in the order of seeds.

Each seed counts once, by its last game on each side, as games of one meeting hang together. What was played beyond the
seed that decided is left out, so the rows don't depend on how far other processes were.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.ratings.sequential_test import PairCounts, SequentialState, SequentialTest, Verdict

POINTS: Mapping[Winner, float] = {"first": 1.0, "draw": 0.5, "second": 0.0}


class StoppingTests:
    """A sequential test for each matchup: is its first player better than its second?"""

    def __init__(self, plan: ExperimentPlan, test: SequentialTest) -> None:
        self._plan = plan
        self._test = test
        self._counts: defaultdict[int, PairCounts] = defaultdict(PairCounts)
        self._waiting: defaultdict[int, dict[int, tuple[float, float]]] = defaultdict(dict)
        """By matchup, pairs of points that came before those of earlier seeds."""
        self.stops: dict[int, int] = {}
        """By matchup, how many seeds decided it."""

    def add_meetings(self, meetings: Iterable[int], rows: Iterable[GameRow]) -> set[int]:
        """Count meetings, given with all their rows; return the matchups that these decided."""
        size = self._plan.games_per_meeting
        listed = list(rows)
        decided = set()
        for place, meeting in enumerate(meetings):
            first, second = listed[place * size + size - 2], listed[place * size + size - 1]
            decided |= self.add_pair(meeting, first.winner, second.winner)
        return decided

    def add_pair(self, meeting: int, first: Winner, second: Winner) -> set[int]:
        """Count the last two games of a meeting; return its matchup if that decided it."""
        matchup, seed = divmod(meeting, len(self._plan.seeds))
        if matchup in self.stops:
            return set()
        waiting = self._waiting[matchup]
        waiting[seed] = (POINTS[first], 1 - POINTS[second])
        while (pair := waiting.pop(self._counts[matchup].pairs, None)) is not None:
            self._counts[matchup] = self._counts[matchup].add_pair(*pair)
            if self._test.evaluate(self._counts[matchup]).verdict is not Verdict.UNDECIDED:
                self.stops[matchup] = self._counts[matchup].pairs
                waiting.clear()
                return {matchup}
        return set()

    def evaluate(self, matchup: int) -> SequentialState:
        """Say how far the test of a matchup has come."""
        return self._test.evaluate(self._counts[matchup])
