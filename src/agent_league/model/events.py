"""What happens in a league, as facts for whoever watches: the terminal, the log, the files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.model.addresses import without_addresses
from agent_league.model.agents import AgentState, Role
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Round


@dataclass(frozen=True, slots=True)
class AgentRegistered:
    """An agent is in, for the first time or again."""

    role: Role
    agent_id: str
    display_name: str
    endpoint: str
    returned: bool = False
    tolerated: tuple[str, ...] = ()
    """What in its registration was put up with."""


@dataclass(frozen=True, slots=True)
class RegistrationRefused:
    """Somebody wanted to register and was told why that is not possible."""

    who: str
    why: str

    @property
    def is_old_token(self) -> bool:
        """Whether it only came with a token of another league, as agents do that were in an earlier one."""
        return self.why.startswith(ErrorCode.AUTH_TOKEN_INVALID)

    @property
    def sentence(self) -> str:
        """What everybody may know of it, without a full stop."""
        if self.is_old_token:
            return f"{self.who} came with a token that isn't of this league, and is told to register without it"
        return f"{self.who} was not admitted: {self.why}"


@dataclass(frozen=True, slots=True)
class AgentStateChanged:
    """An agent was suspended, came back, or is done."""

    agent_id: str
    state: AgentState
    why: str


@dataclass(frozen=True, slots=True)
class StoreChanged:
    """The manager's database is away, and the league waits for it; or it is back."""

    is_there: bool
    why: str
    """For those who run it alone: it may name a file or a host."""

    @property
    def sentence(self) -> str:
        """What everybody may know of it."""
        away = "The database is away; nothing is lost, and the league goes on once it is back"
        return "The database is back" if self.is_there else away


@dataclass(frozen=True, slots=True)
class RegistrationChanged:
    """The organiser has closed the registration, or opened it again."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class PauseChanged:
    """The organiser has paused the league: no match begins; or it goes on."""

    is_paused: bool


@dataclass(frozen=True, slots=True)
class RefereeWaitChanged:
    """No referee is left to give a match to, and the league waits for one; or there is one again."""

    is_waiting: bool

    @property
    def sentence(self) -> str:
        """What everybody may know of it, without a full stop."""
        waiting = "The league has no referee: waiting for one to come, or to come back"
        return waiting if self.is_waiting else "There is a referee again; the league goes on"


@dataclass(frozen=True, slots=True)
class LeagueStarted:
    """Registration is closed and the schedule stands."""

    league_id: str
    players: int
    referees: int
    rounds: int
    matches: int


@dataclass(frozen=True, slots=True)
class LeagueResumed:
    """A manager goes on where an earlier one stopped."""

    league_id: str
    players: int
    referees: int
    rounds: int
    matches: int
    names: Mapping[str, str]
    """The players' names by id."""
    results: tuple[MatchResult, ...]


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A round was announced."""

    round: Round


@dataclass(frozen=True, slots=True)
class MatchAssigned:
    """A match was given to a referee, for the first time or because another had lost it."""

    match_id: str
    referee_id: str | None
    """None: it was taken back before the referee knew of it."""


@dataclass(frozen=True, slots=True)
class MatchFinished:
    """A result was recorded."""

    result: MatchResult


@dataclass(frozen=True, slots=True)
class MatchOverdue:
    """A referee is there, took a match, and hasn't reported it in time."""

    match_id: str
    referee_id: str
    times: int
    """How often by now."""
    refusals: tuple[str, ...] = ()
    """What the match's players say they have refused, a sentence each."""

    @property
    def sentence(self) -> str:
        """What everybody may know of it, without a full stop."""
        how_often = " again" if self.times > 1 else ""
        said = f": {'; '.join(self.refusals)}" if self.refusals else ""
        return f"{self.match_id} is overdue{how_often}: {self.referee_id} took it and hasn't reported it{said}"


@dataclass(frozen=True, slots=True)
class MatchNotTaken:
    """A match can't be given to its referee, and is tried again and again."""

    match_id: str
    referee_id: str
    why: str
    """In the referee's own words, or those of the connection to it."""

    @property
    def sentence(self) -> str:
        """What everybody may know of it, without a full stop."""
        return f"{self.match_id} waits: {self.referee_id} doesn't take it: {without_addresses(self.why)}"


@dataclass(frozen=True, slots=True)
class RoundCompleted:
    """All results of a round are in."""

    round_id: int
    standings: tuple[StandingsRow, ...]
    is_last: bool = False
    """Whether the end of the league follows, with the same table."""


@dataclass(frozen=True, slots=True)
class LeagueCompleted:
    """The last round is over."""

    league_id: str
    rounds: int
    matches: int
    standings: tuple[StandingsRow, ...]
    tolerated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What was put up with, by agent."""
    broken_off: Mapping[str, str] = field(default_factory=dict)
    """The matches that no player is at fault for having ended without a winner, and why each did."""

    @property
    def is_void(self) -> bool:
        """Whether nobody has won it, as every match was broken off."""
        return len(self.broken_off) == self.matches > 0


Event = (
    AgentRegistered
    | RegistrationRefused
    | AgentStateChanged
    | StoreChanged
    | RegistrationChanged
    | PauseChanged
    | RefereeWaitChanged
    | LeagueStarted
    | LeagueResumed
    | RoundStarted
    | MatchAssigned
    | MatchFinished
    | MatchNotTaken
    | MatchOverdue
    | RoundCompleted
    | LeagueCompleted
)


def brief(event: Event) -> dict[str, Any]:
    """The plain fields of an event, for a log line: no tables, no schedules."""
    plain = (str, int, float, bool, type(None))
    found = ((part.name, getattr(event, part.name)) for part in fields(event))
    numbered = {"round_id": event.round.round_id} if isinstance(event, RoundStarted) else {}
    return numbered | {name: value for name, value in found if isinstance(value, plain)}
