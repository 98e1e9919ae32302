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

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> None:
        """Raises a Refusal unless the caller may do this; `bearer` is the token that came beside the message."""
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

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes | None:
        """Answers a frame or a batch of them; None where nothing is to be said (notifications)."""
        try:
            parsed = jsonrpc.parse_body(body)
            answers: list[Any] | dict[str, Any] | None
            if isinstance(parsed, list):
                answers = await self._answer_batch(parsed, bearer)
            else:
                answers = await self._answer_one(parsed, bearer)
        except FrameError as error:
            answers = jsonrpc.error_frame(error, None)
        return None if answers is None else self._encode(answers)

    def turn_away(self, body: bytes, refusal: Refusal) -> bytes | None:
        """Answers every request of a frame with one refusal and does nothing of what they ask for."""
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
        return None if answers is None else self._encode(answers)

    def _turn_one_away(self, frame: Any, refusal: Refusal) -> dict[str, Any] | None:
        try:
            request = jsonrpc.read_request(frame)
        except FrameError as error:
            return jsonrpc.error_frame(error, jsonrpc.echoed_id(frame))
        if request.is_notification:
            return None
        method, _ = self._tools.get(request.method, (None, None))
        params = request.params if isinstance(request.params, dict) else {}
        return jsonrpc.result_frame(self._write_refusal(refusal, method, params), request.request_id)

    def _encode(self, answers: list[Any] | dict[str, Any]) -> bytes:
        """The answer's bytes; what can't be written as JSON is our fault, and still gets an answer."""
        try:
            return orjson.dumps(answers)
        except TypeError as error:
            self._log.error("answer_not_json", error=repr(error))
            fault = FrameError(FrameCode.INTERNAL_ERROR, "our answer can't be written as JSON")
            return orjson.dumps(jsonrpc.error_frame(fault, jsonrpc.echoed_id(answers)))

    async def _answer_batch(self, frames: list[Any], bearer: str | None) -> list[Any] | None:
        _check_batch(frames)
        room = jsonrpc.MAX_BATCH_ANSWER

        async def answer(frame: Any) -> orjson.Fragment | None:
            nonlocal room
            answered = await self._answer_one(frame, bearer) if room > 0 else _no_room(frame)
            if answered is None:
                return None
            encoded = self._encode(answered)
            room -= len(encoded)
            return orjson.Fragment(encoded)

        answers = await asyncio.gather(*map(answer, frames))
        return [answer for answer in answers if answer is not None] or None

    async def _answer_one(self, frame: Any, bearer: str | None) -> dict[str, Any] | None:
        try:
            request = jsonrpc.read_request(frame)
            result = await self._call(request, bearer)
        except FrameError as error:
            if isinstance(frame, dict) and "id" not in frame and error.code != FrameCode.INVALID_REQUEST:
                return None
            return jsonrpc.error_frame(error, jsonrpc.echoed_id(frame))
        return None if request.is_notification else jsonrpc.result_frame(result, request.request_id)

    async def _call(self, request: jsonrpc.Request, bearer: str | None) -> Any:
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
            reply = await handler(await self._admit(method, params, bearer))
        except Refusal as refusal:
            return self._refuse(refusal, method, params)
        except Exception as error:
            self._log.error("handler_failed", method=method.name, error=repr(error))
            raise FrameError(FrameCode.INTERNAL_ERROR, "an error of ours; it is in our log") from error
        return reply.to_wire() if isinstance(reply, Message) else reply

    async def _admit(
        self, method: Method, params: Mapping[str, Any], bearer: str | None
    ) -> Message | Mapping[str, Any]:
        """The message, once envelope, caller and fields are found right, in that order."""
        if method.request is None:
            await self._host.authorize(method, None, params, bearer)
            return params
        envelope = check_envelope(params, method.request.TYPE)
        await self._host.authorize(method, envelope, params, bearer)
        return read_fields(method.request, params)

    def _refuse(self, refusal: Refusal, method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
        self._log.warning(
            "message_refused",
            method=method.name,
            sender=shown(params.get("sender")),
            error_code=refusal.code,
            message=refusal.message,
        )
        return self._write_refusal(refusal, method, params)

    def _write_refusal(self, refusal: Refusal, method: Method | None, params: Mapping[str, Any]) -> dict[str, Any]:
        conversation_id, message_type = params.get("conversation_id"), params.get("message_type")
        if not isinstance(message_type, str):
            message_type = method.request.TYPE if method and method.request else None
        return write_league_error(
            refusal,
            sender=self._host.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=conversation_id
            if isinstance(conversation_id, str)
            else f"conv-error-{next(self._error_numbers):03}",
            original_message_type=message_type[:80] if message_type else None,
        ).to_wire()


def _check_batch(frames: list[Any]) -> None:
    if not 0 < len(frames) <= jsonrpc.MAX_BATCH:
        raise FrameError(
            FrameCode.INVALID_REQUEST,
            f"a batch holds 1 to {jsonrpc.MAX_BATCH} requests, found {len(frames)}",
        )


def _no_room(frame: Any) -> dict[str, Any] | None:
    if isinstance(frame, dict) and "id" not in frame:
        return None
    sentence = f"the answers before this one fill {jsonrpc.MAX_BATCH_ANSWER} bytes; nothing was done, ask again"
    return jsonrpc.error_frame(FrameError(FrameCode.INVALID_REQUEST, sentence), jsonrpc.echoed_id(frame))
