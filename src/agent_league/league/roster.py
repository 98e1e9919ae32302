"""The roster: the registered agents with their ids, tokens and states.

Decides on every registration; the reasons of a rejection are those of the protocol.
"""

import re
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from agent_league.agent.breaker import Breaker
from agent_league.config.models import Security
from agent_league.errors import ErrorCode, Refusal
from agent_league.http.hosts import are_loopback, endpoint_problem, place_of
from agent_league.league.tokens import new_token, same_hash, token_hash
from agent_league.model.agents import PLAINLY, AgentState, How, Player, Referee, Role, takes
from agent_league.model.names import is_reserved, likeness

ID_FORMS = {
    Role.PLAYER: re.compile(r"P(0[1-9]|[1-9]\d{1,3})", re.ASCII),
    Role.REFEREE: re.compile(r"REF(0[1-9]|[1-9]\d{1,3})", re.ASCII),
}
ID_PREFIXES = {Role.PLAYER: "P", Role.REFEREE: "REF"}
LONGEST_ALIAS = 100
MOST_NOTES = 20
MAX_REFEREES = 100
"""Limit of referees, unless more players are allowed: more referees could never all have a match."""


class Reason(StrEnum):
    """Why a registration is rejected, in the protocol's words."""

    UNSUPPORTED_GAME = "Unsupported game type"
    INVALID_ENDPOINT = "Invalid MCP endpoint"
    DUPLICATE_NAME = "Duplicate display name"
    CLOSED = "Registration closed"
    FULL = "League full"


class Rejected(Exception):
    """A registration is rejected; `detail` explains the protocol's reason."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Application:
    """What an agent claims about itself when it registers."""

    role: Role
    wanted_id: str
    display_name: str
    endpoint: str
    version: str
    game_types: tuple[str, ...]
    max_concurrent_matches: int = 1
    token: str | None = None
    key: str | None = None
    """A secret chosen by the applicant, which identifies it if our answer with its token was lost."""
    how: How = PLAINLY
    is_ours: bool = False
    """Whether it knows match tokens and our other additions to the seeds' protocol."""
    has_match_key: bool = False
    """Whether it can check match tokens made with a match key."""


@dataclass(slots=True)
class Member:
    """A registered agent."""

    agent: Player | Referee
    role: Role
    token_sha256: str
    token_expires: datetime
    breaker: Breaker
    state: AgentState = AgentState.REGISTERED
    key_sha256: str | None = None
    alias: str | None = None
    """The id that it asked for."""
    how: How = PLAINLY
    is_ours: bool = False
    has_match_key: bool = False
    """Not saved: after a restart it gets signed tokens, which it accepts as well, until it registers again."""
    is_barred: bool = False
    """Whether the organiser has suspended it: then no sign of life reactivates it."""

    @property
    def agent_id(self) -> str:
        return self.agent.player_id if isinstance(self.agent, Player) else self.agent.referee_id


@dataclass(frozen=True, slots=True)
class Admission:
    """An accepted registration. The token is in clear only here."""

    member: Member
    token: str
    returned: bool


@dataclass(frozen=True, slots=True)
class RosterRules:
    """The rules by which registrations are decided."""

    game_type: str
    max_players: int
    security: Security
    allowed_hosts: Sequence[str]
    failure_threshold: int
    strict: bool = False

    @property
    def tokenless_return(self) -> bool:
        if self.security.allow_tokenless_return is not None:
            return self.security.allow_tokenless_return
        return are_loopback(self.allowed_hosts)

    @property
    def referee_tokens(self) -> bool:
        """Whether players may be given the hash of a referee's own token, to accept its calls."""
        allowed = False if self.strict else self.security.allow_referee_tokens
        return are_loopback(self.allowed_hosts) if allowed is None else allowed


class Roster:
    """All registered agents of a league."""

    def __init__(self, rules: RosterRules) -> None:
        self.rules = rules
        self._members: dict[str, Member] = {}
        self._by_token: dict[str, Member] = {}
        self._by_name: dict[tuple[Role, str], Member] = {}
        """Keyed by role and confusable-normalised display name."""
        self._in_order: dict[Role, list[Member]] = {role: [] for role in Role}
        self._players: dict[str, Player] | None = None
        self._referees: dict[str, Referee] | None = None

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def restore(self, member: Member) -> None:
        """Add a member that was admitted before this manager started."""
        self._enter(member)

    def get(self, agent_id: str) -> Member | None:
        return self._members.get(agent_id)

    def of(self, role: Role) -> list[Member]:
        """List the members of a role, in the order of their ids."""
        return self._in_order[role].copy()

    def players(self) -> Mapping[str, Player]:
        if self._players is None:
            agents = (member.agent for member in self._in_order[Role.PLAYER])
            self._players = {agent.player_id: agent for agent in agents if isinstance(agent, Player)}
        return self._players

    def referees(self) -> Mapping[str, Referee]:
        if self._referees is None:
            agents = (member.agent for member in self._in_order[Role.REFEREE])
            self._referees = {agent.referee_id: agent for agent in agents if isinstance(agent, Referee)}
        return self._referees

    def owner_of(self, token: str, now: datetime) -> Member | None:
        """Find the member that owns a token; None if it is unknown or expired."""
        presented = token_hash(token)
        member = self._by_token.get(presented)
        if member is None or not same_hash(member.token_sha256, presented) or member.token_expires <= now:
            return None
        return member

    def register(self, application: Application, *, closed: str | None, now: datetime) -> Admission:
        """Admit or readmit an agent; raises RegistrationRejected. `closed` says why no new one is admitted."""
        known = self._recognise(application, now)
        if problem := endpoint_problem(application.endpoint, self.rules.allowed_hosts):
            raise Rejected(Reason.INVALID_ENDPOINT, problem)
        if not takes(application.game_types, self.rules.game_type):
            raise Rejected(Reason.UNSUPPORTED_GAME, f"this league plays {self.rules.game_type!r}")
        name = application.display_name
        if is_reserved(name, application.role) and not (known and known.agent.display_name == name):
            raise Rejected(Reason.DUPLICATE_NAME, f"{name!r} is the form of an id or a role; choose a name of its own")
        namesake = self._named(application.role, name)
        if namesake is not None and namesake is not known:
            hint = f"if that is you, come back as {namesake.agent_id} with the same name, port and SHARED folder"
            detail = f"{application.display_name!r} is taken; {hint}, else choose another name"
            raise Rejected(Reason.DUPLICATE_NAME, detail)
        if known is not None:
            return self._readmit(known, application, now)
        if closed:
            raise Rejected(Reason.CLOSED, closed)
        if barred := self._barred_at(application):
            raise Rejected(Reason.CLOSED, f"{barred.agent_id} of this address is suspended by the organiser")
        if len(self._in_order[application.role]) >= self._most(application.role):
            raise Rejected(Reason.FULL, f"at most {self._most(application.role)} {application.role}s may take part")
        return self._admit(application, now)

    def _most(self, role: Role) -> int:
        return self.rules.max_players if role is Role.PLAYER else max(self.rules.max_players, MAX_REFEREES)

    def _recognise(self, application: Application, now: datetime) -> Member | None:
        """Find the returning member by token, by name and key or, if allowed, by name and address."""
        if application.token is not None:
            member = self.owner_of(application.token, now)
            claimed = self._members.get(application.wanted_id)
            if member is not None and member.role is application.role and claimed in (None, member):
                return member
            if self.rules.security.enable_auth_tokens:
                raise Refusal(
                    ErrorCode.AUTH_TOKEN_INVALID,
                    "this token is not valid here; register without one to get a new one",
                    expected_format="tok-{agent_id}-{hash}",
                )
        namesake = self._named(application.role, application.display_name)
        if namesake is None:
            return None
        if namesake.key_sha256 is not None:
            if application.key is not None and same_hash(namesake.key_sha256, token_hash(application.key)):
                return namesake
            if self.rules.security.allow_tokenless_return is not True:
                return None  # a member with a key returns by it; other ways would let others take its place
        same_place = namesake.agent.endpoint == application.endpoint
        return namesake if same_place and self.rules.tokenless_return else None

    def called(self, role: Role, who: str) -> Member | None:
        """Find the member that a person means by an id, in any case, or by a name."""
        member = self._members.get(who.strip().upper())
        return member if member is not None and member.role is role else self._named(role, who)

    def _named(self, role: Role, display_name: str) -> Member | None:
        """Find the member with this name, or with a confusable one."""
        return self._by_name.get((role, likeness(display_name)))

    def _barred_at(self, application: Application) -> Member | None:
        """Find a barred member that applies again under another name, by its address or key."""
        place, key = place_of(application.endpoint), _key_hash(application)
        return next(
            (
                member
                for member in self
                if member.is_barred and (place_of(member.agent.endpoint) == place or (key and key == member.key_sha256))
            ),
            None,
        )

    def _admit(self, application: Application, now: datetime) -> Admission:
        agent_id = self._new_id(application)
        token, token_sha256, expires = self._new_token(agent_id, now)
        member = Member(
            agent=_agent(agent_id, application),
            role=application.role,
            token_sha256=token_sha256,
            token_expires=expires,
            breaker=Breaker(self.rules.failure_threshold),
            key_sha256=_key_hash(application),
            alias=application.wanted_id if len(application.wanted_id) <= LONGEST_ALIAS else None,
            how=application.how,
            is_ours=application.is_ours,
            has_match_key=application.has_match_key,
        )
        self._enter(member)
        return Admission(member, token, returned=False)

    def _enter(self, member: Member) -> None:
        if member.agent_id not in self._members:
            insort(self._in_order[member.role], member, key=_turn)
        self._members[member.agent_id] = self._by_token[member.token_sha256] = member
        self._index(member)

    def _index(self, member: Member) -> None:
        """Index a member by its name, and drop the cached views."""
        self._by_name.setdefault(_name_key(member), member)
        self._players = self._referees = None

    def _readmit(self, member: Member, application: Application, now: datetime) -> Admission:
        token, token_sha256, expires = self._new_token(member.agent_id, now)
        del self._by_token[member.token_sha256]
        self._by_name.pop(_name_key(member), None)
        member.agent = _agent(member.agent_id, application)
        member.token_sha256, member.token_expires = token_sha256, expires
        member.key_sha256 = _key_hash(application) or member.key_sha256
        member.how = replace(application.how, noted=merged_notes(member.how.noted, application.how.noted))
        member.is_ours, member.has_match_key = application.is_ours, application.has_match_key
        member.breaker.record(ok=True)
        self._by_token[token_sha256] = member
        self._index(member)
        return Admission(member, token, returned=True)

    def _new_token(self, agent_id: str, now: datetime) -> tuple[str, str, datetime]:
        token = new_token(agent_id, self.rules.security.token_length)
        return token, token_hash(token), now + timedelta(hours=self.rules.security.token_ttl_hours)

    def _new_id(self, application: Application) -> str:
        """Return the requested id if it has the right form and is free, else the next free one."""
        wanted = application.wanted_id
        if ID_FORMS[application.role].fullmatch(wanted) and wanted not in self._members:
            return wanted
        number = 1
        while (agent_id := f"{ID_PREFIXES[application.role]}{number:02}") in self._members:
            number += 1
        return agent_id


def merged_notes(known: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Merge the deviations of an agent, each once, up to MAX_DEVIATIONS."""
    return tuple(dict.fromkeys((*known, *new)))[:MOST_NOTES]


def _turn(member: Member) -> tuple[int, str]:
    """Sort key of an id: P2 before P10, P99 before P100."""
    return (len(member.agent_id), member.agent_id)


def _name_key(member: Member) -> tuple[Role, str]:
    return (member.role, likeness(member.agent.display_name))


def _key_hash(application: Application) -> str | None:
    return token_hash(application.key) if application.key else None


def _agent(agent_id: str, application: Application) -> Player | Referee:
    shared: dict[str, Any] = {
        "display_name": application.display_name,
        "endpoint": application.endpoint,
        "version": application.version,
        "game_types": application.game_types,
        "protocol": application.how.protocol,
    }
    if application.role is Role.PLAYER:
        return Player(agent_id, **shared)
    return Referee(agent_id, **shared, max_concurrent_matches=application.max_concurrent_matches)
