"""Dispatches calls: from a frame to the handler of its method, and from the reply or error back to a frame.

A request ends here, so every exception becomes an answer here.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import orjson

from agent_league.agent import jsonrpc
from agent_league.agent.answer_pages import PAGED_FIELDS, Reader, read_page_number, shape_answer
from agent_league.agent.message_log import MessageLog, ReceivedCall
from agent_league.agent.metrics import OK_OUTCOME, OTHER_METHOD, AgentMetrics
from agent_league.agent.request_parsing import (
    ACKNOWLEDGE_ONLY,
    CallParser,
    ParsedCall,
    repair_registration,
    write_applicant_sender,
)
from agent_league.clock import Clock, format_utc
from agent_league.errors import ErrorCode, JsonRpcError, JsonRpcErrorCode, Refusal
from agent_league.http.carrier import RequestRejected
from agent_league.log import JsonLogger
from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, ProtocolProfile, Role
from agent_league.protocol.checks import Envelope, check_envelope, describe_value, parse_fields
from agent_league.protocol.envelope import ANONYMOUS, Message, Sender
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.tolerance import REGISTER_PATH, is_mcp_method
from agent_league.protocol.v2.errors import LeagueError, write_league_error
from agent_league.protocol.v2.registration import RegisterRequest
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import MAX_SENTENCE, quote, shorten

HandlerReply = Message | Mapping[str, Any]
Handler = Callable[[Any], Awaitable[HandlerReply]]
"""Takes the method's parsed message, or its plain parameters if the method has no message."""

MessageCompleter = Callable[[Method, Mapping[str, Any]], Awaitable[tuple[Mapping[str, Any], Sequence[str]]] | None]
"""Fills in what a message leaves out before its envelope is checked; returns message and deviations, or None."""
DeviationsCallback = Callable[[str, Sequence[str]], None]
"""Called with the id of a sender and the deviations that were tolerated in its message."""
MessageRepair = Callable[[Mapping[str, Any]], tuple[Mapping[str, Any], Sequence[str]]]
"""Repairs a message from what the agent knows; returns the message and its deviations."""
RefusalCallback = Callable[[str, Mapping[str, Any], Refusal], None]
"""Called for each refused call with its method, parameters and refusal."""
FailedRegistrationCallback = Callable[[str, str], object]
"""Called with the sender of a registration that was refused, and the reason."""

OK: Mapping[str, Any] = {"status": "ok"}
BATCH_PATIENCE = 0.1
"""Seconds after which the next call of a batch starts although this one is still running."""
MAX_SLOW_CALLS = 8
"""Unfinished calls of a batch at which no further call is started."""
CALL_NOT_MADE = "nothing was done, ask again"
ANSWER_DROPPED = "this call was made, but its answer has no room any more: ask for it alone"
ANONYMOUS_SENDERS: Mapping[Caller, str] = {
    Caller.ADMIN: "league_manager",
    Caller.MANAGER: "league_manager",
    Caller.AGENT: f"player:{ANONYMOUS}",
    Caller.MATCH_PLAYER: f"player:{ANONYMOUS}",
    Caller.REFEREE: f"referee:{ANONYMOUS}",
    Caller.MATCH_REFEREE: f"referee:{ANONYMOUS}",
}
"""The sender that is filled in for a caller without one."""
NOT_JSON = object()
REJECTED = "REJECTED"
"""The status of an answer that refuses a registration."""
BAD_REQUEST = 400
REJECTED_STATUS = {"Duplicate display name": 409, "Registration closed": 403, "League full": 403}
REFUSED_STATUS = {
    ErrorCode.AUTH_TOKEN_MISSING: 401,
    ErrorCode.AUTH_TOKEN_INVALID: 401,
    ErrorCode.RATE_LIMIT_EXCEEDED: 429,
}
"""HTTP statuses for registrations that are refused at REGISTER_PATH; any other is 400."""


class ServingAgent(Protocol):
    """The agent behind a dispatcher."""

    role: Role

    @property
    def sender(self) -> str:
        """The `sender` of its own messages."""
        ...

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        """Raise a Refusal unless the caller may call this method; `bearer` is the token beside the message.

        Returns the verified sender if it is known, which may differ from the one that the message names.
        """
        ...

    def caller(self, bearer: str | None) -> str | None:
        """The sender that a token belongs to, if known."""
        ...


class Dispatcher:
    """Answers the calls to one agent. With `strict`, only the canonical call form is understood."""

    def __init__(
        self,
        agent: ServingAgent,
        handlers: Mapping[str, Handler],
        clock: Clock,
        log: JsonLogger,
        *,
        strict: bool = False,
        on_deviations: DeviationsCallback | None = None,
        on_failed_registration: FailedRegistrationCallback | None = None,
        completers: Mapping[str, MessageCompleter] | None = None,
        on_refusal: RefusalCallback | None = None,
        metrics: AgentMetrics | None = None,
        repairs: Mapping[str, MessageRepair] | None = None,
        message_log: MessageLog | None = None,
    ) -> None:
        """`completers` and `repairs` map methods to functions that mend their messages; `strict` ignores both."""
        self._agent = agent
        self._completers = {} if strict else (completers or {})
        self._repairs = {} if strict else (repairs or {})
        self.message_log = message_log or MessageLog(log, enabled=False)
        self._metrics = metrics or AgentMetrics()
        self._on_deviations = on_deviations
        self._on_failed_registration = on_failed_registration
        self._on_refusal = on_refusal
        self._tools = {name: (METHODS[name], handler) for name, handler in handlers.items()}
        self._parser = CallParser(agent.role, self._tools, strict=strict, clock=clock)
        self.is_strict = strict
        self._clock = clock
        self._log = log
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error_numbers = itertools.count(1)
        self._call_numbers = itertools.count(1)

    @property
    def methods(self) -> list[str]:
        return sorted(self._tools)

    async def answer_registration(self, body: bytes, bearer: str | None = None) -> bytes | None:
        """Answer a request at REGISTER_PATH, where only registrations are accepted.

        Raises RequestRejected for a refusal outside of JSON-RPC: such clients look at the HTTP status.
        """
        answer = await self.answer_request(body, bearer, REGISTER_PATH)
        if answer is not None and (status := _refusal_status(body, answer)):
            raise RequestRejected(status, "registration refused", answer)
        return answer

    async def answer_request(self, body: bytes, bearer: str | None = None, path: str | None = None) -> bytes | None:
        """Answer a frame or a batch of frames; None if there is no answer (notifications)."""
        received = ReceivedCall(self.message_log, body)
        answers: list[Any] | dict[str, Any] | None
        parsed: Any = NOT_JSON
        try:
            parsed = jsonrpc.parse_body(body)
            if isinstance(parsed, list):
                received.log_received()
                answers = await self._answer_batch(parsed, bearer, received)
            else:
                answers = await self._answer_frame(parsed, bearer, path, received)
        except JsonRpcError as error:
            if parsed is NOT_JSON:
                received.log_received(is_json=False)
            self._metrics.count_event("calls_served", OTHER_METHOD, str(int(error.code)))
            received.add_refusal_code(str(int(error.code)))
            answers = jsonrpc.build_error_frame(error, None)
        encoded = None if answers is None else self._encode_answer(answers)
        received.log_answer(encoded)
        return encoded

    async def call_method(
        self,
        name: str,
        arguments: Mapping[str, Any],
        bearer: str | None = None,
        *,
        is_logged: bool = False,
        reader: Reader = Reader.OURSELVES,
    ) -> Any:
        """Call a method by name with a message that needs no envelope; raises JsonRpcError.

        The token may be `auth_token` in the arguments or `bearer`. With `is_logged`, the frame of the call is in the
        log already.
        """
        given = arguments.get("auth_token")
        bearer = bearer or (given if isinstance(given, str) else None)
        params = self._add_envelope(METHODS.get(name), arguments, bearer)
        frame = {"jsonrpc": "2.0", "id": 0, "method": name, "params": params}
        is_told = self.message_log.enabled and not is_logged
        body = self._encode_answer({**frame, "params": arguments}) if is_told else b""
        received = ReceivedCall(self.message_log, body, is_told=is_told)
        received.log_received()
        try:
            asked = replace(self._parser.parse_frame(frame), reader=reader)
            answer = asked.to_request_protocol(await self._execute_call(asked, bearer, received))
        except JsonRpcError as error:
            received.add_refusal_code(str(int(error.code)))
            received.log_answer(self._encode_answer(jsonrpc.build_error_frame(error, 0)) if is_told else None)
            raise
        received.log_answer(self._encode_answer(answer) if is_told else None)
        return answer

    def _add_envelope(self, method: Method | None, message: Mapping[str, Any], bearer: str | None) -> dict[str, Any]:
        """Add the envelope fields that a message lacks."""
        if method is None or message.get("protocol") not in (None, PROTOCOL_V2):
            return {**message}
        envelope: dict[str, Any] = {"sender": self._find_sender(method, message, bearer)}
        if method.request:
            envelope["protocol"] = PROTOCOL_V2
            envelope["message_type"] = method.request.TYPE
            envelope["timestamp"] = format_utc(self._clock.now())
            envelope["conversation_id"] = f"conv-mcp-{next(self._call_numbers):03}"
            envelope["auth_token"] = bearer
        missing = {name: value for name, value in envelope.items() if value and message.get(name) is None}
        return {**message, **missing}

    def _find_sender(self, method: Method, message: Mapping[str, Any], bearer: str | None) -> str | None:
        """The owner of the token, else an anonymous sender of a role that may call; its token is checked later."""
        if method.caller is Caller.APPLICANT and method.request:
            return write_applicant_sender(method.request, message)
        token = message.get("auth_token") or bearer
        known = self._agent.caller(token) if isinstance(token, str) else None
        return known or ANONYMOUS_SENDERS.get(method.caller)

    def refuse_requests(self, body: bytes, refusal: Refusal) -> bytes | None:
        """Answer every request of a frame with the same refusal, without executing any."""
        received = ReceivedCall(self.message_log, body)
        received.log_received(is_json=None)
        received.add_refusal_code(refusal.code)
        try:
            parsed = jsonrpc.parse_body(body)
            answers: list[Any] | dict[str, Any] | None
            if isinstance(parsed, list):
                _check_batch_size(parsed)
                told = [self._refuse_request(frame, refusal) for frame in parsed]
                answers = [answer for answer in told if answer is not None] or None
            else:
                answers = self._refuse_request(parsed, refusal)
        except JsonRpcError as error:
            both = JsonRpcError(error.code, f"{error.message}; and {refusal.message}", dict(refusal.context))
            answers = jsonrpc.build_error_frame(both, None)
        encoded = None if answers is None else self._encode_answer(answers)
        received.log_answer(encoded)
        return encoded

    def _refuse_request(self, frame: Any, refusal: Refusal) -> Any:
        self._metrics.count_event("calls_served", OTHER_METHOD, refusal.code)
        try:
            asked = self._parser.parse_frame(frame)
        except JsonRpcError as error:
            if error.code is JsonRpcErrorCode.INVALID_REQUEST:
                return jsonrpc.build_error_frame(error, jsonrpc.find_request_id(frame))
            asked = ParsedCall(ACKNOWLEDGE_ONLY, {}, jsonrpc.find_request_id(frame), _is_notification(frame))
        return None if asked.is_notification else asked.build_answer(self._write_refusal(refusal, asked))

    def _log_league_error(self, error: Mapping[str, Any]) -> None:
        """Log a LEAGUE_ERROR that arrived as a call, not as an answer."""
        sentence = error.get("message") or error.get("error_description")
        self._log.warning(
            "league_error_received",
            sender=describe_value(error.get("sender")),
            error_code=describe_value(error.get("error_code")),
            message=shorten(sentence, MAX_SENTENCE) if isinstance(sentence, str) else None,
            original_message_type=describe_value(error.get("original_message_type")),
            affected_player=describe_value(error.get("affected_player")),
            action_required=describe_value(error.get("action_required")),
        )

    def _encode_answer(self, answers: list[Any] | dict[str, Any]) -> bytes:
        """Encode an answer; if it can't be written as JSON, encode an internal error instead."""
        try:
            return orjson.dumps(answers)
        except TypeError as error:
            return orjson.dumps(self._encoding_error_frame(error, jsonrpc.find_request_id(answers)))

    def _encoding_error_frame(self, error: TypeError, request_id: jsonrpc.RequestId) -> dict[str, Any]:
        self._log.error("answer_not_json", error=repr(error))
        fault = JsonRpcError(JsonRpcErrorCode.INTERNAL_ERROR, "our answer can't be written as JSON")
        return jsonrpc.build_error_frame(fault, request_id)

    async def _answer_batch(self, frames: list[Any], bearer: str | None, received: ReceivedCall) -> list[Any] | None:
        """Answer the calls of a batch in order, up to MAX_BATCH_ANSWER bytes.

        Calls start one after the other, so that other clients' calls run in between.
        """
        _check_batch_size(frames)
        received.is_alone = False
        room = jsonrpc.MAX_BATCH_ANSWER

        async def answer(frame: Any) -> orjson.Fragment | None:
            nonlocal room
            if room <= 0:
                return (
                    None
                    if _is_notification(frame)
                    else orjson.Fragment(self._encode_answer(_batch_full_frame(frame, CALL_NOT_MADE)))
                )
            answered = await self._answer_frame(frame, bearer, None, received)
            if answered is None:
                return None
            encoded = self._encode_answer(answered)
            room -= len(encoded)
            return orjson.Fragment(
                encoded if room >= 0 else self._encode_answer(_batch_full_frame(frame, ANSWER_DROPPED))
            )

        async with asyncio.TaskGroup() as group:
            answering = []
            for frame in frames:
                answering.append(group.create_task(answer(frame)))
                await asyncio.wait(answering[-1:], timeout=BATCH_PATIENCE)
                slow = [task for task in answering if not task.done()]
                if len(slow) >= MAX_SLOW_CALLS:
                    await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        return [found for task in answering if (found := task.result()) is not None] or None

    async def _answer_frame(self, frame: Any, bearer: str | None, path: str | None, received: ReceivedCall) -> Any:
        asked: ParsedCall | None = None
        try:
            asked = self._parser.parse_frame(frame, path)
            if received.is_alone:
                received.log_received()
            result = await self._execute_call(asked, bearer, received)
            return None if asked.is_notification else asked.build_answer(result)
        except JsonRpcError as error:
            is_for_mcp = error.code == JsonRpcErrorCode.METHOD_NOT_FOUND and _is_mcp_frame(frame)
            if asked is None and not is_for_mcp:
                self._metrics.count_event("calls_served", OTHER_METHOD, str(int(error.code)))
            if is_for_mcp and received.is_alone and path is None and not _is_notification(frame):
                received.is_passed_on = True
            else:
                received.add_refusal_code(str(int(error.code)))
            if _is_notification(frame) and error.code != JsonRpcErrorCode.INVALID_REQUEST:
                return None
            return jsonrpc.build_error_frame(error, jsonrpc.find_request_id(frame))
        except TypeError as error:
            return self._encoding_error_frame(error, jsonrpc.find_request_id(frame))

    async def _execute_call(self, asked: ParsedCall, bearer: str | None, received: ReceivedCall) -> Any:
        """Run a call and count it; returns the reply or the written refusal, raises JsonRpcError."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        asked.has_bearer = bearer is not None
        began, outcome = self._loop.time(), OK_OUTCOME
        try:
            if asked.refusal:
                raise asked.refusal
            if asked.method == ACKNOWLEDGE_ONLY:
                return self._acknowledge(asked, received)
            method, handler = self._tools[asked.method]
            message = await self._check_message(method, asked, bearer, received)
            is_shaped = asked.reader is Reader.HOST or method.name in PAGED_FIELDS
            page = read_page_number(method, asked.params, asked.reader) if is_shaped else 1
            reply = await handler(message)
            answer = reply.to_wire() if type(reply) is not dict and isinstance(reply, Message) else reply
            if method.caller is Caller.APPLICANT:
                received.record_decision(answer.get("status"))
            return shape_answer(method, answer, asked.reader, page) if is_shaped else answer
        except Refusal as refusal:
            outcome = refusal.code
            written = self._report_refusal(refusal, asked, received)
            return shape_answer(METHODS[asked.method], written, asked.reader) if asked.method in METHODS else written
        except Exception as error:
            self._log.error("handler_failed", method=asked.method, error=repr(error))
            outcome = str(int(JsonRpcErrorCode.INTERNAL_ERROR))
            raise JsonRpcError(JsonRpcErrorCode.INTERNAL_ERROR, "an error of ours; it is in our log") from error
        finally:
            self._metrics.record_served_call(asked.method or OTHER_METHOD, outcome, self._loop.time() - began)

    def _acknowledge(self, asked: ParsedCall, received: ReceivedCall) -> Mapping[str, Any]:
        """Answer a message that asks for nothing; logs one that tells of an error."""
        if asked.params.get("message_type") == LeagueError.TYPE:
            if received.may_be_logged:
                self._log_league_error(asked.params)
            received.add_refusal_code(LeagueError.TYPE)
        return OK

    async def _check_message(
        self, method: Method, asked: ParsedCall, bearer: str | None, received: ReceivedCall
    ) -> Message | Mapping[str, Any]:
        """Check envelope, caller and fields, in this order, and return the message; raises Refusal."""
        params, how = asked.params, asked.protocol_profile
        if method.request is None:
            known = await self._agent.authorize(method, None, params, bearer)
            received.mark_admitted(method.caller)
            return params if known is None else {**params, "sender": str(known)}
        if method.caller is Caller.APPLICANT and not self.is_strict:
            params, how = repair_registration(method.request, params, how, format_utc(self._clock.now()))
        if (complete := self._completers.get(method.name)) and (completing := complete(method, params)):
            params, noted = await completing
            how = replace(how, deviations=(*how.deviations, *noted)) if noted else how
        envelope = check_envelope(params, method.request.TYPE)
        sender = await self._agent.authorize(method, envelope, params, bearer)
        received.mark_admitted(method.caller)
        if sender is not None and sender != envelope.sender:
            params = {**params, "sender": str(sender)}
            if asked.foreign_message is None:
                how = _add_deviations(how, f"'sender' {quote(str(envelope.sender))} for {str(sender)!r}")
        if mend := self._repairs.get(method.name):
            params, noted = mend(params)
            how = _add_deviations(how, *noted)
        message = parse_fields(method.request, params)
        if how is not DEFAULT_PROTOCOL_PROFILE:
            self._report_deviations(method, sender or envelope.sender, how, received)
            if isinstance(message, RegisterRequest):
                message.how = how
        return message

    def _report_deviations(self, method: Method, sender: Sender, how: ProtocolProfile, received: ReceivedCall) -> None:
        """Log and report tolerated deviations; those of a registration are passed on with its message instead."""
        if how.deviations and received.may_be_logged:
            self._log.info("tolerated", method=method.name, sender=describe_value(str(sender)), how=how.deviations)
        if self._on_deviations and method.caller is not Caller.APPLICANT:
            self._on_deviations(sender.agent_id, how.deviations)

    def _report_refusal(self, refusal: Refusal, asked: ParsedCall, received: ReceivedCall) -> dict[str, Any]:
        if received.may_be_logged:
            self._log.warning(
                "message_refused",
                method=asked.method,
                sender=describe_value(asked.params.get("sender")),
                error_code=refusal.code,
                message=refusal.message,
                **({"match_id": describe_value(asked.params["match_id"])} if "match_id" in asked.params else {}),
            )
        received.add_refusal_code(refusal.code)
        if self._on_refusal:
            self._on_refusal(asked.method, asked.params, refusal)
        known = METHODS.get(asked.method)
        if self._on_failed_registration and known and known.request and known.caller is Caller.APPLICANT:
            who = asked.params.get("sender") or write_applicant_sender(known.request, asked.params)
            self._on_failed_registration(str(describe_value(who)), f"{refusal.code} {refusal.message}")
        return self._write_refusal(refusal, asked)

    def _write_refusal(self, refusal: Refusal, asked: ParsedCall) -> dict[str, Any]:
        params = asked.params
        known = METHODS.get(asked.method)
        request = known.request if known else None
        conversation_id, message_type = params.get("conversation_id"), params.get("message_type")
        if not isinstance(message_type, str):
            message_type = request.TYPE if request else None
        return write_league_error(
            refusal,
            sender=self._agent.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=conversation_id
            if isinstance(conversation_id, str)
            else f"conv-error-{next(self._error_numbers):03}",
            original_message_type=shorten(message_type) if message_type else None,
            method=asked.method or None,
            caller=params.get("sender"),
            has_token=params.get("auth_token") is not None or asked.has_bearer,
        ).to_wire()


def _add_deviations(how: ProtocolProfile, *notes: str) -> ProtocolProfile:
    return replace(how, deviations=(*how.deviations, *notes)) if notes else how


def _refusal_status(body: bytes, answer: bytes) -> int | None:
    """The HTTP status for an answer that refuses a registration; None for other answers and for JSON-RPC requests."""
    reply = orjson.loads(answer)
    if isinstance(reply, list) or ("jsonrpc" in reply and b'"jsonrpc"' in body):
        return None
    if "error" in reply and "jsonrpc" in reply:
        return BAD_REQUEST
    if reply.get("status") == REJECTED:
        return REJECTED_STATUS.get(reply.get("reason"), BAD_REQUEST)
    return REFUSED_STATUS.get(reply.get("error_code"), BAD_REQUEST) if "error_code" in reply else None


def _is_mcp_frame(frame: Any) -> bool:
    """Whether a frame calls an MCP method, which the MCP side of this agent answers."""
    return isinstance(frame, dict) and is_mcp_method(frame.get("method"))


def _check_batch_size(frames: list[Any]) -> None:
    if not 0 < len(frames) <= jsonrpc.MAX_BATCH:
        raise JsonRpcError(
            JsonRpcErrorCode.INVALID_REQUEST,
            f"a batch holds 1 to {jsonrpc.MAX_BATCH} requests, found {len(frames)}",
        )


def _is_notification(frame: Any) -> bool:
    return isinstance(frame, dict) and "id" not in frame and "method" in frame


def _batch_full_frame(frame: Any, what_then: str) -> dict[str, Any]:
    sentence = f"the answers to a batch hold at most {jsonrpc.MAX_BATCH_ANSWER} bytes; {what_then}"
    return jsonrpc.build_error_frame(
        JsonRpcError(JsonRpcErrorCode.INVALID_REQUEST, sentence), jsonrpc.find_request_id(frame)
    )
