"""HTTP server of the checker: accepts every call form, answers by script and records the calls."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

from agent_league.agent import jsonrpc
from agent_league.agent.app import AgentApp
from agent_league.agent.request_parsing import FLAT_BODY, CallParser
from agent_league.errors import JsonRpcError
from agent_league.http.header_check import HeaderCheck
from agent_league.http.server import HttpServer
from agent_league.mcp.server.lazy_server import LazyMcpServer
from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tolerance import METHOD_OF_TYPE, REGISTER_PATH, MessageFrame
from agent_league.testing.peers import RawReply


@dataclass(frozen=True, slots=True)
class IncomingCall:
    """One call that a listener received."""

    path: str
    frame: MessageFrame
    called_method: str
    """The method as it was called; empty in a bare message."""
    method: str
    """The method by the protocol's own name."""
    message: Mapping[str, Any]
    """The message as it came, before deviations are normalised."""
    body: bytes
    call_form: str = "seeds"
    """Name of the call form in which this caller wants to be called."""
    bearer: str | None = None
    """The token from the header `Authorization`."""


MethodScript = Callable[[IncomingCall], Awaitable[Any]]
"""Handles a call of one method and returns the `result`; raises RawReply to send other bytes."""


class Listener:
    """A scripted HTTP server that records its calls; methods without a script are acknowledged."""

    def __init__(self, role: Role, port: int = 0, scripts: Mapping[str, MethodScript] | None = None) -> None:
        self.received_calls: list[IncomingCall] = []
        self.last_frame_error = ""
        """Why the last invalid call was no JSON-RPC call."""
        self.scripts: dict[str, MethodScript] = dict(scripts or {})
        self._role = role
        self._request_parser = CallParser(role, METHODS)
        self._header_check = HeaderCheck()
        self._waiters: list[asyncio.Future[None]] = []
        self._wanted_port = port
        self._mcp_door = LazyMcpServer(self._create_mcp_server)
        self._server: HttpServer | None = None

    @property
    def port(self) -> int:
        return self._server.port if self._server else self._wanted_port

    @property
    def endpoint(self) -> str:
        return f"http://localhost:{self.port}/mcp"

    async def start(self) -> None:
        """Bind the port and serve; raise UserError if the port is taken."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await self._serve_request(scope, receive, send)

        self._server = HttpServer(app, "127.0.0.1", self._wanted_port, "the checker")
        await self._server.start()

    async def stop(self) -> None:
        """Stop serving; may be called again."""
        server, self._server = self._server, None
        await self._mcp_door.close()
        if server:
            await server.stop()

    def find_calls(self, method: str, **fields: Any) -> list[IncomingCall]:
        """Return the received calls of a method whose message has these fields."""
        return [
            call
            for call in self.received_calls
            if call.method == method and all(call.message.get(name) == value for name, value in fields.items())
        ]

    async def wait_for_calls(self, method: str, limit: float, count: int = 1, **fields: Any) -> list[IncomingCall]:
        """Wait until a method was called `count` times; after `limit` seconds return the calls received by then."""
        await self.wait_until(lambda: len(self.find_calls(method, **fields)) >= count, limit)
        return self.find_calls(method, **fields)

    async def wait_until(self, is_so: Callable[[], Any], limit: float) -> None:
        """Wait at most `limit` seconds until a condition holds; it is tested again after each received call."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not is_so():
                    news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(news)
                    await news

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request on any path: each request gets an app with its own path as route."""
        path = scope["path"]
        answers = {} if path in ("/health", "/mcp") else {path: partial(self._answer_request, path)}
        app = AgentApp(
            partial(self._answer_request, "/mcp"),
            self._get_health,
            self._header_check,
            other_paths=answers,
            mcp=self._mcp_door,
        )
        await app(scope, receive, send)

    def _create_mcp_server(self) -> Any:
        from agent_league.check.mcp_listener import create_mcp_server  # noqa: PLC0415 - it imports the SDK

        return create_mcp_server(lambda body: self._answer_request("/mcp", body, None))

    def _get_health(self) -> Mapping[str, Any]:
        return {"status": "ok", "role": self._role}

    async def _answer_request(self, path: str, body: bytes, bearer: str | None) -> bytes | None:
        parsed = None
        try:
            parsed = jsonrpc.parse_body(body)
            where = path if path == REGISTER_PATH else None
            asked = self._request_parser.parse_frame(parsed, where)
        except JsonRpcError as error:
            self.last_frame_error = error.message
            return orjson.dumps(jsonrpc.build_error_frame(error, jsonrpc.find_request_id(parsed)))
        message = (
            asked.params if FLAT_BODY in asked.protocol_profile.deviations else _extract_message(parsed, asked.frame)
        )
        method = asked.method or METHOD_OF_TYPE.get(str(message.get("message_type")), "")
        named = str(parsed.get("method") or "")
        call = IncomingCall(path, asked.frame, named, method, message, body, asked.protocol_profile.call_form, bearer)
        self.received_calls.append(call)
        self._wake_waiters()
        try:
            result = await self.scripts.get(call.method, _acknowledge_call)(call)
        except RawReply as garbage:
            return garbage.body
        finally:
            self._wake_waiters()
        return None if asked.is_notification else orjson.dumps(asked.build_answer(result))

    def _wake_waiters(self) -> None:
        waiting, self._waiters = self._waiters, []
        for news in waiting:
            if not news.done():
                news.set_result(None)


def _extract_message(body: Mapping[str, Any], frame: MessageFrame) -> Mapping[str, Any]:
    """Extract the message from a parsed body, unchanged."""
    found: Any = body if frame is MessageFrame.BARE else body.get("params") or {}
    if frame is MessageFrame.ARGUMENTS:
        found = found.get("arguments") or {}
    inner = found.get("message") if frame in (MessageFrame.MESSAGE, MessageFrame.ARGUMENTS) else None
    return inner if isinstance(inner, dict) and "message_type" not in found else found


async def _acknowledge_call(_: IncomingCall) -> Any:
    return {"status": "ok"}
