"""Events of a league, for the terminal, the log and the files.

Class names and plain fields are written to the log: they are data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.model.agents import AgentState, Role
from agent_league.model.audit import CORRECTIONS, AuditEntry
from agent_league.model.group_table import GroupTable
from agent_league.model.model_usage import ModelUsage
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import LeagueRound, Pairing


@dataclass(frozen=True, slots=True)
class AgentRegistered:
    """An agent has registered, for the first time or again."""

    role: Role
    agent_id: str
    display_name: str
    endpoint: str
    returned: bool = False
    tolerated: tuple[str, ...] = ()
    """Deviations in its registration."""
    new_version: int = 0
    """The number of the version by which its team has replaced it; 0 if it is the same as before."""
    has_moved: bool = False
    """Whether it has come back at another address."""


@dataclass(frozen=True, slots=True)
class RegistrationRefused:
    """A registration was refused."""

    who: str
    why: str

    @property
    def has_old_token(self) -> bool:
        """Whether the only reason is a token of another league, as agents of an earlier league still have."""
        return self.why.startswith(ErrorCode.AUTH_TOKEN_INVALID)


@dataclass(frozen=True, slots=True)
class AgentStateChanged:
    """An agent was suspended, returned, or shut down."""

    agent_id: str
    state: AgentState
    why: str


@dataclass(frozen=True, slots=True)
class ReachabilityChanged:
    """The manager can call an agent on another machine, or can't yet."""

    agent_id: str
    is_reachable: bool
    endpoint: str
    why: str = ""
    """What went wrong with the last call; empty before the first."""


@dataclass(frozen=True, slots=True)
class StoreChanged:
    """The manager's database became unavailable, so that the league waits; or it is available again."""

    is_there: bool
    why: str
    """Not public: it may name a file or a host."""


@dataclass(frozen=True, slots=True)
class RegistrationChanged:
    """Registration was closed, or opened, by the organiser or by its time."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class StartDelayed:
    """The time of the start has come, and the league can't start yet; registration goes on."""

    planned: str
    """The planned time, in the league's time zone."""
    why: str


@dataclass(frozen=True, slots=True)
class StartedLate:
    """The league starts after its time, as nobody conducted it then."""

    planned: str
    seconds: int


@dataclass(frozen=True, slots=True)
class RoundScheduled:
    """The league waits for the time of its next round."""

    round_id: int
    at: str
    """The time, in the league's time zone."""
    is_late: bool = False
    """Whether the round has missed its own time."""


@dataclass(frozen=True, slots=True)
class RoundCalled:
    """The organiser lets the next round begin before its time."""

    round_id: int


@dataclass(frozen=True, slots=True)
class TimesChanged:
    """The organiser has changed the league's times."""

    change: str
    """What is changed to what, without a full stop."""


@dataclass(frozen=True, slots=True)
class QuietHoursChanged:
    """Quiet hours begin, in which no match begins, or they are over."""

    is_quiet: bool
    until: str = ""
    """Their end, in the league's time zone."""


@dataclass(frozen=True, slots=True)
class FreezeChanged:
    """From now on no agent is admitted or replaced, or the organiser allows it again."""

    is_frozen: bool


@dataclass(frozen=True, slots=True)
class PauseChanged:
    """The organiser paused the league, so that no match starts, or resumed it."""

    is_paused: bool


@dataclass(frozen=True, slots=True)
class RefereeWaitChanged:
    """The league has no referee and waits for one; or there is one again."""

    is_waiting: bool


@dataclass(frozen=True, slots=True)
class LeagueStarted:
    """Registration is closed and the schedule is made."""

    league_id: str
    players: int
    referees: int
    rounds: int
    matches: int
    """Those that are known by now; a format may add others."""
    lot: str = ""
    """What orders players who are level."""
    is_fixed: bool = True
    """Whether all rounds are known, and points alone rank the players."""
    is_ladder: bool = False
    """Whether it is a practice ladder, which has no end."""


@dataclass(frozen=True, slots=True)
class LeagueResumed:
    """A manager continues a league that an earlier one left."""

    league_id: str
    players: int
    referees: int
    rounds: int
    matches: int
    names: Mapping[str, str]
    """The players' names by id."""
    results: tuple[MatchResult, ...]
    lot: str = ""
    """As in LeagueStarted."""
    is_fixed: bool = True
    standings: tuple[StandingsRow, ...] = ()
    is_ladder: bool = False


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A round was announced."""

    round: LeagueRound
    progress: str = ""
    """How far the league is and what it takes to advance, in words."""


@dataclass(frozen=True, slots=True)
class MatchAssigned:
    """A match was assigned to a referee, for the first time or in place of a lost one."""

    match_id: str
    referee_id: str | None
    """None: the assignment was withdrawn before the referee knew of it."""


@dataclass(frozen=True, slots=True)
class MatchFinished:
    """A result was recorded."""

    result: MatchResult


@dataclass(frozen=True, slots=True)
class MatchOverdue:
    """A reachable referee accepted a match and hasn't reported it in time."""

    match_id: str
    referee_id: str
    times: int
    """How many times it has been overdue."""
    refusals: tuple[str, ...] = ()
    """Calls that the match's players say they refused, a sentence each."""


@dataclass(frozen=True, slots=True)
class MatchNotTaken:
    """A match can't be handed to its referee; the manager keeps trying."""

    match_id: str
    referee_id: str
    why: str
    """The referee's refusal, or the connection error."""


@dataclass(frozen=True, slots=True)
class RoundCompleted:
    """All results of a round are recorded."""

    round_id: int
    standings: tuple[StandingsRow, ...]
    is_last: bool = False
    """Whether LeagueCompleted follows, with the same standings."""
    groups: tuple[GroupTable, ...] = ()
    """The tables of the groups, if the stage of this round has such."""
    still_in: int | None = None
    """How many may still win, where no table is led, as in a bracket; 0 if nobody goes out, either. None: one leads."""


@dataclass(frozen=True, slots=True)
class LeagueCompleted:
    """The last round is over."""

    league_id: str
    rounds: int
    matches: int
    standings: tuple[StandingsRow, ...]
    tolerated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Deviations, by agent."""
    broken_off: Mapping[str, str] = field(default_factory=dict)
    """Matches that were aborted without a player's fault, by id, and why."""
    has_play_off: bool = False
    """Whether the first place was played for after the tournament."""
    models: Mapping[str, ModelUsage] = field(default_factory=dict)
    """What the players' language models used, as they say, by player."""

    @property
    def is_void(self) -> bool:
        """Whether the league has no winner because every match was aborted."""
        return len(self.broken_off) == self.matches > 0


@dataclass(frozen=True, slots=True)
class MatchReplaced:
    """A match is to be played again, under another id; its first result counts no more."""

    match_id: str
    pairing: Pairing


@dataclass(frozen=True, slots=True)
class LeagueReopened:
    """A league that was over goes on, because an organiser's correction needs a match."""

    league_id: str


@dataclass(frozen=True, slots=True)
class CommandCarriedOut:
    """A command of an organiser was carried out; what it changed may have been told by events of its own before."""

    entry: AuditEntry

    @property
    def is_correction(self) -> bool:
        """Whether it corrects what was played; other commands are told by events of their own."""
        return self.entry.action in CORRECTIONS


@dataclass(frozen=True, slots=True)
class MatchPaired:
    """A practice ladder has paired two players."""

    pairing: Pairing


@dataclass(frozen=True, slots=True)
class LadderNews:
    """Something about a player of a practice ladder: a request, its check, a new version."""

    player_id: str
    text: str
    """A predicate, such as "has passed its check"."""
    is_trouble: bool = False


Event = (
    AgentRegistered
    | RegistrationRefused
    | AgentStateChanged
    | ReachabilityChanged
    | StoreChanged
    | RegistrationChanged
    | StartDelayed
    | StartedLate
    | RoundScheduled
    | RoundCalled
    | TimesChanged
    | QuietHoursChanged
    | FreezeChanged
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
    | CommandCarriedOut
    | MatchPaired
    | LadderNews
    | MatchReplaced
    | LeagueReopened
)


def to_log_fields(event: Event) -> dict[str, Any]:
    """Return the plain fields of an event for a log line; standings and schedules are left out."""
    plain = (str, int, float, bool, type(None))
    told = event.entry if isinstance(event, CommandCarriedOut) else event
    found = ((part.name, getattr(told, part.name)) for part in fields(told))
    numbered = {"round_id": event.round.round_id} if isinstance(event, RoundStarted) else {}
    return numbered | {name: value for name, value in found if isinstance(value, plain)}
