"""The table of a practice ladder."""

from collections.abc import Callable, Mapping

from agent_league.formats.base import PlayerGroups
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.standings import PlayerTally, StandingsTable
from agent_league.model.results import MatchResult, Scoring


class LadderTable(StandingsTable):
    """The table of a practice ladder: ranked by rating, with the results of each player's current version."""

    def __init__(
        self, names: Mapping[str, str], record: LadderRecord, scoring: Scoring, *, rank: Callable[[], PlayerGroups]
    ) -> None:
        self._record = record
        super().__init__(names, scoring, rank_by_format=rank)

    def get_tally(self, player_id: str) -> PlayerTally:
        told = self._record.get_tally(player_id)
        counts = (told.played, told.wins, told.draws, told.losses, told.technical_losses, told.points)
        return PlayerTally(*counts)

    def add_result(self, result: MatchResult, *, is_play_off: bool = False) -> None:
        """Rank anew; the record has counted the result, however many there were."""
        self._rows = None
