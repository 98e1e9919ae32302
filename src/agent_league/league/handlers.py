"""The manager's handlers: one per method, from a checked message to the league state and back to a reply."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agent_league.agent.dialects import dialect_of
from agent_league.agent.dispatcher import OK, Handler, HandlerReply
from agent_league.agent.sign_up_team import SIGN_UP_TEAM
from agent_league.clock import Clock
from agent_league.config.times import TimesConfig
from agent_league.errors import ErrorCode, Refusal, UserError
from agent_league.http.hosts import resolve_endpoint
from agent_league.league.changed_times import TIME_LABELS, read_times
from agent_league.league.dial_out.registration import SeatedApplication, find_seat
from agent_league.league.dial_out.seats import DialOutSeats
from agent_league.league.journal import Journal
from agent_league.league.match_file_reader import MatchFiles
from agent_league.league.messages import ManagerMessages
from agent_league.league.organiser_commands import MATCH_ACTIONS, OrganiserCommand
from agent_league.league.queries import LeagueQueries
from agent_league.league.reports import DeriveResult, build_match_result, correct_by_details
from agent_league.league.roster import AgentApplication, Member, RegistrationRejected
from agent_league.league.sign_up import SignUp
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.visibility import VIEWER, mask_state, require_view
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentProfile, ProtocolProfile, Role
from agent_league.model.audit import OrganiserAction
from agent_league.model.looks import NO_LOOK, read_look
from agent_league.protocol import v2
from agent_league.protocol.checks import describe_value, wrong_type_refusal
from agent_league.protocol.envelope import Sender
from agent_league.protocol.v2.registration import RefereeMeta
from agent_league.protocol.version import (
    CURRENT_VERSION,
    MINIMUM_VERSION,
    is_semantic_version,
    is_supported_version,
    parse_version,
)
from agent_league.text import quote, redact_keys

T = TypeVar("T")
GuestAdopter = Callable[[AgentApplication], Awaitable[SeatedApplication | None]]
"""Seats an applicant that speaks another protocol than the league's; None if it speaks for itself."""
FETCHED_BY_POLL = "matches fetched by 'get_assigned_matches'"


class ManagerHandlers:
    """One handler per method; its changes are committed before it replies.

    `carry_out` carries out an organiser's command; `on_registered` is called when there may be enough players to start.
    """

    def __init__(
        self,
        state: LeagueState,
        messages: ManagerMessages,
        clock: Clock,
        log: JsonLogger,
        journal: Journal,
        carry_out: Callable[[OrganiserCommand], Awaitable[str]],
        on_registered: Callable[[], None],
        match_files: MatchFiles,
        derive_result: DeriveResult,
        seats: DialOutSeats,
        choose_way: Callable[[Member], None],
        sign_up: SignUp,
        request_match: Callable[[str, str], Awaitable[str]],
        adopt_guest: GuestAdopter,
    ) -> None:
        self._state = state
        self._adopt_guest = adopt_guest
        self._sign_up = sign_up
        self._request_match = request_match
        self._messages = messages
        self._clock = clock
        self._log = log
        self._journal = journal
        self._carry_out = carry_out
        self._on_registered = on_registered
        self._match_files = match_files
        self._derive_result = derive_result
        self._seats = seats
        self._choose_way = choose_way

    @property
    def _queries(self) -> LeagueQueries:
        """The league as whoever makes the current call may see it; raises a Refusal if that is nothing."""
        viewer = VIEWER.get()
        require_view(self._state, viewer)
        return LeagueQueries(mask_state(self._state, viewer))

    def handlers_by_method(self) -> dict[str, Handler]:
        return {
            "register_referee": self.register_agent,
            "register_player": self.register_agent,
            "start_league": self.start_league,
            "manage_league": self.manage_league,
            "report_match_result": self.report_match_result,
            "league_query": self.league_query,
            "request_match": self.request_match,
            "get_assigned_matches": self.get_assigned_matches,
            "get_standings": self.get_standings,
            "get_schedule": self.get_schedule,
            "create_schedule": self.get_schedule,
            "get_round": self.get_round,
            "get_match": self.get_match,
            "get_player": self.get_player,
        }

    async def start_league(self, message: v2.StartLeague) -> HandlerReply:
        consent = message.without_missing_teams
        await self._carry_out(OrganiserCommand(OrganiserAction.START_LEAGUE, without_missing_teams=consent))
        return OK

    async def manage_league(self, message: v2.ManageLeague) -> HandlerReply:
        action = OrganiserAction(message.action)
        is_about_match = action in MATCH_ACTIONS
        command = OrganiserCommand(
            action,
            target=(message.match_id if is_about_match else message.player_id) or "",
            reason=message.reason or "",
            winner=(message.player_id or "") if is_about_match else "",
            times=self._read_times(message.times) if message.times else None,
            void_followers=message.void_followers,
        )
        return {**OK, "change": await self._carry_out(command)}

    def _read_times(self, typed: Mapping[str, str]) -> TimesConfig:
        """Read the times that are to hold; raises a Refusal that says what is wrong."""
        if unknown := typed.keys() - TIME_LABELS.keys():
            names = ", ".join(TIME_LABELS)
            told = f"there is no time {quote(min(unknown))}; expected some of {names}"
            raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, told)
        try:
            return read_times(typed, self._state.config.times)
        except UserError as error:
            raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, str(error)) from None

    def correct_report(self, params: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Correct a report whose result is missing or contradicts its details; returns it and the deviations."""
        match_id = params.get("match_id")
        try:
            players = self._state.get_pairing(str(match_id)).players
        except Refusal:
            return params, ()  # the unknown match is refused later, after the other fields were checked
        settled, noted = correct_by_details(params, players, self._state.config.game_parameters, self._derive_result)
        if noted:
            self._log.warning(
                "result_by_details", match_id=match_id, why=noted[0], told=describe_value(params.get("result"))
            )
        return settled, noted

    async def report_match_result(self, message: v2.MatchResultReport) -> HandlerReply:
        pairing = self._state.get_pairing(message.match_id)
        result = build_match_result(pairing, message.result, self._state.scoring)
        referee_id = message.sender.partition(":")[2]
        try:
            is_new = self._state.record_result(result, referee_id)
        except Refusal as refusal:
            self._log.warning("report_refused", match_id=message.match_id, referee_id=referee_id, why=refusal.message)
            raise
        if is_new:
            for player_id, failures in message.result.failures_in_a_row.items():
                if player_id in pairing.players:
                    self._state.adopt_failure_count(player_id, failures)
        await self._journal.wait_for_commit()
        return OK

    async def league_query(self, message: v2.LeagueQuery) -> HandlerReply:
        asker = message.sender.partition(":")[2]
        data: Mapping[str, Any] | None = None
        error: Mapping[str, Any] | None = None
        try:
            data = self._queries.answer_query(message.query_type, message.query_params, asker)
        except Refusal as refusal:
            error = {
                "error_code": refusal.code.value,
                "error_name": refusal.code.name,
                "message": refusal.message,
                **refusal.context,
            }
        return self._messages.build_query_response(message.query_type, message.conversation_id, data, error)

    async def request_match(self, message: v2.RequestMatch) -> HandlerReply:
        sentence = await self._request_match(message.sender.partition(":")[2], message.opponent_id)
        return {"status": "ok", "message": sentence}

    async def get_assigned_matches(self, params: Mapping[str, Any]) -> HandlerReply:
        referee_id = str(params["sender"]).partition(":")[2]
        self._state.poll_counts[referee_id] += 1
        waiting = self._state.list_fetchable_matches(referee_id)
        if waiting:
            self._state.note_deviations(referee_id, (FETCHED_BY_POLL,))
            await self._journal.wait_for_commit()
        matches = [self._messages.build_start_match(pairing, referee_id) for pairing in waiting]
        return {"league_id": self._state.league_id, "referee_id": referee_id, "matches": matches}

    async def get_standings(self, params: Mapping[str, Any]) -> HandlerReply:
        return self._queries.get_standings()

    async def get_schedule(self, params: Mapping[str, Any]) -> HandlerReply:
        return self._queries.get_schedule()

    async def get_round(self, params: Mapping[str, Any]) -> HandlerReply:
        return self._queries.get_round(_require_argument(params, "round_id", int))

    async def get_match(self, params: Mapping[str, Any]) -> HandlerReply:
        match_id = _require_argument(params, "match_id", str)
        found = self._queries.get_match(match_id)
        if mask_state(self._state, VIEWER.get()).hides_names:
            return {**found, "transcript": None, "transcript_note": "this league shows what was said to its organisers"}
        match = self._queries.view_match(self._state.get_pairing(match_id))
        result = match.result
        if result is None:
            return {**found, "transcript": None, "transcript_note": "what was said is shown once the match is finished"}
        transcript, note = await self._match_files.read_transcript(result, match.referee_id)
        return {**found, "transcript": transcript, "transcript_note": note}

    async def get_player(self, params: Mapping[str, Any]) -> HandlerReply:
        return self._queries.get_player(_require_argument(params, "player_id", str))

    async def register_agent(self, message: v2.LeagueRegisterRequest | v2.RefereeRegisterRequest) -> HandlerReply:
        meta = message.player_meta if isinstance(message, v2.LeagueRegisterRequest) else message.referee_meta
        role = Role.REFEREE if isinstance(meta, RefereeMeta) else Role.PLAYER
        sender = Sender.parse(message.sender)
        if sender is None or sender.role is not role:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"'sender' must be '{role}:NAME' here",
                field="sender",
                expected=f"{role}:NAME",
                received=describe_value(message.sender),
            )
        check_protocol_version(meta.protocol_version)
        how = self._note_version_deviation(message.how, meta.version)
        look, noted = (NO_LOOK, ()) if isinstance(meta, RefereeMeta) else read_look(meta.color, meta.avatar)
        how = replace(how, deviations=(*how.deviations, *noted)) if noted else how
        application = AgentApplication(
            AgentProfile(
                role,
                redact_keys(sender.agent_id),
                redact_keys(meta.display_name),
                meta.contact_endpoint,
                meta.version,
                tuple(meta.game_types),
                meta.max_concurrent_matches if isinstance(meta, RefereeMeta) else 1,
                await resolve_endpoint(meta.contact_endpoint),
                look,
            ),
            token=message.auth_token,
            application_key=message.application_key,
            protocol_profile=how,
            is_ours=meta.match_tokens,
            has_match_key=meta.match_tokens and meta.match_keys,
            link_port=meta.link_port,
        )
        self._sign_up.check_rate()
        key_needed = await self._sign_up.explain_needed_key(role)
        try:
            await self._sign_up.require_valid_key()
            seated = find_seat(application, self._seats) or await self._seat_guest(application, key_needed)
            seen = seated.application if seated else application
            admission = self._state.register(seen, self._clock.now(), key_needed)
        except RegistrationRejected as rejection:
            self._sign_up.note_answer(self._clock.now(), f"{rejection.reason} ({rejection.detail})")
            if self._state.report_refused_registration(meta.display_name, f"{rejection.reason} ({rejection.detail})"):
                self._log.warning(
                    "registration_rejected", role=role, display_name=meta.display_name, reason=rejection.reason
                )
            return self._messages.build_rejected(role, rejection, message.conversation_id, how.protocol)
        self._sign_up.note_answer(self._clock.now(), None)
        self._choose_way(admission.member)
        answer = self._messages.build_accepted(role, admission, message.conversation_id)
        self._on_registered()
        await self._journal.wait_for_commit()
        if seated:
            await seated.seat.tell(f"{meta.display_name} is registered as {admission.member.agent_id}.")
        return answer

    async def _seat_guest(self, application: AgentApplication, key_needed: str | None) -> SeatedApplication | None:
        """Seat a player that speaks another protocol, if the league takes new players and tolerates it."""
        is_stranger = application.profile.role is Role.PLAYER and not application.is_ours
        may_join = self._state.phase is LeaguePhase.REGISTRATION and (SIGN_UP_TEAM.get() or not key_needed)
        if not is_stranger or not may_join or self._state.roster.rules.strict:
            return None
        return await self._adopt_guest(application)

    def _note_version_deviation(self, how: ProtocolProfile, version: str) -> ProtocolProfile:
        """Note a version that isn't MAJOR.MINOR.PATCH where it has to be; raises a Refusal in a strict league."""
        if not dialect_of(how.protocol).needs_semantic_version or is_semantic_version(version):
            return how
        if self._state.roster.rules.strict:
            raise wrong_type_refusal("player_meta.version", "a semantic version such as 1.0.0", version)
        return replace(how, deviations=(*how.deviations, f"version {quote(version)} isn't MAJOR.MINOR.PATCH"))


def _require_argument(params: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return an argument of a plain method; raises a Refusal if it is missing or of another type."""
    value = params.get(name)
    if value is None:
        raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {name}", missing_fields=[name])
    if not isinstance(value, kind) or isinstance(value, bool):
        raise wrong_type_refusal(name, "an integer" if kind is int else "a string", value)
    return value


def check_protocol_version(declared: str | None) -> None:
    """Raise a Refusal for a protocol version that is too old or unreadable."""
    if declared in (None, CURRENT_VERSION) or is_supported_version(str(declared)):
        return
    code = ErrorCode.PROTOCOL_VERSION_MISMATCH if parse_version(str(declared)) else ErrorCode.INVALID_MESSAGE_FORMAT
    raise Refusal(
        code,
        f"'protocol_version' must be {MINIMUM_VERSION} or newer",
        field="protocol_version",
        expected=MINIMUM_VERSION,
        received=describe_value(declared),
    )
