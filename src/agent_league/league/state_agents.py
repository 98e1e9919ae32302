"""The agents of a league: their registration, their states, who fails, is barred, withdraws or comes back.

Who may be admitted is decided by `roster.py`; agents are called by others, who report here how it went.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from agent_league.agent.dialects import dialect_of
from agent_league.clock import format_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.match_tokens import hash_token, hashes_match
from agent_league.league.roster import (
    Admission,
    AgentApplication,
    Member,
    RegistrationRejected,
    RejectReason,
    merge_deviations,
)
from agent_league.league.state_record import LeaguePhase, LeagueSetup
from agent_league.league.state_rounds import LeagueRounds
from agent_league.league.stored_rows import agent_to_row
from agent_league.model.agents import AgentState, Role, advance_state, id_sort_key
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    LadderNews,
    ReachabilityChanged,
    RefereeWaitChanged,
    RegistrationRefused,
)
from agent_league.model.model_usage import ModelUsage, add_usage
from agent_league.model.names import MAX_NAME_LENGTH
from agent_league.text import MAX_WORD, quote, redact_keys, shorten, to_printable

MAX_REPORTED_REFUSALS = 1000
"""Refused registrations that are emitted as events; further ones are dropped, to bound the memory."""
MAX_FAILURE_COUNT = 1_000_000
"""Upper bound for a failure count that a referee reports, so that it fits a database integer."""
LATE_STATES = {LeaguePhase.RUNNING: AgentState.ACTIVE, LeaguePhase.COMPLETED: AgentState.SHUTDOWN}
"""The state given to an agent that is admitted after the start, by phase."""


class LeagueAgents(LeagueRounds):
    """The agents of a league, and what is stored and emitted about each of them."""

    def __init__(self, setup: LeagueSetup) -> None:
        super().__init__(setup)
        self.house_bot_keys: Mapping[str, str] = {}
        """The names of the house bots, and the hash of the key that each of them registers with."""
        self._reported_refusals: set[RegistrationRefused] = set()
        self._was_waiting_for_referee = False

    def register(self, application: AgentApplication, now: datetime, key_needed: str | None = None) -> Admission:
        """Admit an agent, or readmit a known one; raises RegistrationRejected or a Refusal.

        `key_needed` says why a new agent needs a sign-up address; None: it needs none.
        """
        is_open = self.phase is LeaguePhase.REGISTRATION  # even if closed to new players
        may_be_asking = dialect_of(application.protocol_profile.protocol).asks_by_registering
        before = {member.agent_id: member.agent for member in self.roster} if is_open and may_be_asking else {}
        name = application.profile.display_name
        closed = self._registration_closed_reason(name) if application.profile.role is Role.PLAYER else None
        is_house = self._is_house_bot(application)
        frozen = "agents are frozen: yours can come back only under its name and version" if self.is_frozen else None
        admission = self.roster.register(application, closed=closed, now=now, frozen=frozen, key_needed=key_needed)
        member = admission.member
        member.last_call_at = now
        if not admission.is_returning and self.phase is not LeaguePhase.REGISTRATION:
            member.state = advance_state(member.state, LATE_STATES[self.phase])
        if member.role is Role.PLAYER:
            for table in (self.standings_table, self.table_after_round):
                table.add_player(member.agent_id, member.agent.display_name)
            is_new_version = self.ladder and self.ladder.note_player(
                member.agent_id, member.agent.version, format_utc(now), is_house=is_house
            )
        if member.is_suspended and not member.is_barred:
            self._set_agent_state(member, AgentState.ACTIVE, "came back")
        self._save_row(agent_to_row(member))
        if before.get(member.agent_id) == member.agent:
            return admission  # it only asks whether the manager is up
        self.emit(
            AgentRegistered(
                role=member.role,
                agent_id=member.agent_id,
                display_name=member.agent.display_name,
                endpoint=member.agent.endpoint,
                returned=admission.is_returning,
                tolerated=member.protocol_profile.deviations,
                new_version=admission.new_version,
                has_moved=admission.has_moved,
            )
        )
        if member.role is Role.PLAYER and is_new_version:
            version = to_printable(member.agent.version, MAX_WORD)
            self.emit(LadderNews(member.agent_id, f"comes with version {version}, which is rated apart"))
        self._emit_referee_wait()
        return admission

    def _is_house_bot(self, application: AgentApplication) -> bool:
        """Whether an applicant is a house bot by its key; raises RegistrationRejected if it only has such a name."""
        name = application.profile.display_name
        expected = self.house_bot_keys.get(name) if application.profile.role is Role.PLAYER else None
        if expected is None:
            return False
        if not hashes_match(expected, hash_token(application.application_key or "")):
            raise RegistrationRejected(RejectReason.DUPLICATE_NAME, f"{name!r} is a house bot; choose another name")
        return True

    def report_refused_registration(self, who: str, why: str) -> bool:
        """Emit a refused registration, each one once; returns whether it was emitted."""
        event = RegistrationRefused(shorten(redact_keys(who), MAX_NAME_LENGTH), redact_keys(why))
        if event in self._reported_refusals or len(self._reported_refusals) >= MAX_REPORTED_REFUSALS:
            return False
        self._reported_refusals.add(event)
        self.emit(event)
        return True

    @property
    def is_registration_open(self) -> bool:
        """Whether new players may register; referees may at any time."""
        return self._registration_closed_reason() is None

    def _registration_closed_reason(self, name: str = "") -> str | None:
        """Explain why no new player (of this name) may register, or return None."""
        if self.phase is not LeaguePhase.REGISTRATION and not self.takes_late_players:
            return "the league has started"
        if name in self._season_row.admitted:
            return None
        plan = self.times.plan
        if self.is_frozen:
            return "agents are frozen before the end of the league"
        if not self._season_row.registration_open:
            when = f"closed on {plan.format_moment(plan.closes)} ({plan.zone_name})" if plan.closes else ""
            return f"registration {when if when and self.times.has_closed else 'is closed by the organiser'}"
        if plan.opens and not self.times.has_opened:
            return f"registration opens on {plan.format_moment(plan.opens)} ({plan.zone_name})"
        return None

    @property
    def admitted_names(self) -> Sequence[str]:
        """Names of players that may still enter although registration is closed."""
        return self._season_row.admitted

    def admit_name(self, name: str) -> None:
        """Let a player of this name enter although registration is closed."""
        self._update_season_row(admitted=[*self._season_row.admitted, name])

    @property
    def eligible_player_count(self) -> int:
        """Number of registered players that can be called and are not barred by the organiser."""
        return sum(member.is_reachable and not member.is_barred for member in self.roster.list_members(Role.PLAYER))

    @property
    def reachable_referee_count(self) -> int:
        return sum(member.is_reachable for member in self.roster.list_members(Role.REFEREE))

    @property
    def is_waiting_for_referee(self) -> bool:
        """Whether the league runs while every referee is suspended, so that no match can be assigned."""
        referees = self.roster.list_members(Role.REFEREE)
        is_idle = all(member.is_suspended for member in referees)
        return self.phase is LeaguePhase.RUNNING and not self.is_on_hold and is_idle

    def find_player_id(self, name: str) -> str:
        """Return the id of a player by the id or name an organiser typed; raises a Refusal."""
        return self._find_player(name).agent_id

    def _find_player(self, player_id: str) -> Member:
        member = self.roster.find_by_id_or_name(Role.PLAYER, player_id)
        if member is None:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"no player {quote(player_id)} in this league",
                player_id=shorten(player_id),
            )
        return member

    def record_call_outcome(self, agent_id: str, *, ok: bool) -> None:
        """Count the outcome of a call to an agent; enough failures in a row suspend it.

        Failures while it is being reached don't count: it may be our server that was away.
        """
        if (member := self.roster.get(agent_id)) and (ok or not member.is_being_reached):
            member.breaker.record_call(ok=ok)
            self._suspend_if_failing(member)

    def record_notice_outcome(self, agent_id: str, *, taken: bool) -> None:
        """Count the outcome of a notice to an agent, separately from calls, and like these."""
        if (member := self.roster.get(agent_id)) and (taken or not member.is_being_reached):
            member.breaker.record_notice(taken=taken)
            self._suspend_if_failing(member)

    def adopt_failure_count(self, agent_id: str, failures_in_a_row: int) -> None:
        """Replace a player's failure count by the one its referee reports."""
        if member := self.roster.get(agent_id):
            before = member.breaker.failures
            member.breaker.set_failures(min(max(failures_in_a_row, 0), MAX_FAILURE_COUNT))
            self._suspend_if_failing(member)
            if member.breaker.failures != before:
                self._save_row(agent_to_row(member))

    def note_deviations(self, agent_id: str, noted: Sequence[str]) -> None:
        """Add tolerated deviations to an agent's profile, each one once."""
        if member := self.roster.get(agent_id):
            known = member.protocol_profile.deviations
            member.protocol_profile = replace(member.protocol_profile, deviations=merge_deviations(known, noted))
            if member.protocol_profile.deviations != known:
                self._save_row(agent_to_row(member))

    def collect_deviations(self) -> dict[str, tuple[str, ...]]:
        """List the tolerated deviations of each agent, from registration and matches, each one once."""
        noted: dict[str, dict[str, None]] = {
            member.agent_id: dict.fromkeys(member.protocol_profile.deviations) for member in self.roster
        }
        for result in self.results.values():
            for player_id, found in result.tolerated.items():
                noted[player_id].update(dict.fromkeys(found))
        return {agent_id: tuple(found) for agent_id, found in noted.items() if found}

    def collect_model_usage(self) -> dict[str, ModelUsage]:
        """What each player's language model used in all its matches, as the players say; in the order of ids."""
        found = add_usage(item for result in self.results.values() for item in result.usage.items())
        return {player_id: found[player_id] for player_id in sorted(found, key=id_sort_key)}

    def move_agent(self, agent_id: str, endpoint: str) -> None:
        """Call an agent at another endpoint from now on: its dial-out seat has moved with this server."""
        member = self.roster[agent_id]
        self.roster.set_endpoint(member, endpoint)
        self._save_row(agent_to_row(member))

    def set_reachable(self, agent_id: str, *, is_reachable: bool, why: str = "") -> None:
        """Note whether the manager can call an agent on another machine; `why` it can't."""
        member = self.roster[agent_id]
        member.is_reachable = is_reachable
        self.emit(ReachabilityChanged(agent_id, is_reachable, member.agent.endpoint, why))

    def suspend_agent(self, agent_id: str, why: str) -> None:
        """Suspend an active agent until it shows a sign of life."""
        if (member := self.roster.get(agent_id)) and member.state is AgentState.ACTIVE:
            self._set_agent_state(member, AgentState.SUSPENDED, why)

    def reactivate_agent(self, agent_id: str) -> None:
        """Make a suspended agent active again, because it answers; a barred one stays suspended."""
        if (member := self.roster.get(agent_id)) and member.is_suspended and not member.is_barred:
            member.breaker.half_close()
            self._set_agent_state(member, AgentState.ACTIVE, "answers again")

    def bar_player(self, player_id: str) -> bool:
        """Suspend a player on the organiser's order: it loses its matches until it is reinstated.

        Returns False if it was so already.
        """
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        member = self._find_player(player_id)
        if member.is_barred:
            return False
        member.is_barred = True
        self._rank_tables_again()
        self._set_agent_state(member, AgentState.SUSPENDED, "by the organiser")
        return True

    def reinstate_player(self, player_id: str) -> bool:
        """Let a suspended player play again on the organiser's order, whatever suspended it; False if it wasn't."""
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        member = self._find_player(player_id)
        if member.is_withdrawn:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{member.agent_id} has withdrawn; admit it instead",
                player_id=member.agent_id,
            )
        if not member.is_suspended:
            return False
        member.is_barred = False
        self._rank_tables_again()
        member.breaker.half_close()
        before = AgentState.REGISTERED if self.phase is LeaguePhase.REGISTRATION else AgentState.ACTIVE
        self._set_agent_state(member, before, "reinstated by the organiser")
        return True

    def set_withdrawn(self, player_id: str, *, is_withdrawn: bool) -> None:
        """Take a player out of the league, or let it in again; results stay."""
        member = self.roster[player_id]
        member.is_withdrawn = member.is_barred = is_withdrawn
        self._rank_tables_again()
        state, why = AgentState.SUSPENDED, "it has withdrawn"
        if not is_withdrawn:
            member.breaker.half_close()
            state = AgentState.REGISTERED if self.phase is LeaguePhase.REGISTRATION else AgentState.ACTIVE
            why = "admitted again by the organiser"
        if self.phase is LeaguePhase.COMPLETED:
            self._save_row(agent_to_row(member))
        else:
            self._set_agent_state(member, state, why)

    def _suspend_if_failing(self, member: Member) -> None:
        if member.breaker.is_open and member.state is AgentState.ACTIVE:
            self._set_agent_state(member, AgentState.SUSPENDED, f"{member.breaker.failure_count} failures in a row")

    def _set_agent_state(self, member: Member, state: AgentState, why: str) -> None:
        member.state = advance_state(member.state, state)
        self._save_row(agent_to_row(member))
        self.emit(AgentStateChanged(member.agent_id, state, why))
        self._emit_referee_wait()

    def _emit_referee_wait(self) -> None:
        """Emit when the last referee is gone, and when one is back."""
        if (is_waiting := self.is_waiting_for_referee) != self._was_waiting_for_referee:
            self._was_waiting_for_referee = is_waiting
            self.emit(RefereeWaitChanged(is_waiting))
