"""Rounds and the end of the league, as the manager announces them."""

from typing import ClassVar

from agent_league.protocol.envelope import Items, Message, MessagePart


class AnnouncedMatch(MessagePart):
    """A match of the round.

    A referee's copy carries the players' endpoints, which referee has the match, and the match token of its own
    matches. The players' copy says how a referee is known that shows its own token, as the seeds do.
    """

    match_id: str
    game_type: str
    player_A_id: str
    player_B_id: str
    referee_endpoint: str
    player_A_endpoint: str | None = None
    player_B_endpoint: str | None = None
    referee_id: str | None = None
    match_token: str | None = None
    referee_token_sha256: str | None = None


class RoundAnnouncement(Message):
    """A round begins: who meets whom, and where the referee is."""

    TYPE: ClassVar = "ROUND_ANNOUNCEMENT"

    round_id: int
    matches: Items[AnnouncedMatch]


class RoundSummary(MessagePart):
    total_matches: int
    wins: int
    draws: int
    technical_losses: int
    void: int = 0
    """Matches without a counted result."""


class RoundCompleted(Message):
    """A round is over."""

    TYPE: ClassVar = "ROUND_COMPLETED"

    round_id: int
    matches_completed: int | None = None
    matches_played: int | None = None
    next_round_id: int | None = None
    summary: RoundSummary | None = None
    void_match_ids: list[str] | None = None
    """The void matches, if any."""


class Champion(MessagePart):
    player_id: str
    display_name: str
    points: int


class FinalRank(MessagePart):
    rank: int
    player_id: str
    points: int


class LeagueCompleted(Message):
    """The last round is over."""

    TYPE: ClassVar = "LEAGUE_COMPLETED"

    total_rounds: int
    total_matches: int
    champion: Champion
    final_standings: Items[FinalRank]
