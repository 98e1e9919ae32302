"""Tells MCP requests from direct calls, and loads the SDK on the first MCP request.

A factory makes the SDK's server. The SDK costs about a second and 30 MiB, so an agent that gets no MCP request never
imports it, and one that does goes on answering direct calls while a thread imports it.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_league.http.call_limits import TokenCheck
from agent_league.http.carrier import MAX_BODY
from agent_league.http.guard import TurnedAway
from agent_league.http.limits import Limits
from agent_league.http.rate_limit import network_of
from agent_league.log import JsonLogger
from agent_league.mcp.server import Agent
from agent_league.mcp.server.frame_log import FrameLog
from agent_league.mcp.server.open_sessions import MOST_OF_ONE_NETWORK, MOST_SESSIONS, OpenSessions
from agent_league.protocol.tolerance import TOOL_CALL, is_of_mcp

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

ServerFactory = Callable[[], "Server[Any]"]
"""Makes the SDK's server; called in a thread, since it imports the SDK."""

SHARE = 4
"""One connection in so many may be MCP's: streams keep theirs open, and direct calls need some."""
SESSION_ID = b"mcp-session-id"
VERSION = b"mcp-protocol-version"
IDLE_SECONDS = 600
"""Seconds until an idle session without a stream is ended."""
LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class _Inside:
    """The SDK's managers: `sessions` for clients with a handshake, `stateless` for single requests."""

    sessions: "StreamableHTTPSessionManager"
    plain: "StreamableHTTPSessionManager"


class Door:
    """The SDK's server of one agent, loaded on the first request."""

    def __init__(
        self,
        factory: ServerFactory,
        log: JsonLogger | None = None,
        limits: Limits | None = None,
        *,
        tool_calls: bool = False,
        frames: FrameLog | None = None,
    ) -> None:
        """`tool_calls`: whether a `tools/call` without MCP headers goes to the SDK, too.

        Every frame is logged to `frames`.
        """
        self._factory = factory
        self._frames = frames
        self._log = log
        self._tool_calls = tool_calls
        self._closing = asyncio.Event()
        self._open: Counter[str] = Counter()
        """Open requests by address; one address may have half of the maximum."""
        self._most = (limits or Limits()).connections // SHARE
        self._sessions = OpenSessions(time.monotonic, IDLE_SECONDS)
        self._serving: asyncio.Task[None] | None = None
        self._inside: asyncio.Future[_Inside] | None = None

    def wants(self, body: bytes) -> bool:
        """Whether a request without MCP headers is an MCP request, by its body."""
        return is_mcp(body, tool_calls=self._tool_calls)

    async def pass_unread(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with MCP headers, body unread; raises RequestRejected."""
        inside = await self._entered()
        await self._answer(partial(self._in_session, inside.sessions), scope, receive, send)

    async def pass_read(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body has been read; raises RequestRejected. Only a handshake opens a session."""
        inside = await self._entered()
        replayed = _Replayed(body, receive)
        if method_of(body) == "initialize":
            await self._answer(partial(self._in_session, inside.sessions), scope, replayed, send)
        else:
            await self._answer(inside.plain.handle_request, _taking_json(scope), replayed, send)

    async def close(self) -> None:
        """Close all sessions and streams."""
        self._closing.set()
        if self._serving:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _in_session(
        self, manager: "StreamableHTTPSessionManager", scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request within a session, or one that opens a session; idle sessions may be ended to make room."""
        fields = dict(scope["headers"])
        if SESSION_ID in fields:
            session_id = fields[SESSION_ID].decode("latin-1")
            with self._sessions.using(session_id):
                await manager.handle_request(scope, receive, send)
            if scope["method"] == "DELETE":
                self._sessions.forget(session_id)
            return
        if scope["method"] != "POST" or not _has_handshake(fields):
            await manager.handle_request(scope, receive, send)
            return
        network = network_of(_address(scope))
        try:
            while ending := self._sessions.find_superfluous(network):
                self._sessions.forget(ending)
                await manager.handle_request(_ending(ending), _no_body, _unheard)
        except LookupError:
            raise TurnedAway(503, "too many MCP sessions are in use; come again in a while") from None

        async def note_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message.get("headers", ()):
                    if name.lower() == SESSION_ID:
                        self._sessions.add(value.decode("latin-1"), network)
            await send(message)

        with self._sessions.opening(network):
            await manager.handle_request(scope, receive, note_session)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        address = _address(scope)
        if self._open.total() >= self._most or self._open[address] >= self._most // 2:
            raise TurnedAway(503, f"{self._open.total()} MCP requests are open here; come again in a while")
        self._open[address] += 1
        scope = _trimmed(scope)
        if self._frames:
            scope, receive, send = self._frames.follow(scope, receive, send)
        try:
            await app(scope, receive, send)
        finally:
            self._open[address] -= 1
            self._open += Counter()  # drops zero counts

    async def _entered(self) -> _Inside:
        if self._inside is None:
            self._inside = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._inside))
        return await asyncio.shield(self._inside)

    async def _serve(self, inside: "asyncio.Future[_Inside]") -> None:
        """Run the SDK's managers until closed: their task group must be left in the task that entered it."""
        try:
            sessions, plain = await asyncio.to_thread(_managers, self._factory)
            with _logged(self._log):
                async with sessions.run(), plain.run():
                    inside.set_result(_Inside(sessions, plain))
                    await self._closing.wait()
        except Exception as error:
            if self._log:
                self._log.error("mcp_failed", error=repr(error))
            self._inside = None  # the next request tries again
            if inside.done():
                raise
            inside.set_exception(TurnedAway(500, "the MCP side could not be loaded; this agent's log says why"))


def agent_door(agent: Agent, has_good_token: TokenCheck | None = None) -> Door:
    """Make the MCP server of an agent; it logs its frames to the agent's message log."""

    def make() -> "Server[Any]":
        from agent_league.mcp.server.server import agent_server  # noqa: PLC0415 - it imports the SDK

        return agent_server(agent)

    return Door(make, agent.log, frames=FrameLog(agent.dispatcher.messages, has_good_token))


def is_mcp(body: bytes, *, tool_calls: bool = False) -> bool:
    """Whether a body that came without MCP headers is an MCP request.

    A direct `tools/call` counts only if `tool_calls` is set: agents written from the seeds use it as a call form.
    """
    method = method_of(body)
    return is_of_mcp(method) or (tool_calls and method == TOOL_CALL)


def method_of(body: bytes) -> str | None:
    with suppress(orjson.JSONDecodeError):
        frame = orjson.loads(body)
        if isinstance(frame, dict) and isinstance(method := frame.get("method"), str):
            return method
    return None


def _managers(factory: ServerFactory) -> "tuple[StreamableHTTPSessionManager, StreamableHTTPSessionManager]":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - the lazy import

    server = factory()
    most = MOST_SESSIONS + MOST_OF_ONE_NETWORK  # above the limit of `OpenSessions`, since some may still be ending
    sessions = StreamableHTTPSessionManager(
        server, max_request_body_size=MAX_BODY, session_idle_timeout=IDLE_SECONDS, max_sessions=most
    )
    plain = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MAX_BODY)
    return sessions, plain


@contextmanager
def _logged(log: JsonLogger | None) -> Iterator[None]:
    """Send the SDK's warnings to the agent's log; without a handler they go to the terminal."""
    logger, handler = logging.getLogger("mcp"), _IntoLog(log) if log else logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _IntoLog(logging.Handler):
    def __init__(self, log: JsonLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning("mcp", message=record.getMessage()[:LONGEST_LINE])


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _has_handshake(fields: dict[bytes, bytes]) -> bool:
    """Whether a request's MCP version has sessions; true if it names no version."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415 - the SDK is loaded by now

    return VERSION not in fields or fields[VERSION].decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _ending(session_id: str) -> Scope:
    """Make the ASGI scope of the DELETE request that ends a session."""
    headers = [(SESSION_ID, session_id.encode("latin-1")), (b"accept", b"application/json")]
    return {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: Message) -> None:
    pass


def _trimmed(scope: Scope) -> Scope:
    """Strip header values: httptools leaves blanks around them, and the SDK compares them."""
    return {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}


def _taking_json(scope: Scope) -> Scope:
    """Replace Accept and Content-Type by JSON, for clients such as curl that send neither correctly."""
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"accept", b"content-type")]
    return {**scope, "headers": [*headers, (b"accept", b"application/json"), (b"content-type", b"application/json")]}


class _Replayed:
    """An ASGI receive that replays a body, then passes on later messages such as a disconnect."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
