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
from agent_league.agent.message_log import MessageLog, ReceivedCall
from agent_league.agent.metrics import FINE, OTHER, Meter
from agent_league.agent.request_parsing import ACKNOWLEDGED, Asked, Reception, applicant, mended
from agent_league.clock import Clock, format_utc
from agent_league.errors import ErrorCode, FrameCode, FrameError, Refusal
from agent_league.http.carrier import PostRefused
from agent_league.log import JsonLogger
from agent_league.model.agents import PLAINLY, How, Role
from agent_league.protocol.checks import Envelope, check_envelope, read_fields, shown
from agent_league.protocol.envelope import ANONYMOUS, Message, Sender
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.tolerance import REGISTER_PATH, is_of_mcp
from agent_league.protocol.v2.errors import LeagueError, write_league_error
from agent_league.protocol.v2.registration import RegisterRequest
from agent_league.protocol.version import PROTOCOL_V2

Reply = Message | Mapping[str, Any]
Handler = Callable[[Any], Awaitable[Reply]]
"""Takes the method's parsed message, or its plain parameters if the method has no message."""

Complete = Callable[[Method, Mapping[str, Any]], Awaitable[tuple[Mapping[str, Any], Sequence[str]]] | None]
"""Fills in what a message leaves out before its envelope is checked; returns message and deviations, or None."""
Tolerated = Callable[[str, Sequence[str]], None]
"""Called with the id of a sender and the deviations that were tolerated in its message."""
Mend = Callable[[Mapping[str, Any]], tuple[Mapping[str, Any], Sequence[str]]]
"""Repairs a message from what the agent knows; returns the message and its deviations."""
Refused = Callable[[str, Mapping[str, Any], Refusal], None]
"""Called for each refused call with its method, parameters and refusal."""
Unregistered = Callable[[str, str], object]
"""Called with the sender of a registration that was refused, and the reason."""

OK: Mapping[str, Any] = {"status": "ok"}
BATCH_PATIENCE = 0.1
"""Seconds after which the next call of a batch starts although this one is still running."""
MOST_SLOW = 8
"""Unfinished calls of a batch at which no further call is started."""
NOT_ASKED = "nothing was done, ask again"
NOT_TOLD = "this call was made, but its answer has no room any more: ask for it alone"
SOMEBODY: Mapping[Caller, str] = {
    Caller.ADMIN: "league_manager",
    Caller.MANAGER: "league_manager",
    Caller.AGENT: f"player:{ANONYMOUS}",
    Caller.MATCH_PLAYER: f"player:{ANONYMOUS}",
    Caller.REFEREE: f"referee:{ANONYMOUS}",
    Caller.MATCH_REFEREE: f"referee:{ANONYMOUS}",
}
"""The sender that is filled in for a caller without one."""
LONGEST_SENTENCE = 300
"""Characters of a foreign agent's sentence that are logged."""


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


class Host(Protocol):
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
        host: Host,
        handlers: Mapping[str, Handler],
        clock: Clock,
        log: JsonLogger,
        *,
        strict: bool = False,
        tolerated: Tolerated | None = None,
        unregistered: Unregistered | None = None,
        complete: Complete | None = None,
        refused: Refused | None = None,
        meter: Meter | None = None,
        mend: Mapping[str, Mend] | None = None,
        messages: MessageLog | None = None,
    ) -> None:
        """`repairs` maps methods to functions that repair their messages; ignored with `strict`, as is `complete`."""
        self._host = host
        self._complete = None if strict else complete
        self._mend = {} if strict else (mend or {})
        self.messages = messages or MessageLog(log, enabled=False)
        self._meter = meter or Meter()
        self._tolerated = tolerated
        self._unregistered = unregistered
        self._refused = refused
        self._tools = {name: (METHODS[name], handler) for name, handler in handlers.items()}
        self._reception = Reception(host.role, self._tools, strict=strict, clock=clock)
        self._strict = strict
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

        Raises PostRejected for a refusal outside of JSON-RPC: such clients look at the HTTP status.
        """
        answer = await self.answer(body, bearer, REGISTER_PATH)
        if answer is not None and (status := _refusal_status(body, answer)):
            raise PostRefused(status, answer)
        return answer

    async def answer(self, body: bytes, bearer: str | None = None, path: str | None = None) -> bytes | None:
        """Answer a frame or a batch of frames; None if there is no answer (notifications)."""
        received = self.messages.receive_call(body)
        answers: list[Any] | dict[str, Any] | None
        try:
            parsed = self._parse(body, received)
            if isinstance(parsed, list):
                answers = await self._answer_batch(parsed, bearer, received)
            else:
                answers = await self._answer_one(parsed, bearer, path, received)
        except FrameError as error:
            self._meter.count("calls_served", OTHER, str(int(error.code)))
            received.refuse(str(int(error.code)))
            answers = jsonrpc.error_frame(error, None)
        encoded = None if answers is None else self._encode(answers)
        received.answer(encoded)
        return encoded

    def _parse(self, body: bytes, received: ReceivedCall) -> Any:
        """Parse a body; raises JsonRpcError. Logs it as received, unless the MCP side may have to answer it."""
        try:
            parsed = jsonrpc.parse_body(body)
        except FrameError:
            received.read(is_json=False)
            raise
        method = parsed.get("method") if isinstance(parsed, dict) else None
        if not isinstance(method, str) or not is_of_mcp(method):
            received.read()
        return parsed

    async def call(
        self, name: str, arguments: Mapping[str, Any], bearer: str | None = None, *, is_logged: bool = False
    ) -> Any:
        """Call a method by name with a message that needs no envelope; raises JsonRpcError.

        The token may be `auth_token` in the arguments or `bearer`. With `is_logged`, the frame of the call is in the
        log already.
        """
        given = arguments.get("auth_token")
        bearer = bearer or (given if isinstance(given, str) else None)
        params = self._enveloped(METHODS.get(name), arguments, bearer)
        frame = {"jsonrpc": "2.0", "id": 0, "method": name, "params": params}
        is_told = self.messages.enabled and not is_logged
        body = self._encode({**frame, "params": arguments}) if is_told else b""
        received = self.messages.receive_call(body, is_told=is_told)
        received.read()
        try:
            asked = self._reception.read(frame)
            answer = asked.worded(await self._call(asked, bearer, received))
        except FrameError as error:
            received.refuse(str(int(error.code)))
            received.answer(self._encode(jsonrpc.error_frame(error, 0)) if is_told else None)
            raise
        received.answer(self._encode(answer) if is_told else None)
        return answer

    def _enveloped(self, method: Method | None, message: Mapping[str, Any], bearer: str | None) -> dict[str, Any]:
        """Add the envelope fields that a message lacks."""
        if method is None or message.get("protocol") not in (None, PROTOCOL_V2):
            return {**message}
        envelope: dict[str, Any] = {"sender": self._sender_of(method, message, bearer)}
        if method.request:
            envelope["protocol"] = PROTOCOL_V2
            envelope["message_type"] = method.request.TYPE
            envelope["timestamp"] = format_utc(self._clock.now())
            envelope["conversation_id"] = f"conv-mcp-{next(self._call_numbers):03}"
            envelope["auth_token"] = bearer
        missing = {name: value for name, value in envelope.items() if value and message.get(name) is None}
        return {**message, **missing}

    def _sender_of(self, method: Method, message: Mapping[str, Any], bearer: str | None) -> str | None:
        """The owner of the token, else an anonymous sender of a role that may call; its token is checked later."""
        if method.caller is Caller.APPLICANT and method.request:
            return applicant(method.request, message)
        token = message.get("auth_token") or bearer
        known = self._host.caller(token) if isinstance(token, str) else None
        return known or SOMEBODY.get(method.caller)

    def turn_away(self, body: bytes, refusal: Refusal) -> bytes | None:
        """Answer every request of a frame with the same refusal, without executing any."""
        received = self.messages.receive_call(body)
        received.read(is_json=None)
        received.refuse(refusal.code)
        try:
            parsed = jsonrpc.parse_body(body)
            answers: list[Any] | dict[str, Any] | None
            if isinstance(parsed, list):
                _check_batch(parsed)
                told = [self._turn_one_away(frame, refusal) for frame in parsed]
                answers = [answer for answer in told if answer is not None] or None
            else:
                answers = self._turn_one_away(parsed, refusal)
        except FrameError as error:
            both = FrameError(error.code, f"{error.message}; and {refusal.message}", dict(refusal.context))
            answers = jsonrpc.error_frame(both, None)
        encoded = None if answers is None else self._encode(answers)
        received.answer(encoded)
        return encoded

    def _turn_one_away(self, frame: Any, refusal: Refusal) -> Any:
        self._meter.count("calls_served", OTHER, refusal.code)
        try:
            asked = self._reception.read(frame)
        except FrameError as error:
            if error.code is FrameCode.INVALID_REQUEST:
                return jsonrpc.error_frame(error, jsonrpc.echoed_id(frame))
            asked = Asked(ACKNOWLEDGED, {}, jsonrpc.echoed_id(frame), _is_notification(frame))
        return None if asked.is_notification else asked.answer(self._write_refusal(refusal, asked))

    def _log_league_error(self, error: Mapping[str, Any]) -> None:
        """Log a LEAGUE_ERROR that arrived as a call, not as an answer."""
        sentence = error.get("message") or error.get("error_description")
        self._log.warning(
            "league_error_received",
            sender=shown(error.get("sender")),
            error_code=shown(error.get("error_code")),
            message=sentence[:LONGEST_SENTENCE] if isinstance(sentence, str) else None,
            original_message_type=shown(error.get("original_message_type")),
            affected_player=shown(error.get("affected_player")),
            action_required=shown(error.get("action_required")),
        )

    def _encode(self, answers: list[Any] | dict[str, Any]) -> bytes:
        """Encode an answer; if it can't be written as JSON, encode an internal error instead."""
        try:
            return orjson.dumps(answers)
        except TypeError as error:
            return orjson.dumps(self._not_json(error, jsonrpc.echoed_id(answers)))

    def _not_json(self, error: TypeError, request_id: jsonrpc.RequestId) -> dict[str, Any]:
        self._log.error("answer_not_json", error=repr(error))
        fault = FrameError(FrameCode.INTERNAL_ERROR, "our answer can't be written as JSON")
        return jsonrpc.error_frame(fault, request_id)

    async def _answer_batch(self, frames: list[Any], bearer: str | None, received: ReceivedCall) -> list[Any] | None:
        """Answer the calls of a batch in order, up to MAX_BATCH_ANSWER bytes.

        Calls start one after the other, so that other clients' calls run in between.
        """
        _check_batch(frames)
        received.is_alone = False
        room = jsonrpc.MAX_BATCH_ANSWER

        async def answer(frame: Any) -> orjson.Fragment | None:
            nonlocal room
            if room <= 0:
                return None if _is_notification(frame) else orjson.Fragment(self._encode(_no_room(frame, NOT_ASKED)))
            answered = await self._answer_one(frame, bearer, None, received)
            if answered is None:
                return None
            encoded = self._encode(answered)
            room -= len(encoded)
            return orjson.Fragment(encoded if room >= 0 else self._encode(_no_room(frame, NOT_TOLD)))

        async with asyncio.TaskGroup() as group:
            answering = []
            for frame in frames:
                answering.append(group.create_task(answer(frame)))
                await asyncio.wait(answering[-1:], timeout=BATCH_PATIENCE)
                slow = [task for task in answering if not task.done()]
                if len(slow) >= MOST_SLOW:
                    await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        return [found for task in answering if (found := task.result()) is not None] or None

    async def _answer_one(self, frame: Any, bearer: str | None, path: str | None, received: ReceivedCall) -> Any:
        try:
            asked = self._understood(frame, path)
            result = await self._call(asked, bearer, received)
            return None if asked.is_notification else asked.answer(result)
        except FrameError as error:
            if received.is_alone and path is None and _is_left_to_mcp(frame, error) and not _is_notification(frame):
                received.pass_on()
            else:
                received.refuse(str(int(error.code)))
            if _is_notification(frame) and error.code != FrameCode.INVALID_REQUEST:
                return None
            return jsonrpc.error_frame(error, jsonrpc.echoed_id(frame))
        except TypeError as error:
            return self._not_json(error, jsonrpc.echoed_id(frame))

    def _understood(self, frame: Any, path: str | None) -> Asked:
        try:
            return self._reception.read(frame, path)
        except FrameError as error:
            if not _is_left_to_mcp(frame, error):
                self._meter.count("calls_served", OTHER, str(int(error.code)))
            raise

    async def _call(self, asked: Asked, bearer: str | None, received: ReceivedCall) -> Any:
        """Run a call and count it; returns the reply or the written refusal, raises JsonRpcError."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        asked.has_bearer = bearer is not None
        now = self._loop.time
        began = now()
        try:
            reply, outcome = await self._handle(asked, bearer, received), FINE
        except Refusal as refusal:
            reply, outcome = self._refuse(refusal, asked, received), refusal.code
        except FrameError as error:
            self._meter.served(asked.method, str(int(error.code)), now() - began)
            raise
        self._meter.served(asked.method or OTHER, outcome, now() - began)
        return reply

    async def _handle(self, asked: Asked, bearer: str | None, received: ReceivedCall) -> Any:
        if asked.fault:
            raise asked.fault
        if asked.method == ACKNOWLEDGED:
            if asked.params.get("message_type") == LeagueError.TYPE:
                if received.may_be_told:
                    self._log_league_error(asked.params)
                received.refuse(LeagueError.TYPE)
            return OK
        method, handler = self._tools[asked.method]
        try:
            reply = await handler(await self._admit(method, asked, bearer, received))
        except Refusal:
            raise
        except Exception as error:
            self._log.error("handler_failed", method=method.name, error=repr(error))
            raise FrameError(FrameCode.INTERNAL_ERROR, "an error of ours; it is in our log") from error
        answer = reply.to_wire() if isinstance(reply, Message) else reply
        if method.caller is Caller.APPLICANT:
            received.decide(answer.get("status"))
        return answer

    async def _admit(
        self, method: Method, asked: Asked, bearer: str | None, received: ReceivedCall
    ) -> Message | Mapping[str, Any]:
        """Check envelope, caller and fields, in this order, and return the message; raises Refusal."""
        params, how = asked.params, asked.how
        if method.request is None:
            known = await self._host.authorize(method, None, params, bearer)
            received.admit(method.caller)
            return params if known is None else {**params, "sender": str(known)}
        if method.caller is Caller.APPLICANT and not self._strict:
            params, how = mended(method.request, params, how, format_utc(self._clock.now()))
        if self._complete and (completing := self._complete(method, params)):
            params, noted = await completing
            how = replace(how, noted=(*how.noted, *noted)) if noted else how
        envelope = check_envelope(params, method.request.TYPE)
        sender = await self._host.authorize(method, envelope, params, bearer)
        received.admit(method.caller)
        if sender is not None and sender != envelope.sender:
            params = {**params, "sender": str(sender)}
            if asked.original is None:
                how = _noted(how, f"'sender' {str(envelope.sender)[:80]!r} for {str(sender)!r}")
        if mend := self._mend.get(method.name):
            params, noted = mend(params)
            how = _noted(how, *noted)
        message = read_fields(method.request, params)
        if how is not PLAINLY:
            self._note(method, sender or envelope.sender, how, received)
            if isinstance(message, RegisterRequest):
                message.how = how
        return message

    def _note(self, method: Method, sender: Sender, how: How, received: ReceivedCall) -> None:
        """Log and report tolerated deviations; those of a registration are passed on with its message instead."""
        if how.noted and received.may_be_told:
            self._log.info("tolerated", method=method.name, sender=shown(str(sender)), how=how.noted)
        if self._tolerated and method.caller is not Caller.APPLICANT:
            self._tolerated(sender.agent_id, how.noted)

    def _refuse(self, refusal: Refusal, asked: Asked, received: ReceivedCall) -> dict[str, Any]:
        if received.may_be_told:
            self._log.warning(
                "message_refused",
                method=asked.method,
                sender=shown(asked.params.get("sender")),
                error_code=refusal.code,
                message=refusal.message,
                **({"match_id": shown(asked.params["match_id"])} if "match_id" in asked.params else {}),
            )
        received.refuse(refusal.code)
        if self._refused:
            self._refused(asked.method, asked.params, refusal)
        known = METHODS.get(asked.method)
        if self._unregistered and known and known.request and known.caller is Caller.APPLICANT:
            who = asked.params.get("sender") or applicant(known.request, asked.params)
            self._unregistered(str(shown(who)), f"{refusal.code} {refusal.message}")
        return self._write_refusal(refusal, asked)

    def _write_refusal(self, refusal: Refusal, asked: Asked) -> dict[str, Any]:
        params = asked.params
        known = METHODS.get(asked.method)
        request = known.request if known else None
        conversation_id, message_type = params.get("conversation_id"), params.get("message_type")
        if not isinstance(message_type, str):
            message_type = request.TYPE if request else None
        return write_league_error(
            refusal,
            sender=self._host.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=conversation_id
            if isinstance(conversation_id, str)
            else f"conv-error-{next(self._error_numbers):03}",
            original_message_type=message_type[:80] if message_type else None,
            method=asked.method or None,
            caller=params.get("sender"),
            has_token=params.get("auth_token") is not None or asked.has_bearer,
        ).to_wire()


def _noted(how: How, *notes: str) -> How:
    return replace(how, noted=(*how.noted, *notes)) if notes else how


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


def _is_left_to_mcp(frame: Any, error: FrameError) -> bool:
    """Whether a frame calls an MCP method, which the MCP side of this agent answers."""
    return error.code == FrameCode.METHOD_NOT_FOUND and is_of_mcp(frame.get("method"))


def _check_batch(frames: list[Any]) -> None:
    if not 0 < len(frames) <= jsonrpc.MAX_BATCH:
        raise FrameError(
            FrameCode.INVALID_REQUEST,
            f"a batch holds 1 to {jsonrpc.MAX_BATCH} requests, found {len(frames)}",
        )


def _is_notification(frame: Any) -> bool:
    return isinstance(frame, dict) and "id" not in frame and "method" in frame


def _no_room(frame: Any, what_then: str) -> dict[str, Any]:
    sentence = f"the answers to a batch hold at most {jsonrpc.MAX_BATCH_ANSWER} bytes; {what_then}"
    return jsonrpc.error_frame(FrameError(FrameCode.INVALID_REQUEST, sentence), jsonrpc.echoed_id(frame))
