"""The store: what a league must not lose, and what is enough to go on after a kill.

Rows of three kinds (`Row`), written in groups; a row replaces the one with the same key. What `write` has returned from
is on disk. Fulfilled by `sql.py` for life and by `memory.py` for simulations; one contract test runs over all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_league.errors import AgentLeagueError, UserError


class StoreFailed(AgentLeagueError):
    """The store can't be read or written now: a full disk, a database that is away. Trying again may help."""


class Deposed(AgentLeagueError):
    """Another manager has opened the season since; whoever is told so must stop."""


DISMISSED = "DISMISSED"
"""The phase of a season that is over, and whose manager has stopped in good order."""


@dataclass(frozen=True, slots=True)
class SeasonRow:
    """One league from its first registration to its end."""

    season_id: int
    league_id: str
    created_at: str
    signing_key: str
    """The manager's private key."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The league file as it was when the season began."""
    phase: str = "REGISTRATION"
    rounds_completed: int = 0
    announced: bool = False
    """Whether the end was told to all who listen."""
    registration_open: bool = True
    """Whether agents that are not in yet may register, as long as it hasn't started."""
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A registered agent."""

    agent_id: str
    role: str
    display_name: str
    endpoint: str
    version: str
    game_types: Sequence[str]
    max_concurrent_matches: int
    protocol: str
    token_sha256: str
    token_expires: str
    key_sha256: str | None
    """The hash of the key that it applied with, by which an applicant whose answer was lost is known again."""
    state: str
    failures: int
    alias: str | None = None
    """The id that it asked for."""
    style: str = "seeds"
    """How it spells its calls."""
    tolerated: Sequence[str] = field(default_factory=list)
    """What in its registration was put up with."""
    is_ours: bool = False
    """Whether it knows match tokens, and what the seeds leave open."""
    barred: bool = False
    """Whether the organiser has suspended it."""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match of the schedule: who meets whom, whom it was given to, and its result once there is one."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    referee_id: str | None = None
    result: Mapping[str, Any] | None = None


Row = SeasonRow | AgentRow | MatchRow


def key_of(row: Row) -> tuple[type[Row], str]:
    """What a row is known by within its season."""
    match row:
        case SeasonRow():
            return (SeasonRow, "")
        case AgentRow():
            return (AgentRow, row.agent_id)
        case MatchRow():
            return (MatchRow, row.match_id)


@dataclass(frozen=True, slots=True)
class Saved:
    """All that is known of a season. Agents and matches stand in the order in which they were first written."""

    season: SeasonRow
    agents: Sequence[AgentRow] = ()
    matches: Sequence[MatchRow] = ()


def damaged_league(where: str, league_id: str, error: Exception) -> UserError:
    """What is said of a league whose rows can't be read; never with their content, which may be a key."""
    what = type(error).__name__
    return UserError(
        f"{where} holds {league_id} in a form that can't be read ({what}): it is damaged. Bring back a copy of the "
        "database, or begin another league with --new."
    )


class Store(Protocol):
    """Where a manager keeps its league. Calls block; one at a time.

    Mappings and sequences in rows are JSON: what comes back is a copy, made of dicts and lists. `open`, `read` and
    `create` raise StoreFailed, and UserError where only a person can mend what is wrong.
    """

    def open(self, league_id: str) -> Saved | None:
        """The season of a league that is not put aside, or None; whoever opens it is its manager from here on."""
        ...

    def read(self, league_id: str) -> Saved | None:
        """The same for somebody who only looks: its manager stays who it is, and the store as it is."""
        ...

    def create(self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]) -> SeasonRow:
        """Begins a season; one that is there already is put aside."""
        ...

    def write(self, season_id: int, rows: Sequence[Row]) -> None:
        """Commits all of these rows or none; raises StoreFailed or Deposed. The last row of a key counts."""
        ...

    def put_aside(self, league_id: str) -> bool:
        """Makes room for a new season, keeping the old one's rows; False where there was none."""
        ...

    def close(self) -> None: ...
