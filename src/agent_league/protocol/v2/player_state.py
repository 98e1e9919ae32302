"""Models of the plain question to a player about itself, and of its answer."""

from typing import Any, Literal

from agent_league.protocol.envelope import ExactPart, MessagePart


class OwnStateQuestion(MessagePart):
    player_id: str | None = None


class PlayedMatch(ExactPart):
    """A finished match, from the player's side."""

    match_id: str
    game_type: str
    opponent_id: str
    outcome: str
    my_moves: list[Any]
    opponent_moves: list[Any]
    league_id: str | None
    round_id: int | None
    season: str | None
    details: dict[str, Any]


class OwnStatistics(ExactPart):
    """Empty before the registration."""

    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0


class KnownOpponent(ExactPart):
    """What the player has learnt of an opponent; transitions are `move>next move`."""

    games: int
    moves: dict[str, int]
    transitions: dict[str, int]
    outcomes: dict[str, int]
    last_move: str | None


class RefusedCall(ExactPart):
    """A call about a match that the player refused."""

    at: str
    match_id: str
    method: str
    error_code: str
    message: str


class PlayerStateAnswer(ExactPart):
    player_id: str
    display_name: str
    state: Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
    league_id: str | None
    total: int = 0
    stats: OwnStatistics
    matches: list[PlayedMatch]
    opponents: dict[str, KnownOpponent]
    refusals: list[RefusedCall]
    """The latest refused calls."""
