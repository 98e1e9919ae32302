"""Answering calls: from a frame to the handler of its method, and from whatever happens there back to a frame.

This is where a request ends, so this is where every error becomes an answer.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.errors import FrameCode, FrameError, Refusal
from agent_league.log import JsonLogger
from agent_league.protocol.checks import Envelope, check_envelope, read_fields, shown
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS, Method
from agent_league.protocol.v2.errors import write_league_error
from agent_league.transport import jsonrpc

Reply = Message | Mapping[str, Any]
Handler = Callable[[Any], Awaitable[Reply]]
"""Takes the method's message, or the plain parameters where the method has none."""

OK: Mapping[str, Any] = {"status": "ok"}


class Host(Protocol):
    """The agent behind a dispatcher."""

    @property
    def sender(self) -> str:
        """How it signs its messages."""
        ...

    def authorize(self, method: Method, envelope: Envelope | None, params: Mapping[str, Any]) -> None:
        """Raises a Refusal unless the caller may do this."""
        ...


class Dispatcher:
    """The tools of one agent."""

    def __init__(self, host: Host, handlers: Mapping[str, Handler], clock: Clock, log: JsonLogger) -> None:
        self._host = host
        self._tools = {name: (METHODS[name], handler) for name, handler in handlers.items()}
        self._clock = clock
        self._log = log
        self._error_numbers = itertools.count(1)

    @property
    def methods(self) -> list[str]:
        return sorted(self._tools)

    async def answer(self, body: bytes) -> bytes | None:
        """Answers a frame or a batch of them; None where nothing is to be said (notifications)."""
        try:
            parsed = jsonrpc.parse_body(body)
            answers: list[Any] | dict[str, Any] | None
            if isinstance(parsed, list):
                answers = await self._answer_batch(parsed)
            else:
                answers = await self._answer_one(parsed)
        except FrameError as error:
            answers = jsonrpc.error_frame(error, None)
        return None if answers is None else self._encode(answers)

    def _encode(self, answers: list[Any] | dict[str, Any]) -> bytes:
        """The answer's bytes; what can't be written as JSON is our fault, and still gets an answer."""
        try:
            return orjson.dumps(answers)
        except TypeError as error:
            self._log.error("answer_not_json", error=repr(error))
            fault = FrameError(FrameCode.INTERNAL_ERROR, "our answer can't be written as JSON")
            return orjson.dumps(jsonrpc.error_frame(fault, jsonrpc.echoed_id(answers)))

    async def _answer_batch(self, frames: list[Any]) -> list[Any] | None:
        if not 0 < len(frames) <= jsonrpc.MAX_BATCH:
            raise FrameError(
                FrameCode.INVALID_REQUEST,
                f"a batch holds 1 to {jsonrpc.MAX_BATCH} requests, found {len(frames)}",
            )
        answers = await asyncio.gather(*(self._answer_one(frame) for frame in frames))
        return [answer for answer in answers if answer is not None] or None

    async def _answer_one(self, frame: Any) -> dict[str, Any] | None:
        try:
            request = jsonrpc.read_request(frame)
            result = await self._call(request)
        except FrameError as error:
            if isinstance(frame, dict) and "id" not in frame and error.code != FrameCode.INVALID_REQUEST:
                return None
            return jsonrpc.error_frame(error, jsonrpc.echoed_id(frame))
        return None if request.is_notification else jsonrpc.result_frame(result, request.request_id)

    async def _call(self, request: jsonrpc.Request) -> Any:
        tool = self._tools.get(request.method)
        if tool is None:
            raise FrameError(
                FrameCode.METHOD_NOT_FOUND,
                f"no method {request.method[:80]!r} here",
                {"methods": self.methods},
            )
        method, handler = tool
        params = jsonrpc.params_of(request)
        try:
            reply = await handler(self._admit(method, params))
        except Refusal as refusal:
            return self._refuse(refusal, method, params)
        except Exception as error:
            self._log.error("handler_failed", method=method.name, error=repr(error))
            raise FrameError(FrameCode.INTERNAL_ERROR, "an error of ours; it is in our log") from error
        return reply.to_wire() if isinstance(reply, Message) else reply

    def _admit(self, method: Method, params: Mapping[str, Any]) -> Message | Mapping[str, Any]:
        """The message, once envelope, caller and fields are found right, in that order."""
        if method.request is None:
            self._host.authorize(method, None, params)
            return params
        envelope = check_envelope(params, method.request.TYPE)
        self._host.authorize(method, envelope, params)
        return read_fields(method.request, params)

    def _refuse(self, refusal: Refusal, method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
        conversation_id, message_type = params.get("conversation_id"), params.get("message_type")
        if not isinstance(message_type, str):
            message_type = method.request.TYPE if method.request else None
        self._log.warning(
            "message_refused",
            method=method.name,
            sender=shown(params.get("sender")),
            error_code=refusal.code,
            message=refusal.message,
        )
        return write_league_error(
            refusal,
            sender=self._host.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=conversation_id
            if isinstance(conversation_id, str)
            else f"conv-error-{next(self._error_numbers):03}",
            original_message_type=message_type[:80] if message_type else None,
        ).to_wire()
