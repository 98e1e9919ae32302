"""The standings, as the manager publishes them after each round."""

from typing import ClassVar

from agent_league.protocol.envelope import Items, Message, MessagePart


class Standing(MessagePart):
    rank: int
    player_id: str
    display_name: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int


class LeagueStandingsUpdate(Message):
    """The table after a round."""

    TYPE: ClassVar = "LEAGUE_STANDINGS_UPDATE"

    round_id: int
    standings: Items[Standing]
