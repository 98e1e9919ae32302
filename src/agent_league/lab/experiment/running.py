"""Running an experiment: plays what is missing in its folder and writes it down as it comes.

Killed at any time it loses what was played in the last moments, and goes on from there. It prints nothing.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from agent_league.lab.experiment.budgets import ModelBudgets
from agent_league.lab.experiment.engines import Engine
from agent_league.lab.experiment.pieces import PieceResult
from agent_league.lab.experiment.plan import PiecePlanner, Shard
from agent_league.lab.experiment.resolution import ResolvedExperiment
from agent_league.lab.experiment.row_store import RowStore
from agent_league.lab.experiment.stopping import StoppingTests

COMMIT_SECONDS = 0.5
"""Most seconds of results that a kill can lose, beside the pieces under way."""
PACE_SECONDS = 1.0
"""From less the time left would be a guess."""
FINISHED_FACT = "finished"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far an experiment is."""

    games: int
    """Without those that are left out as a stopping rule had decided before them."""
    total: int
    """All games; with a stopping rule the most there can still be."""
    seconds_left: float | None
    """None: not known."""
    may_stop: bool = False
    """Whether a stopping rule may end it earlier: then the time is the longest."""

    @property
    def time_left(self) -> str:
        """The time left in words; empty if it isn't known."""
        if self.seconds_left is None:
            return ""
        return f"{'at most' if self.may_stop else 'about'} {describe_seconds(self.seconds_left)} left"


ProgressListener = Callable[[RunProgress], None]


@dataclass(slots=True)
class ExperimentRun:
    """One run of an experiment in an open folder."""

    resolved: ResolvedExperiment
    store: RowStore
    engines: Sequence[tuple[Engine, bool]]
    """Each with whether it takes the pieces that are played by messages; else it takes all others."""
    shard: Shard | None = None
    watch: ProgressListener = lambda _: None
    remark: Callable[[str], None] = lambda _: None
    """Is told at once who fails, as the rest of the games may be worth nothing."""
    _told: set[str] = field(init=False, default_factory=set)
    """Players whose first fault was told."""
    _budgets: ModelBudgets = field(init=False)
    _tests: StoppingTests | None = field(init=False, default=None)
    _meetings: int = field(init=False, default=0)
    """All that are to be played, also by earlier runs."""
    _played: Counter[int] = field(init=False, default_factory=Counter)
    """Meetings by matchup, those of earlier runs included."""
    _unwritten: list[tuple[list[int], PieceResult]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._budgets = ModelBudgets(self.resolved.plan)

    def play(self) -> list[str]:
        """Play all that is missing; when it is interrupted, what is finished is written.

        Return sentences about what was there before, and what could not be played.
        """
        plan, store, rule = self.resolved.plan, self.store, self.resolved.file.stop
        settled = plan.mark_others(self.shard, whole_matchups=rule is not None)
        own = bytes(settled)
        self._meetings = own.count(0)
        store.mark_played_meetings(settled)
        for first in range(0, len(own), len(plan.seeds)):
            place = first, first + len(plan.seeds)
            self._played[first // len(plan.seeds)] = own.count(0, *place) - settled.count(0, *place)
        if rule:
            self._tests = StoppingTests(plan, rule.make_test())
            self._replay_tests()
            for matchup in self._tests.stops:
                _settle_matchup(settled, matchup, len(plan.seeds))
        before = self._describe_progress().games
        self._budgets.read_spent(store)
        called = plan.find_called_matchups()
        work: list[tuple[Engine, PiecePlanner]] = []
        for engine, takes_called in self.engines:
            left = bytearray(settled)
            for number in range(plan.matchup_count):
                if (number in called) != takes_called:
                    _settle_matchup(left, number, len(plan.seeds))
            work.append((engine, PiecePlanner(plan, left)))
        for number, (engine, planner) in enumerate(work):
            self._play_meetings(engine, planner, is_last=all(later.is_empty for _, later in work[number + 1 :]))
        progress = self._describe_progress()
        is_finished = progress.games == progress.total
        spent = {} if is_finished else self._budgets.find_exhausted()
        with store:
            for matchup, seeds in (self._tests.stops if self._tests else {}).items():
                store.delete_meetings(matchup * len(plan.seeds) + seeds, (matchup + 1) * len(plan.seeds))
            self._budgets.write_spent(store)
            store.write_fact(FINISHED_FACT, "yes" if is_finished else "no")
        there = f"{before} of {progress.total} games were there from an earlier run"
        known = "All games were there from an earlier run: nothing was left to play"
        return [f"{known if before == progress.total else there}."] * (before > 0) + [
            f"{sentence}, so not all of its games are played. Raise it in the file to go on."
            for sentence in spent.values()
        ]

    def _describe_progress(self, seconds_left: float | None = None) -> RunProgress:
        """Count what stays: a stopping rule leaves out what was played beyond the seed that decided."""
        plan, stops = self.resolved.plan, self._tests.stops if self._tests else {}
        surplus = sum(max(0, self._played[matchup] - seeds) for matchup, seeds in stops.items())
        spared = sum(len(plan.seeds) - seeds for seeds in stops.values())
        size = plan.games_per_meeting
        return RunProgress(
            games=(self._played.total() - surplus) * size,
            total=(self._meetings - spared) * size,
            seconds_left=seconds_left,
            may_stop=self._tests is not None,
        )

    def _play_meetings(self, engine: Engine, planner: PiecePlanner, *, is_last: bool) -> None:
        self._end_spent_matchups(planner)
        if planner.is_empty:
            return
        began, work = None, 0.0
        committed = time.monotonic()
        results = engine.run(map(self._budgets.limit_piece, planner.list_pieces()))
        try:
            for result in results:
                finished = planner.finish_piece(result)
                if finished:
                    self._unwritten.append((finished, result))
                    self._played[finished[0] // len(self.resolved.plan.seeds)] += len(finished)
                self._tell_first_fault(result)
                self._budgets.add_result(result)
                self._end_spent_matchups(planner)
                for matchup in self._tests.add_meetings(finished, result.rows) if self._tests else ():
                    planner.end_matchup(matchup)
                now = time.monotonic()
                if now - committed > COMMIT_SECONDS:
                    self._write_results()
                    committed = time.monotonic()
                if began is None:
                    began = now  # starting an engine takes long beside the first games
                else:
                    work += result.seconds
                alone = planner.estimate_seconds() if is_last and now - began >= PACE_SECONDS else None
                left = alone * (now - began) / work if alone is not None and work else None
                self.watch(self._describe_progress(left))
        finally:
            if isinstance(results, Generator):
                results.close()
            self._write_results()

    def _tell_first_fault(self, result: PieceResult) -> None:
        for note in result.notes:
            if note.player and note.player not in self._told:
                self._told.add(note.player)
                self.remark(note.describe())

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


def _settle_matchup(settled: bytearray, number: int, seeds: int) -> None:
    """Mark all meetings of a matchup as settled."""
    settled[number * seeds : (number + 1) * seeds] = b"\x01" * seeds


def describe_seconds(seconds: float) -> str:
    """Say how long something takes, for people: 40 s, 3 min, 2 h 10 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
