"""Running an experiment: plays what is missing in its folder and writes it down as it comes.

Killed at any time it loses what was played in the last moments, and goes on from there. It prints nothing.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from agent_league.lab.experiment.budgets import ModelBudgets
from agent_league.lab.experiment.contestants import PlayerKind
from agent_league.lab.experiment.engines import Engine
from agent_league.lab.experiment.pieces import PieceResult
from agent_league.lab.experiment.plan import PiecePlanner, Shard
from agent_league.lab.experiment.resolution import ResolvedExperiment
from agent_league.lab.experiment.row_store import RowStore
from agent_league.lab.experiment.stopping import StoppingTests

COMMIT_SECONDS = 0.5
"""Most seconds of results that a kill can lose, beside the pieces under way."""
FINISHED_FACT = "finished"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far an experiment is."""

    games: int
    total: int
    """All games; with a stopping rule the most there can be."""
    seconds_left: float | None
    """None: not known."""


ProgressListener = Callable[[RunProgress], None]


@dataclass(slots=True)
class ExperimentRun:
    """One run of an experiment in an open folder."""

    resolved: ResolvedExperiment
    store: RowStore
    engines: Sequence[tuple[Engine, bool]]
    """Each with whether it takes the pieces of players at addresses; else it takes all others."""
    shard: Shard | None = None
    watch: ProgressListener = lambda _: None
    _budgets: ModelBudgets = field(init=False)
    _tests: StoppingTests | None = field(init=False, default=None)
    _games: int = field(init=False, default=0)
    _total: int = field(init=False, default=0)
    _unwritten: list[tuple[list[int], PieceResult]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._budgets = ModelBudgets(self.resolved.plan)

    def play(self) -> list[str]:
        """Play all that is missing; when it is interrupted, what is finished is written.

        Return sentences about what could not be played.
        """
        plan, store, rule = self.resolved.plan, self.store, self.resolved.file.stop
        settled = plan.mark_others(self.shard, whole_matchups=rule is not None)
        size = plan.games_per_meeting
        self._total = settled.count(0) * size
        store.mark_played_meetings(settled)
        self._games = self._total - settled.count(0) * size
        if rule:
            self._tests = StoppingTests(plan, rule.make_test())
            self._replay_tests()
            for matchup in self._tests.stops:
                _settle_matchup(settled, matchup, len(plan.seeds))
        self._budgets.read_spent(store)
        called = self._find_called_matchups()
        for engine, takes_addresses in self.engines:
            own = bytearray(settled)
            for number in range(plan.matchup_count):
                if (number in called) != takes_addresses:
                    _settle_matchup(own, number, len(plan.seeds))
            self._play_meetings(engine, PiecePlanner(plan, own))
        spent = self._budgets.find_exhausted() if self._games < self._total else {}
        with store:
            for matchup, seeds in (self._tests.stops if self._tests else {}).items():
                store.delete_meetings(matchup * len(plan.seeds) + seeds, (matchup + 1) * len(plan.seeds))
            store.write_fact(FINISHED_FACT, "no" if spent else "yes")
        return [
            f"{sentence}, so not all of its games are played. Raise it in the file to go on."
            for sentence in spent.values()
        ]

    def _play_meetings(self, engine: Engine, planner: PiecePlanner) -> None:
        self._end_spent_matchups(planner)
        if planner.is_empty:
            return
        started, work = time.monotonic(), 0.0
        committed = started
        results = engine.run(map(self._budgets.limit_piece, planner.list_pieces()))
        try:
            for result in results:
                finished = planner.finish_piece(result)
                self._unwritten.append((finished, result))
                self._games += len(result.rows)
                work += result.seconds
                self._budgets.add_rows(result.rows)
                self._end_spent_matchups(planner)
                for matchup in self._tests.add_meetings(finished, result.rows) if self._tests else ():
                    planner.end_matchup(matchup)
                now = time.monotonic()
                if now - committed > COMMIT_SECONDS:
                    self._write_results()
                    committed = time.monotonic()
                alone = planner.estimate_seconds()
                left = None if alone is None or not work else alone * (now - started) / work
                self.watch(RunProgress(self._games, self._total, left))
        finally:
            if isinstance(results, Generator):
                results.close()
            self._write_results()

    def _end_spent_matchups(self, planner: PiecePlanner) -> None:
        """Plan no more meetings of models that have spent their budget."""
        spent = self._budgets.find_exhausted()
        plan = self.resolved.plan
        for matchup in plan.list_matchups() if spent else ():
            if any(plan.players[player].label in spent for player in matchup.pair):
                planner.end_matchup(matchup.number)

    def _write_results(self) -> None:
        with self.store:
            for meetings, result in self._unwritten:
                self.store.add_meetings(meetings, result.rows, result.notes)
        self._unwritten.clear()

    def _replay_tests(self) -> None:
        """Count what an earlier run has played."""
        plan, tests = self.resolved.plan, self._tests
        last = self.store.select(
            "SELECT meeting, winner FROM game_rows WHERE round > ? ORDER BY meeting, round", plan.games_per_meeting - 2
        )
        for (meeting, first), (_, second) in zip(last, last, strict=True):
            if tests:
                tests.add_pair(meeting, first, second)

    def _find_called_matchups(self) -> set[int]:
        """Return the matchups with a player at an address."""
        plan = self.resolved.plan
        return {
            matchup.number
            for matchup in plan.list_matchups()
            if any(plan.players[player].kind is PlayerKind.ADDRESS for player in matchup.pair)
        }


def _settle_matchup(settled: bytearray, number: int, seeds: int) -> None:
    """Mark all meetings of a matchup as settled."""
    settled[number * seeds : (number + 1) * seeds] = b"\x01" * seeds


def describe_seconds(seconds: float) -> str:
    """Say how long something takes, for people: 40 s, 3 min, 2 h 10 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
