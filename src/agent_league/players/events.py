"""What happens to a player, for whoever watches it: a program, a person, a language model. Plain data, no wire."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_league.model.results import StandingsRow
from agent_league.players.observation import GameRecord


@dataclass(frozen=True, slots=True)
class Registered:
    """It has a place in a league."""

    league_id: str | None


@dataclass(frozen=True, slots=True)
class RoundAnnounced:
    """A round begins; without a match of ours it is a bye."""

    round_id: int
    match_id: str | None = None
    opponent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Invited:
    """A referee invites it to a match."""

    match_id: str
    game_type: str
    opponent_id: str | None
    accepted: bool


@dataclass(frozen=True, slots=True)
class MatchOver:
    """A match has ended."""

    game: GameRecord


@dataclass(frozen=True, slots=True)
class Trouble:
    """The referee says that something went wrong in a match, and what follows."""

    match_id: str
    code: str
    message: str | None
    consequence: str | None


@dataclass(frozen=True, slots=True)
class StandingsChanged:
    """The table after a round."""

    round_id: int
    rows: tuple[StandingsRow, ...]


@dataclass(frozen=True, slots=True)
class LeagueOver:
    """The league has ended; how, where the manager says so."""

    champion_id: str | None = None
    rank: int | None = None
    points: int | None = None


Happening = Registered | RoundAnnounced | Invited | MatchOver | Trouble | StandingsChanged | LeagueOver
Watch = Callable[[str, Happening], None]
"""Told the player's id, and what has happened to it."""
