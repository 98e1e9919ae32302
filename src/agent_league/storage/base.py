"""The store: the rows a league needs to go on after its manager was killed.

Rows of seven kinds, written in groups; a row replaces the one with the same key, and a RemovedRow removes it. Once
`write_rows` has returned they are on disk. Implemented by `sql.py` and, for simulations, by `memory.py`; one contract
test runs over both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_league.errors import AgentLeagueError, UserError


class StoreFailed(AgentLeagueError):
    """The store can't be read or written now: a full disk, a database that is away. Trying again may help."""


class ManagerReplaced(AgentLeagueError):
    """Another manager has opened the season since; the one that gets this must stop."""


class OtherServersRun(UserError):
    """Servers that run now stand against it; it can be done once they are gone."""


DISMISSED_PHASE = "DISMISSED"
"""The phase of a season that is over and whose manager stopped in good order."""


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
    """Whether the end was announced to all agents."""
    registration_open: bool = True
    """Whether new players may register before the start."""
    paused: bool = False
    admitted: Sequence[str] = field(default_factory=list)
    """Display names that may still enter although registration is closed."""
    time_marks: Mapping[str, str] = field(default_factory=dict)
    """Which of the steps that are due at a time were taken, and when."""


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
    """Hash of the key it applied with, which identifies an applicant that never got our answer."""
    state: str
    failures: int
    alias: str | None = None
    """The id that it asked for."""
    style: str = "seeds"
    """Its call form."""
    tolerated: Sequence[str] = field(default_factory=list)
    """The deviations that were tolerated."""
    is_ours: bool = False
    """Whether it knows match tokens and our other additions to the seeds' protocol."""
    barred: bool = False
    """Whether the organiser has suspended it."""
    withdrawn: bool = False
    """Whether it takes no part any more."""
    team_id: str | None = None
    """The team whose sign-up address it registered through."""
    addresses: Sequence[str] = field(default_factory=list)
    """The IP addresses of a name in its endpoint, at which alone it is called."""
    versions: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """What its team has registered one after the other: name, version and time of each."""
    color: str = ""
    """The colour that it has told, in the form #rrggbb."""
    sign: str = ""
    """What it shows in place of a face."""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match of the schedule: its players, its referee once assigned, and its result once there is one."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    referee_id: str | None = None
    result: Mapping[str, Any] | None = None
    replaces: str | None = None
    """The match that is played again as this one."""


@dataclass(frozen=True, slots=True)
class RoundPlanRow:
    """What a round has beside its matches: title, stage, byes and the reasons of its pairings."""

    round_id: int
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A command of an organiser that was carried out; never changed once written."""

    number: int
    """Its number in the season, from 1."""
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LadderRow:
    """What a practice ladder knows beside its matches: of a player, of a pair, of a match, of a request."""

    key: str
    """The kind and what it is about, such as `pair/P01#1/P02#3`."""
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewsRow:
    """A post for a webhook that has yet to be delivered."""

    number: int
    """Its number in the season, from 1."""
    post: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemovedRow:
    """A match, a row of a ladder or a post that is no longer kept."""

    kind: "type[MatchRow | LadderRow | NewsRow]"
    key: str
    """The match id, or the row's own key."""


StoredRow = SeasonRow | AgentRow | MatchRow | RoundPlanRow | AuditRow | LadderRow | NewsRow | RemovedRow


KEY_FIELDS: Mapping[type[StoredRow], str] = {
    AgentRow: "agent_id",
    MatchRow: "match_id",
    RoundPlanRow: "round_id",
    AuditRow: "number",
    LadderRow: "key",
    NewsRow: "number",
}


def row_key(row: StoredRow) -> tuple[type[StoredRow], str]:
    """Return the key of a row within its season."""
    if isinstance(row, RemovedRow):
        return (row.kind, row.key)
    return (type(row), "" if isinstance(row, SeasonRow) else str(getattr(row, KEY_FIELDS[type(row)])))


@dataclass(frozen=True, slots=True)
class SavedSeason:
    """All rows of a season; agents and matches in the order in which they were first written."""

    season: SeasonRow
    agents: Sequence[AgentRow] = ()
    matches: Sequence[MatchRow] = ()
    rounds: Sequence[RoundPlanRow] = ()
    audit: Sequence[AuditRow] = ()
    """In the order of their numbers."""
    ladder: Sequence[LadderRow] = ()
    """In the order of their keys."""
    news: Sequence[NewsRow] = ()
    """In the order of their numbers."""


def damaged_league_error(where: str, league_id: str, error: Exception) -> UserError:
    """The error for a league whose rows can't be read; without their content, which may be a key."""
    what = type(error).__name__
    return UserError(
        f"{where} holds {league_id} in a form that can't be read ({what}): it is damaged. Bring back a copy of the "
        "database, or begin another league with --new."
    )


class Store(Protocol):
    """Where a manager saves its league. Calls block, and are made one at a time.

    Mappings and sequences in rows are JSON: what comes back is a copy, made of dicts and lists. `open_season`,
    `read_season` and `create_season` raise StoreFailed, and UserError if only a person can repair the cause.
    """

    def open_season(self, league_id: str) -> SavedSeason | None:
        """Load the current season of a league, or None, and become its manager: earlier ones can't write any more."""
        ...

    def read_season(self, league_id: str) -> SavedSeason | None:
        """Load the current season of a league, or None, without changing anything."""
        ...

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        """Create the current season of a league; an earlier one is put aside."""
        ...

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        """Commit all of these rows or none; raises StoreFailed or ManagerReplaced. The last row of a key counts."""
        ...

    def put_season_aside(self, league_id: str) -> bool:
        """Make the season no longer current, keeping its rows; returns False if there was none."""
        ...

    def close(self) -> None: ...
