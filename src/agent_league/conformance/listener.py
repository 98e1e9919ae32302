"""A server of the checker's own: understands any spelling, answers by script, and keeps what it heard."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope, Send

from agent_league.protocol.spellings import METHOD_OF_META, METHOD_OF_NAME, METHOD_OF_TYPE, ONE_METHOD, TOOL_CALL
from agent_league.transport.carrier import MAX_BODY
from agent_league.transport.http_server import HttpServer


@dataclass(frozen=True, slots=True)
class Heard:
    """One call that came in."""

    path: str
    frame: str
    """Where the message was: `params`, `params.message`, `params.arguments` or `the bare body`."""
    named: str
    """The method as it was called; empty in a bare message."""
    method: str
    """The method in the seeds' name, where it is known; else as it was called."""
    message: Mapping[str, Any]
    body: bytes
    bearer: str | None
    at: float


Script = Callable[[Heard], Awaitable[Any]]
"""What a method does: the `result`; Garbage for bytes that are none."""


class Garbage(Exception):
    """Raised by a script to answer with these bytes."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class Listener:
    """A server of the checker's own; what has no script is acknowledged."""

    def __init__(self, port: int = 0, scripts: Mapping[str, Script] | None = None) -> None:
        self.heard: list[Heard] = []
        self.scripts: dict[str, Script] = dict(scripts or {})
        self._waiting: list[asyncio.Future[None]] = []
        self._wanted_port = port
        self._server: HttpServer | None = None

    @property
    def port(self) -> int:
        return self._server.port if self._server else self._wanted_port

    @property
    def endpoint(self) -> str:
        return f"http://localhost:{self.port}/mcp"

    async def start(self) -> None:
        """Binds and serves; a UserError where the port is taken."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await self._serve(scope, receive, send)

        self._server = HttpServer(app, "127.0.0.1", self._wanted_port, "the checker")
        await self._server.start()

    async def stop(self) -> None:
        if self._server:
            await self._server.stop()

    def calls(self, method: str, **fields: Any) -> list[Heard]:
        """All calls of a method whose message has these fields."""
        return [
            heard
            for heard in self.heard
            if heard.method == method and all(heard.message.get(name) == value for name, value in fields.items())
        ]

    async def hears(self, method: str, limit: float, count: int = 1, **fields: Any) -> list[Heard]:
        """Waits until a method was called so often; whatever there is by then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while len(self.calls(method, **fields)) < count:
                    await self._more()
        return self.calls(method, **fields)

    async def hears_any(self, is_it: Callable[[Heard], bool], limit: float) -> Heard | None:
        """Waits for a call that is meant."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while (found := next(filter(is_it, self.heard), None)) is None:
                    await self._more()
                return found
        return None

    async def _more(self) -> None:
        """Waits for the next call."""
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(news)
        await news

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        answer = await self._answer(scope["path"], body, _bearer(scope)) if scope["method"] == "POST" else b"{}"
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200 if answer else 202, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, path: str, body: bytes, bearer: str | None) -> bytes:
        heard = _understood(path, body, bearer)
        if heard is None:
            return _written({"jsonrpc": "2.0", "error": {"code": -32600, "message": "not a request"}, "id": None})
        self.heard.append(heard)
        waiting, self._waiting = self._waiting, []
        for news in waiting:
            if not news.done():
                news.set_result(None)
        try:
            result = await self.scripts.get(heard.method, _acknowledge)(heard)
        except Garbage as garbage:
            return garbage.body
        return _in_shape(heard, result)


def _understood(path: str, body: bytes, bearer: str | None) -> Heard | None:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    named, params = parsed.get("method"), parsed.get("params")
    frame, message, method = "the bare body", parsed, ""
    if isinstance(named, str) and isinstance(params, dict):
        frame, message, method = "params", params, METHOD_OF_NAME.get(named, named)
        if named == ONE_METHOD and isinstance(params.get("message"), dict):
            frame, message, method = "params.message", params["message"], ""
        elif named == TOOL_CALL and isinstance(params.get("arguments"), dict):
            tool = str(params.get("name"))
            frame, message, method = "params.arguments", params["arguments"], METHOD_OF_NAME.get(tool, tool)
    by_meta = next((ours for meta, ours in METHOD_OF_META.items() if meta in message), "")
    method = method or METHOD_OF_TYPE.get(str(message.get("message_type")), "") or by_meta
    at = asyncio.get_running_loop().time()
    return Heard(path, frame, named if isinstance(named, str) else "", method, message, body, bearer, at)


def _in_shape(heard: Heard, result: Any) -> bytes:
    """The answer in the shape in which the question came."""
    if heard.frame == "the bare body":
        return _written(result)
    frame = json.loads(heard.body)
    if "id" not in frame:
        return b""
    if heard.frame == "params.arguments":
        result = {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
    return _written({"jsonrpc": "2.0", "result": result, "id": frame["id"]})


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _acknowledge(_: Heard) -> Any:
    return {"status": "ok"}


def _bearer(scope: Scope) -> str | None:
    value = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return value[7:].decode("latin-1") if value[:7].lower() == b"bearer " else None


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while len(body) <= MAX_BODY:
        event = await receive()
        body += event.get("body", b"")
        if event["type"] == "http.disconnect" or not event.get("more_body", False):
            break
    return bytes(body)
