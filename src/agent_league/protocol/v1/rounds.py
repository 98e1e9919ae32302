"""The league's start, its rounds and its end in `league.v1`, as the manager announces them."""

from typing import ClassVar

from agent_league.protocol.envelope import Items, MessagePart
from agent_league.protocol.v1.envelope import V1Message


class ScheduledMatch(MessagePart):
    match_id: str
    player1: str
    player2: str


class ScheduledRound(MessagePart):
    round_id: int
    matches: Items[ScheduledMatch]


class LeagueInfo(MessagePart):
    total_rounds: int
    total_players: int
    game_type: str
    schedule: Items[ScheduledRound]


class LeagueStartAnnouncement(V1Message):
    """Registration is closed: who meets whom, and when."""

    TYPE: ClassVar = "LEAGUE_START_ANNOUNCEMENT"
    MATCH_ID: ClassVar = "ANNOUNCEMENT"

    league_info: LeagueInfo


class Ranking(MessagePart):
    """A player's place; players that are level share a rank."""

    rank: int
    player_id: str
    wins: int
    losses: int


class RoundSummary(MessagePart):
    matches_played: int
    standings: Items[Ranking]


class RoundComplete(V1Message):
    """A round is over."""

    TYPE: ClassVar = "ROUND_COMPLETE"
    MATCH_ID: ClassVar = "ROUND_SUMMARY"

    round_summary: RoundSummary


class Champion(MessagePart):
    player_id: str
    display_name: str
    wins: int
    losses: int
    win_rate: float


class FinalStandings(MessagePart):
    total_rounds: int
    total_matches: int
    champion: Champion
    rankings: Items[Ranking]


class LeagueComplete(V1Message):
    """The last round is over."""

    TYPE: ClassVar = "LEAGUE_COMPLETE"
    MATCH_ID: ClassVar = "FINAL_STANDINGS"

    final_standings: FinalStandings


def calculate_win_rate(wins: int, played: int) -> float:
    """The share of matches won, to three places; 0.0 if none was played."""
    return round(wins / played, 3) if played else 0.0
