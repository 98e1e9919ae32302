"""Events of a player, for programs, people and language models that follow it. Plain data, no wire."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_league.model.results import StandingsRow
from agent_league.players.observation import GameRecord


@dataclass(frozen=True, slots=True)
class LeagueJoined:
    """The player is registered in a league."""

    league_id: str | None


@dataclass(frozen=True, slots=True)
class RoundAnnounced:
    """A round begins; without a `match_id` the player has a bye."""

    round_id: int
    match_id: str | None = None
    opponent_id: str | None = None


@dataclass(frozen=True, slots=True)
class InvitationAnswered:
    """A referee has invited the player to a match, and the player has answered."""

    match_id: str
    game_type: str
    opponent_id: str | None
    accepted: bool


@dataclass(frozen=True, slots=True)
class MatchOver:
    """A match of the player has ended."""

    game: GameRecord


@dataclass(frozen=True, slots=True)
class GameErrorReported:
    """The referee has reported an error in a match (GAME_ERROR)."""

    match_id: str
    code: str
    message: str | None
    consequence: str | None


@dataclass(frozen=True, slots=True)
class StandingsChanged:
    """The standings after a round."""

    round_id: int
    rows: tuple[StandingsRow, ...]


@dataclass(frozen=True, slots=True)
class LeagueOver:
    """The league has ended; what the manager doesn't send is empty or None."""

    champion_ids: tuple[str, ...] = ()
    """More than one if they share the first place."""
    rank: int | None = None
    points: int | None = None


PlayerEvent = (
    LeagueJoined | RoundAnnounced | InvitationAnswered | MatchOver | GameErrorReported | StandingsChanged | LeagueOver
)
PlayerEventHandler = Callable[[str, PlayerEvent], None]
"""Called with the player's id and the event."""
