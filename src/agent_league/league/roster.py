"""The roster: the registered agents with their ids, tokens and states.

Decides on every registration; the reasons of a rejection are those of the protocol.
"""

import re
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from agent_league.agent.breaker import Breaker
from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.clock import format_utc
from agent_league.config.models import NetworkConfig, SecurityConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.exposure import is_loopback_only
from agent_league.http.hosts import find_endpoint_problem, may_be_same_agent, normalise_address
from agent_league.http.sign_up_address import find_sign_up_key
from agent_league.league.match_tokens import create_token, hash_token, hashes_match
from agent_league.model.agents import (
    DEFAULT_PROTOCOL_PROFILE,
    AgentProfile,
    AgentState,
    AgentVersion,
    ProtocolProfile,
    Role,
    id_sort_key,
    supports_game,
)
from agent_league.model.names import is_reserved_name, normalise_confusables
from agent_league.text import redact_keys

ID_PATTERNS = {
    Role.PLAYER: re.compile(r"P(0[1-9]|[1-9]\d{1,3})", re.ASCII),
    Role.REFEREE: re.compile(r"REF(0[1-9]|[1-9]\d{1,3})", re.ASCII),
}
ID_PREFIXES = {Role.PLAYER: "P", Role.REFEREE: "REF"}
MAX_ALIAS_LENGTH = 100
MAX_DEVIATIONS = 20
MAX_VERSIONS = 50
"""Versions of a team's agent that are remembered: the first, and the latest."""
LASTING_TOKEN_HOURS = 366 * 24
"""How long tokens are valid in a league that has times."""
MAX_REFEREES = 100
"""Limit of referees, unless more players are allowed: more referees could never all have a match."""


class RejectReason(StrEnum):
    """Why a registration is rejected, in the protocol's words."""

    UNSUPPORTED_GAME = "Unsupported game type"
    INVALID_ENDPOINT = "Invalid MCP endpoint"
    DUPLICATE_NAME = "Duplicate display name"
    CLOSED = "Registration closed"
    FULL = "League full"


class RegistrationRejected(Exception):
    """A registration is rejected; `detail` explains the protocol's reason."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class AgentApplication:
    """An agent's request to take part."""

    profile: AgentProfile
    """With the id that it asks for."""
    token: str | None = None
    application_key: str | None = None
    """A secret chosen by the applicant, which identifies it if our answer with its token was lost."""
    protocol_profile: ProtocolProfile = DEFAULT_PROTOCOL_PROFILE
    is_ours: bool = False
    """Whether it knows match tokens and our other additions to the seeds' protocol."""
    has_match_key: bool = False
    """Whether it can check match tokens made with a match key."""
    link_port: int | None = None
    """Where its process takes links, on the host of its endpoint."""
    is_seated: bool = False
    """Whether its endpoint is that of a dial-out seat on this server."""
    is_seat_proven: bool = False
    """Whether it has shown the seat's secret or its team's key."""


SPOKEN_FOR = "an A2A agent: asked through a seat of the league's server"
"""The deviation of a player that this server answers for."""


@dataclass(slots=True)
class Member:
    """A registered agent."""

    agent: AgentProfile
    token_sha256: str
    token_expires: datetime
    breaker: Breaker
    state: AgentState = AgentState.REGISTERED
    key_sha256: str | None = None
    alias: str | None = None
    """The id that it asked for."""
    protocol_profile: ProtocolProfile = DEFAULT_PROTOCOL_PROFILE
    is_ours: bool = False
    """Whether it knows match tokens and our other additions to the seeds' protocol; others are guests."""
    has_match_key: bool = False
    """Not saved: after a restart it gets signed tokens, which it accepts as well, until it registers again."""
    link_port: int | None = None
    """Where its process takes links, on the host of its endpoint. Not saved: until it registers again, none is used."""
    is_barred: bool = False
    """Whether the organiser has suspended it: then no sign of life reactivates it."""
    is_withdrawn: bool = False
    """Whether it takes no part any more; then it is barred as well, and stands at the end of the table."""
    is_reachable: bool = True
    """False from its registration at the address of another machine until a call there is answered. Not saved."""
    is_being_reached: bool = False
    """Whether such calls are still being tried, and no match is given to it. Not saved."""
    team_id: str | None = None
    """The team whose sign-up address it registered through."""
    versions: tuple[AgentVersion, ...] = ()
    """What its team has registered so far, the latest last; empty without a team."""
    last_call_at: datetime | None = None
    """When it called the manager last. Not saved."""

    @property
    def agent_id(self) -> str:
        return self.agent.agent_id

    @property
    def role(self) -> Role:
        return self.agent.role

    @property
    def is_spoken_for(self) -> bool:
        """Whether this server answers for it, which needs no token to do so: what comes from its seat is our own."""
        return SPOKEN_FOR in self.protocol_profile.deviations

    @property
    def is_suspended(self) -> bool:
        """Whether it gets no matches: it doesn't answer, or is barred."""
        return self.state is AgentState.SUSPENDED


@dataclass(frozen=True, slots=True)
class Admission:
    """An accepted registration. The token is in clear only here."""

    member: Member
    token: str
    is_returning: bool
    new_version: int = 0
    """The number of the version by which a team has replaced its agent; 0 if it didn't."""
    has_moved: bool = False
    """Whether a returning agent is called at another address from now on."""


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """The rules by which registrations are decided."""

    game_type: str
    max_players: int
    security: SecurityConfig
    network: NetworkConfig
    failure_threshold: int
    strict: bool = False
    listens_on_loopback: bool = True
    """Whether no other machine can call the manager."""
    has_lasting_tokens: bool = False
    """Whether tokens are valid as long as the league: over weeks an agent may be called by nobody for days."""
    hides_names: bool = False
    """Whether nobody is told whose name is whose."""
    has_dial_out_seats: bool = False
    """Whether agents elsewhere may take part through connections that they open to the manager."""
    own_host: str = ""
    """The host of the manager's own address, below which agents of its process have theirs."""

    is_loopback_only: bool = field(init=False)
    """Whether all agents of the league are on this machine; much is allowed then that strangers may not."""

    def __post_init__(self) -> None:
        is_alone = is_loopback_only(
            self.network, listens_on_loopback=self.listens_on_loopback, has_dial_out_seats=self.has_dial_out_seats
        )
        object.__setattr__(self, "is_loopback_only", is_alone)  # it is asked for with every registration

    @property
    def allows_tokenless_return(self) -> bool:
        if self.security.allow_tokenless_return is not None:
            return self.security.allow_tokenless_return
        return self.is_loopback_only

    @property
    def allows_referee_tokens(self) -> bool:
        """Whether players may be given the hash of a referee's own token, to accept its calls."""
        allowed = False if self.strict else self.security.allow_referee_tokens
        return self.is_loopback_only if allowed is None else allowed


class Roster:
    """All registered agents of a league."""

    def __init__(self, rules: AdmissionRules) -> None:
        self.rules = rules
        self._members: dict[str, Member] = {}
        self._members_by_token: dict[str, Member] = {}
        self._members_by_name: dict[tuple[Role, str], Member] = {}
        """Keyed by role and confusable-normalised display name."""
        self._members_by_role: dict[Role, list[Member]] = {role: [] for role in Role}
        self._profiles_by_role: dict[Role, dict[str, AgentProfile]] = {}
        """Cached views, by role and id."""

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def restore_member(self, member: Member) -> None:
        """Add a member that was admitted before this manager started."""
        self._add_member(member)

    def get(self, agent_id: str) -> Member | None:
        return self._members.get(agent_id)

    def __getitem__(self, agent_id: str) -> Member:
        """Return a member that is known to be registered; raises KeyError."""
        return self._members[agent_id]

    def referee_token_hash(self, referee_id: str) -> str | None:
        """Return the hash of a guest referee's own token if players may accept that token, else None."""
        member = self[referee_id]
        return None if member.is_ours or not self.rules.allows_referee_tokens else member.token_sha256

    def list_members(self, role: Role) -> list[Member]:
        """List the members of a role, in the order of their ids."""
        return self._members_by_role[role].copy()

    def players(self) -> Mapping[str, AgentProfile]:
        return self._profiles(Role.PLAYER)

    def referees(self) -> Mapping[str, AgentProfile]:
        return self._profiles(Role.REFEREE)

    def _profiles(self, role: Role) -> Mapping[str, AgentProfile]:
        if role not in self._profiles_by_role:
            self._profiles_by_role[role] = {member.agent_id: member.agent for member in self._members_by_role[role]}
        return self._profiles_by_role[role]

    def find_token_owner(self, token: str, now: datetime) -> Member | None:
        """Find the member that owns a token; None if it is unknown or expired."""
        presented = hash_token(token)
        member = self._members_by_token.get(presented)
        if member is None or not hashes_match(member.token_sha256, presented) or member.token_expires <= now:
            return None
        return member

    def register(
        self,
        application: AgentApplication,
        *,
        closed: str | None,
        now: datetime,
        frozen: str | None = None,
        key_needed: str | None = None,
    ) -> Admission:
        """Admit or readmit an agent; raises RegistrationRejected. `closed` says why no new one is admitted.

        `frozen` says why no player may be replaced, and `key_needed` why a new agent needs a sign-up address.
        """
        team = SIGN_UP_TEAM.get()
        known = self._find_applicant(application, team, now)
        if known is None and team is None and key_needed:
            raise RegistrationRejected(RejectReason.CLOSED, key_needed)
        self._check_endpoint(application, known)
        if not supports_game(application.profile.game_types, self.rules.game_type):
            raise RegistrationRejected(RejectReason.UNSUPPORTED_GAME, f"this league plays {self.rules.game_type!r}")
        name = application.profile.display_name
        if is_reserved_name(name, application.profile.role) and not (known and known.agent.display_name == name):
            raise RegistrationRejected(
                RejectReason.DUPLICATE_NAME, f"{name!r} is the form of an id or a role; choose a name of its own"
            )
        namesake = self._find_by_name(application.profile.role, name)
        if namesake is not None and namesake is not known:
            place = "" if self.rules.hides_names else f" as {namesake.agent_id}"
            hint = f"if that is you, come back{place} with the same name, port and SHARED folder"
            detail = f"{application.profile.display_name!r} is taken; {hint}, else choose another name"
            raise RegistrationRejected(RejectReason.DUPLICATE_NAME, detail)
        if known is not None:
            if frozen and known.role is Role.PLAYER and _is_replaced(known, application):
                raise RegistrationRejected(RejectReason.CLOSED, frozen)
            return self._readmit_member(known, application, now)
        if closed:
            raise RegistrationRejected(RejectReason.CLOSED, closed)
        if barred := self._find_barred_applicant(application):
            raise RegistrationRejected(
                RejectReason.CLOSED, f"{barred.agent_id} of this address is suspended by the organiser"
            )
        role = application.profile.role
        if len(self._members_by_role[role]) >= (most := self._max_members(role)):
            raise RegistrationRejected(RejectReason.FULL, f"at most {most} {role}s may take part")
        admission = self._admit_new(application, now)
        if team and team.role is Role.PLAYER:
            admission.member.team_id = team.team_id
            _add_version(admission.member, now)
        return admission

    def _find_endpoint_problem(self, endpoint: str, addresses: Sequence[str] | None) -> str | None:
        """Describe what is wrong with the address that the current caller registers, or return None."""
        caller, network = CALLER_ADDRESS.get(), self.rules.network
        address, hosts = normalise_address(caller[0]) if caller else None, network.allowed_hosts
        if caller is None:  # an agent of our own process, below our own address
            hosts = (*hosts, *filter(None, (network.public_host, self.rules.own_host)))
        if problem := find_endpoint_problem(endpoint, hosts, address or None, addresses):
            return problem
        return "that is a sign-up address; expected your agent's own" if find_sign_up_key(endpoint) else None

    def _find_applicant(self, application: AgentApplication, team: SignUpTeam | None, now: datetime) -> Member | None:
        """Find the member that registers again; a team's key is good for one agent, whatever else that shows."""
        role = application.profile.role
        if team is None:
            return self._recognise_member(application, now)
        if team.role is not role:
            raise RegistrationRejected(
                RejectReason.CLOSED, f"this sign-up address is for {team.role}s, and you register as a {role}"
            )
        if role is Role.REFEREE:
            return self._recognise_member(application, now)
        return next((member for member in self._members_by_role[role] if member.team_id == team.team_id), None)

    def _max_members(self, role: Role) -> int:
        return self.rules.max_players if role is Role.PLAYER else max(self.rules.max_players, MAX_REFEREES)

    def _recognise_member(self, application: AgentApplication, now: datetime) -> Member | None:
        """Find the returning member by token, by name and key or, if allowed, by name and address."""
        if application.token is not None:
            member = self.find_token_owner(application.token, now)
            claimed = self._members.get(application.profile.agent_id)
            if member is not None and member.role is application.profile.role and claimed in (None, member):
                return member
            if self.rules.security.enable_auth_tokens:
                raise Refusal(
                    ErrorCode.AUTH_TOKEN_INVALID,
                    "this token is not valid here; register without one to get a new one",
                    expected_format="tok-{agent_id}-{hash}",
                )
        owner = self.find_by_endpoint(application.profile.endpoint) if application.is_seat_proven else None
        if owner is not None and owner.role is application.profile.role:
            return owner
        namesake = self._find_by_name(application.profile.role, application.profile.display_name)
        if namesake is None:
            return None
        if namesake.key_sha256 is not None:
            if application.application_key is not None and hashes_match(
                namesake.key_sha256, hash_token(application.application_key)
            ):
                return namesake
            if self.rules.security.allow_tokenless_return is not True:
                return None  # a member with a key returns by it; other ways would let others take its place
        same_place = namesake.agent.endpoint == application.profile.endpoint
        return namesake if same_place and self.rules.allows_tokenless_return else None

    def find_by_endpoint(self, endpoint: str) -> Member | None:
        """Find the member that is called at exactly this endpoint."""
        return next((member for member in self if member.agent.endpoint == endpoint), None)

    def set_endpoint(self, member: Member, endpoint: str) -> None:
        """Call a member at another endpoint from now on."""
        member.agent = replace(member.agent, endpoint=endpoint)
        self._profiles_by_role.clear()

    def _check_endpoint(self, application: AgentApplication, applicant: Member | None) -> None:
        """Raise RegistrationRejected for an endpoint that may not be called, or is another member's seat."""
        if application.is_seated:
            self._check_seat_owner(application.profile.endpoint, applicant)
        elif problem := self._find_endpoint_problem(application.profile.endpoint, application.profile.addresses):
            raise RegistrationRejected(RejectReason.INVALID_ENDPOINT, redact_keys(problem))

    def note_dial_out_seats(self) -> bool:
        """Note that agents dial out to this league; returns whether it has been loopback-only until now."""
        was_loopback_only = self.rules.is_loopback_only
        if not self.rules.has_dial_out_seats:
            self.rules = replace(self.rules, has_dial_out_seats=True)
        return was_loopback_only

    def _check_seat_owner(self, endpoint: str, applicant: Member | None) -> None:
        owner = self.find_by_endpoint(endpoint)
        if owner is not None and owner is not applicant:
            raise RegistrationRejected(
                RejectReason.INVALID_ENDPOINT,
                f"this dial-out seat is {owner.agent_id}'s: come back with its token, or open another seat",
            )

    def find_by_id_or_name(self, role: Role, who: str) -> Member | None:
        """Find the member that a person means by an id, in any case, or by a name."""
        member = self._members.get(who.strip().upper())
        return member if member is not None and member.role is role else self._find_by_name(role, who)

    def _find_by_name(self, role: Role, display_name: str) -> Member | None:
        """Find the member with this name, or with a confusable one."""
        return self._members_by_name.get((role, normalise_confusables(display_name)))

    def _find_barred_applicant(self, application: AgentApplication) -> Member | None:
        """Find a barred member that applies again under another name, by its address or key."""
        barred = [member for member in self._members.values() if member.is_barred]
        if not barred:
            return None
        endpoint, key = application.profile.endpoint, _hash_application_key(application)
        return next(
            (
                member
                for member in barred
                if may_be_same_agent(member.agent.endpoint, endpoint) or (key and key == member.key_sha256)
            ),
            None,
        )

    def _admit_new(self, application: AgentApplication, now: datetime) -> Admission:
        agent_id = self._choose_id(application)
        token, token_sha256, expires = self._issue_token(agent_id, now)
        member = Member(
            agent=replace(application.profile, agent_id=agent_id),
            token_sha256=token_sha256,
            token_expires=expires,
            breaker=Breaker(self.rules.failure_threshold),
            key_sha256=_hash_application_key(application),
            alias=application.profile.agent_id if len(application.profile.agent_id) <= MAX_ALIAS_LENGTH else None,
            protocol_profile=application.protocol_profile,
            is_ours=application.is_ours,
            has_match_key=application.has_match_key,
            link_port=application.link_port,
        )
        self._add_member(member)
        return Admission(member, token, is_returning=False)

    def _add_member(self, member: Member) -> None:
        if member.agent_id not in self._members:
            insort(self._members_by_role[member.role], member, key=lambda one: id_sort_key(one.agent_id))
        self._members[member.agent_id] = self._members_by_token[member.token_sha256] = member
        self._index_member(member)

    def _index_member(self, member: Member) -> None:
        """Index a member by its name, and drop the cached views."""
        self._members_by_name.setdefault(_confusable_name_key(member), member)
        self._profiles_by_role.clear()

    def _readmit_member(self, member: Member, application: AgentApplication, now: datetime) -> Admission:
        is_replaced = member.team_id is not None and _is_replaced(member, application)
        # The address of an agent that dials out is its seat on this server, and tells nothing of the agent's own.
        has_moved = not application.is_seated and member.agent.endpoint != application.profile.endpoint
        token, token_sha256, expires = self._issue_token(member.agent_id, now)
        del self._members_by_token[member.token_sha256]
        self._members_by_name.pop(_confusable_name_key(member), None)
        member.agent = replace(application.profile, agent_id=member.agent_id)
        member.token_sha256, member.token_expires = token_sha256, expires
        member.key_sha256 = _hash_application_key(application) or member.key_sha256
        member.protocol_profile = replace(
            application.protocol_profile,
            deviations=merge_deviations(member.protocol_profile.deviations, application.protocol_profile.deviations),
        )
        member.is_ours, member.has_match_key = application.is_ours, application.has_match_key
        member.link_port = application.link_port
        member.breaker.record_call(ok=True)
        self._members_by_token[token_sha256] = member
        self._index_member(member)
        new_version = _add_version(member, now) if is_replaced else 0
        return Admission(member, token, is_returning=True, new_version=new_version, has_moved=has_moved)

    def _issue_token(self, agent_id: str, now: datetime) -> tuple[str, str, datetime]:
        token = create_token(agent_id, self.rules.security.token_length)
        hours = self.rules.security.token_ttl_hours
        if self.rules.has_lasting_tokens:
            hours = max(hours, LASTING_TOKEN_HOURS)
        return token, hash_token(token), now + timedelta(hours=hours)

    def _choose_id(self, application: AgentApplication) -> str:
        """Return the requested id if it has the right form and is free, else the next free one."""
        wanted = application.profile.agent_id
        if ID_PATTERNS[application.profile.role].fullmatch(wanted) and wanted not in self._members:
            return wanted
        number = 1
        while (agent_id := f"{ID_PREFIXES[application.profile.role]}{number:02}") in self._members:
            number += 1
        return agent_id


def merge_deviations(known: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Merge the deviations of an agent, each once, up to MAX_DEVIATIONS."""
    return tuple(dict.fromkeys((*known, *new)))[:MAX_DEVIATIONS]


def _is_replaced(member: Member, application: AgentApplication) -> bool:
    """Whether a returning agent is another one than before, as far as it says; a laptop may have a new address."""
    before, now = member.agent, application.profile
    return (before.display_name, before.version) != (now.display_name, now.version)


def _add_version(member: Member, now: datetime) -> int:
    """Note that a team has registered a new version of its agent; returns its number."""
    number = member.versions[-1].number + 1 if member.versions else 1
    version = AgentVersion(number, member.agent.display_name, member.agent.version, format_utc(now))
    kept = member.versions if len(member.versions) < MAX_VERSIONS else (member.versions[0], *member.versions[2:])
    member.versions = (*kept, version)
    return number


def _confusable_name_key(member: Member) -> tuple[Role, str]:
    return (member.role, normalise_confusables(member.agent.display_name))


def _hash_application_key(application: AgentApplication) -> str | None:
    return hash_token(application.application_key) if application.application_key else None
