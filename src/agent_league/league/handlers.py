"""The manager's handlers: one per method, from a checked message to the league state and back to a reply."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agent_league.agent.dispatcher import OK, Handler, Reply
from agent_league.clock import Clock
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.journal import Journal
from agent_league.league.match_files import MatchFiles
from agent_league.league.messages import ManagerWords
from agent_league.league.queries import Queries
from agent_league.league.reports import Decide, read_result, settle_by_details
from agent_league.league.roster import Application, Rejected
from agent_league.league.state import Season
from agent_league.log import JsonLogger
from agent_league.model.agents import How, Role
from agent_league.protocol import v2
from agent_league.protocol.checks import shown, wrong_type
from agent_league.protocol.envelope import Sender
from agent_league.protocol.v2.registration import PlayerMeta, RegisterRequest
from agent_league.protocol.version import MINIMUM_VERSION, PROTOCOL_V1, is_semantic, is_supported, parse_version

T = TypeVar("T")
BY_POLL = "matches fetched by 'get_assigned_matches'"


class ManagerHandlers:
    """One handler per method; its changes are committed before it replies.

    `start_league` starts the league; `on_registered` is called when there may be enough players to do so.
    """

    def __init__(
        self,
        season: Season,
        words: ManagerWords,
        clock: Clock,
        log: JsonLogger,
        journal: Journal,
        start: Callable[[], None],
        registered: Callable[[], None],
        files: MatchFiles,
        decide: Decide,
    ) -> None:
        self._season = season
        self._words = words
        self._clock = clock
        self._log = log
        self._journal = journal
        self._start = start
        self._registered = registered
        self._files = files
        self._decide = decide
        self._queries = Queries(season)

    def table(self) -> dict[str, Handler]:
        return {
            "register_referee": self.register_referee,
            "register_player": self.register_player,
            "start_league": self.start_league,
            "manage_league": self.manage_league,
            "report_match_result": self.report_match_result,
            "league_query": self.league_query,
            "get_assigned_matches": self.get_assigned_matches,
            "get_standings": self.get_standings,
            "create_schedule": self.create_schedule,
            "get_round": self.get_round,
            "get_match": self.get_match,
            "get_player": self.get_player,
        }

    async def register_player(self, message: v2.LeagueRegisterRequest) -> Reply:
        return await self._register(Role.PLAYER, message, message.player_meta)

    async def register_referee(self, message: v2.RefereeRegisterRequest) -> Reply:
        return await self._register(Role.REFEREE, message, message.referee_meta)

    async def start_league(self, message: v2.StartLeague) -> Reply:
        self._start()
        await self._journal.committed()
        return OK

    async def manage_league(self, message: v2.ManageLeague) -> Reply:
        match message.action:
            case "OPEN_REGISTRATION" | "CLOSE_REGISTRATION":
                self._season.set_open(is_open=message.action == "OPEN_REGISTRATION")
            case "PAUSE" | "RESUME":
                self._season.set_paused(is_paused=message.action == "PAUSE")
            case "SUSPEND_PLAYER":
                self._season.bar(_given(message.to_wire(), "player_id", str))
            case "REINSTATE_PLAYER":
                self._season.unbar(_given(message.to_wire(), "player_id", str))
        self._registered()
        await self._journal.committed()
        return OK

    def settle_report(self, params: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Correct a report whose result is missing or contradicts its details; returns it and the deviations."""
        match_id = params.get("match_id")
        try:
            players = self._season.pairing(str(match_id)).players
        except Refusal:
            return params, ()  # the unknown match is refused later, after the other fields were checked
        settled, noted = settle_by_details(params, players, self._season.league.game_parameters, self._decide)
        if noted:
            self._log.warning("result_by_details", match_id=match_id, why=noted[0], told=shown(params.get("result")))
        return settled, noted

    async def report_match_result(self, message: v2.MatchResultReport) -> Reply:
        pairing = self._season.pairing(message.match_id)
        result = read_result(pairing, message.result, self._season.scoring)
        referee_id = message.sender.partition(":")[2]
        try:
            is_new = self._season.record(result, referee_id)
        except Refusal as refusal:
            self._log.warning("report_refused", match_id=message.match_id, referee_id=referee_id, why=refusal.message)
            raise
        if is_new:
            for player_id, failures in message.result.failures_in_a_row.items():
                if player_id in pairing.players:
                    self._season.note_failures(player_id, failures)
        await self._journal.committed()
        return OK

    async def league_query(self, message: v2.LeagueQuery) -> Reply:
        asker = message.sender.partition(":")[2]
        data: Mapping[str, Any] | None = None
        error: Mapping[str, Any] | None = None
        try:
            data = self._queries.answer(message.query_type, message.query_params, asker)
        except Refusal as refusal:
            error = {
                "error_code": refusal.code.value,
                "error_name": refusal.code.name,
                "message": refusal.message,
                **refusal.context,
            }
        return self._words.query_response(message.query_type, message.conversation_id, data, error)

    async def get_assigned_matches(self, params: Mapping[str, Any]) -> Reply:
        referee_id = str(params["sender"]).partition(":")[2]
        self._season.polls[referee_id] += 1
        waiting = self._season.waiting_for(referee_id)
        if waiting:
            self._season.tolerate(referee_id, (BY_POLL,))
            await self._journal.committed()
        matches = [self._words.start_match(pairing, referee_id) for pairing in waiting]
        return {"league_id": self._season.league_id, "referee_id": referee_id, "matches": matches}

    async def get_standings(self, params: Mapping[str, Any]) -> Reply:
        return self._queries.standings()

    async def create_schedule(self, params: Mapping[str, Any]) -> Reply:
        return self._queries.schedule()

    async def get_round(self, params: Mapping[str, Any]) -> Reply:
        return self._queries.round(_given(params, "round_id", int))

    async def get_match(self, params: Mapping[str, Any]) -> Reply:
        match_id = _given(params, "match_id", str)
        found = self._queries.match(match_id)
        result = self._season.results.get(match_id)
        if result is None:
            return {**found, "transcript": None, "transcript_note": "what was said is shown once the match is finished"}
        transcript, note = await self._files.transcript(result, self._season.assigned.get(match_id))
        return {**found, "transcript": transcript, "transcript_note": note}

    async def get_player(self, params: Mapping[str, Any]) -> Reply:
        return self._queries.player(_given(params, "player_id", str))

    async def _register(self, role: Role, message: RegisterRequest, meta: PlayerMeta) -> Reply:
        sender = Sender.parse(message.sender)
        if sender is None or sender.role is not role:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"'sender' must be '{role}:NAME' here",
                field="sender",
                expected=f"{role}:NAME",
                received=shown(message.sender),
            )
        check_version(meta.protocol_version)
        how = self._note_version(message.how, meta.version)
        application = Application(
            role=role,
            wanted_id=sender.agent_id,
            display_name=meta.display_name,
            endpoint=meta.contact_endpoint,
            version=meta.version,
            game_types=tuple(meta.game_types),
            max_concurrent_matches=getattr(meta, "max_concurrent_matches", 1),
            token=message.auth_token,
            key=message.application_key,
            how=how,
            is_ours=meta.match_tokens,
            has_match_key=meta.match_tokens and meta.match_keys,
        )
        try:
            admission = self._season.register(application, self._clock.now())
        except Rejected as rejection:
            if self._season.refuse(meta.display_name, f"{rejection.reason} ({rejection.detail})"):
                self._log.warning(
                    "registration_rejected", role=role, display_name=meta.display_name, reason=rejection.reason
                )
            return self._words.rejected(role, rejection, message.conversation_id, how.protocol)
        answer = self._words.accepted(role, admission, message.conversation_id)
        self._registered()
        await self._journal.committed()
        return answer

    def _note_version(self, how: How, version: str) -> How:
        """Note a `league.v1` version that isn't MAJOR.MINOR.PATCH; raises a Refusal in a strict league."""
        if how.protocol != PROTOCOL_V1 or is_semantic(version):
            return how
        if self._season.roster.rules.strict:
            raise wrong_type("player_meta.version", "a semantic version such as 1.0.0", version)
        return replace(how, noted=(*how.noted, f"version {version[:40]!r} isn't MAJOR.MINOR.PATCH"))


def _given(params: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return an argument of a plain method; raises a Refusal if it is missing or of another type."""
    value = params.get(name)
    if value is None:
        raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {name}", missing_fields=[name])
    if not isinstance(value, kind) or isinstance(value, bool):
        raise wrong_type(name, "an integer" if kind is int else "a string", value)
    return value


def check_version(declared: str | None) -> None:
    """Raise a Refusal for a protocol version that is too old or unreadable."""
    if declared is None or is_supported(declared):
        return
    code = ErrorCode.PROTOCOL_VERSION_MISMATCH if parse_version(declared) else ErrorCode.INVALID_MESSAGE_FORMAT
    raise Refusal(
        code,
        f"'protocol_version' must be {MINIMUM_VERSION} or newer",
        field="protocol_version",
        expected=MINIMUM_VERSION,
        received=shown(declared),
    )
