"""The ratings of a league: when they are computed, and the last ones.

A command computes them when it asks. In a running manager they are computed in a thread, because they take from
milliseconds to seconds, and pages show the last ones meanwhile.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_league.formats.base import Format
from agent_league.games.registry import find_game_title, seats_differ
from agent_league.league.ladder_ratings import LadderRatingInput
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.trial_tournament import TrialTournament
from agent_league.model.results import MatchResult, Outcome, Scoring
from agent_league.ratings.numpy_import import import_numpy
from agent_league.ratings.tables import ResultRow, TechnicalLossRatings

if TYPE_CHECKING:
    from agent_league.ratings.report import RatingReport
    from agent_league.ratings.results import ResultTable

RatedProgress = tuple[int, LeaguePhase, int, int]
REST_FACTOR = 20
"""While the league runs, new ratings wait so many times as long as the last ones took."""


@dataclass(frozen=True, slots=True)
class RatingInput:
    """A copy of what the ratings of a league depend on, for a thread."""

    results: list[MatchResult]
    player_ids: list[str]
    game: str
    format: Format
    scoring: Scoring
    tiebreakers: tuple[str, ...]

    @classmethod
    def from_state(cls, state: LeagueState) -> "RatingInput":
        """Copy the results of the completed rounds and the league's rules."""
        done = state.rounds_completed
        return cls(
            [result for result in state.results.values() if result.round_id <= done],
            list(state.roster.players()),
            state.config.game_type,
            state.format,
            state.scoring,
            tuple(state.config.scoring.tiebreakers),
        )

    def make_table(self) -> "ResultTable":
        """Make the table of results; imports numpy."""
        import_numpy()
        from agent_league.ratings.results import ResultTable  # noqa: PLC0415 - loads numpy

        rows = (row for result in self.results if (row := ResultRow.from_result(result, game=self.game)))
        return ResultTable.from_rows(rows, self.player_ids)

    def make_report(self) -> "RatingReport":
        """Compute the ratings and all that is said about them."""
        import_numpy()
        from agent_league.ratings.report import make_rating_report  # noqa: PLC0415 - loads numpy

        drawn = sum(result.outcome is Outcome.DRAW for result in self.results) / max(1, len(self.results))
        return make_rating_report(
            self.make_table(),
            seats_differ=[self.game] if seats_differ(self.game) else [],
            is_paired_by_results=not self.format.is_fixed,
            trial=TrialTournament(len(self.player_ids), self.format, self.scoring, self.tiebreakers, drawn, self.game),
            title_game=find_game_title,
        )


def make_ladder_report(ladder: LadderRecord, game_type: str) -> "RatingReport | None":
    """The report on a ladder's last ratings, which its conductor computes; for one that isn't running they are now."""
    if ladder.queue is None and not ladder.ratings:
        rated = LadderRatingInput.from_record(ladder, seats_differ=seats_differ(game_type)).compute()
        ladder.set_ratings(rated.by_version, rated.table)
    if not ladder.rating_table.games:
        return None
    from agent_league.ratings.report import RatingReport  # noqa: PLC0415 - loads numpy

    lost = sum(tally.technical_a + tally.technical_b for tally in ladder.list_pairs().values())
    return RatingReport(TechnicalLossRatings(ladder.rating_table, None), lost, (), None, None, None)


class LeagueRatings:
    """The last ratings of a league, by the results of completed rounds."""

    def __init__(
        self, state: LeagueState, on_update: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`on_update` is called when a thread has computed new ratings."""
        self.works_in_background = False
        self._state = state
        self._on_update = on_update
        self._now = clock
        self._report: RatingReport | None = None
        self._rated: RatedProgress | None = None
        """Of the last ratings: the rounds that were completed, the league's phase, and how often it was corrected."""
        self._rest_until = 0.0
        self._task: asyncio.Task[None] | None = None

    def get_report(self) -> "RatingReport | None":
        """Return the ratings; None before the first round is completed.

        In the background, return the last ones, and start to compute new ones if there are more results; a running
        event loop is needed for that.
        """
        if self._state.ladder:
            return make_ladder_report(self._state.ladder, self._state.config.game_type)
        if self._is_due():
            if self.works_in_background:
                self._start_task()
            else:
                self._rated = self._read_progress()
                self._report = RatingInput.from_state(self._state).make_report()
        return self._report

    @property
    def is_computing(self) -> bool:
        """Whether a thread is computing new ratings."""
        return self._task is not None

    async def wait_for_first(self) -> None:
        """Wait until a thread has computed ratings if there can be any; later ones are not waited for."""
        if self._report is None and self.works_in_background and self._is_due():
            self._start_task()
        if self._report is None and self._task is not None:
            await asyncio.shield(self._task)

    async def wait_for_latest(self) -> None:
        """Wait for the ratings that are computed now and for those that are due then; after a league's end, by all."""
        for _ in range(2):
            if self.works_in_background and self._is_due():
                self._start_task()
            if self._task is not None:
                await asyncio.shield(self._task)

    def _read_progress(self) -> RatedProgress:
        state = self._state
        return state.rounds_completed, state.phase, len(state.audit_log), len(state.results)

    def _is_due(self) -> bool:
        if self._task is not None or not self._state.rounds_completed or self._rated == self._read_progress():
            return False
        return self._state.phase is LeaguePhase.COMPLETED or self._now() >= self._rest_until

    def _start_task(self) -> None:
        self._task = asyncio.create_task(self._compute())

    async def _compute(self) -> None:
        began = self._now()
        self._rated = self._read_progress()
        try:
            self._report = await asyncio.to_thread(RatingInput.from_state(self._state).make_report)
        except Exception as error:  # noqa: BLE001 - pages go on without new ratings
            told = {"message": "the players could not be rated", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)
        finally:
            self._task = None
            self._rest_until = self._now() + REST_FACTOR * (self._now() - began)
        self._on_update()
