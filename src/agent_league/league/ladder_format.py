"""What a practice ladder is to code that knows formats: one round that never ends, paired match by match."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.league.ladder_record import LadderRecord
from agent_league.model.schedule import LeagueRound

LADDER_ROUND = 1
"""The round that all matches of a ladder are of."""


@dataclass(frozen=True, slots=True)
class EndlessRound:
    """The format of a ladder league; its ladder pairs, so this pairs nothing."""

    name: ClassVar[str] = "ladder"
    is_fixed: ClassVar[bool] = False
    takes_late_entries: ClassVar[bool] = True
    bye_is_win: ClassVar[bool] = False

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        return None

    def count_rounds(self, tournament: TournamentRecord) -> int | None:
        return None

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return None

    def describe_progress(self, tournament: TournamentRecord) -> str:
        return "Practice ladder: always open, and everybody who is free is paired again and again"


def rank_by_rating(record: LadderRecord, player_ids: Sequence[str]) -> list[list[str]]:
    """Rank players by the ratings of their current versions; those without one are level and last."""
    rated = {player_id: rating for player_id in player_ids if (rating := record.find_rating(player_id))}
    levels = [[player_id] for player_id in sorted(rated, key=lambda one: -rated[one].elo)]
    others = [player_id for player_id in player_ids if player_id not in rated]
    return [*levels, *([others] if others else [])]
