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

from agent_league.agent.answer_pages import has_envelope
from agent_league.agent.runtime import Agent
from agent_league.http.call_limits import TokenCheck, caller_network
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.limits import ConnectionLimits
from agent_league.log import JsonLogger
from agent_league.mcp.server.frame_log import FrameLog
from agent_league.mcp.server.open_sessions import (
    MAX_SESSIONS,
    MAX_SESSIONS_PER_NETWORK,
    OPEN_SESSIONS_KEY,
    OpenSessions,
)
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tolerance import TOOL_CALL, is_mcp_method
from agent_league.text import MAX_SENTENCE, shorten

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

ServerFactory = Callable[[], "Server[Any]"]
"""Makes the SDK's server; called in a thread, since it imports the SDK."""

MCP_SHARE = 4
"""One connection in so many may be MCP's: streams keep theirs open, and direct calls need some."""
SESSION_ID_HEADER = b"mcp-session-id"
VERSION_HEADER = b"mcp-protocol-version"
IDLE_SECONDS = 600
"""Seconds until an idle session without a stream is ended."""


@dataclass(frozen=True, slots=True)
class _SdkManagers:
    """The SDK's managers: `sessions` for clients with a handshake, `stateless` for single requests."""

    sessions: "StreamableHTTPSessionManager"
    stateless: "StreamableHTTPSessionManager"


class LazyMcpServer:
    """The SDK's server of one agent, loaded on the first request."""

    def __init__(
        self,
        factory: ServerFactory,
        log: JsonLogger | None = None,
        limits: ConnectionLimits | None = None,
        *,
        tool_calls: bool = False,
        frames: FrameLog | None = None,
    ) -> None:
        """`tool_calls`: whether a `tools/call` without MCP headers that nobody else answers goes to the SDK.

        Every frame is logged to `frames`.
        """
        self._factory = factory
        self._frames = frames
        self._log = log
        self._tool_calls = tool_calls
        self._closing = asyncio.Event()
        self._open_requests: Counter[str] = Counter()
        """Open requests by address; one address may have half of the maximum."""
        self._max_open = (limits or ConnectionLimits()).max_connections // MCP_SHARE
        self._sessions = OpenSessions(time.monotonic, IDLE_SECONDS)
        self._managers_task: asyncio.Task[None] | None = None
        self._managers: asyncio.Future[_SdkManagers] | None = None

    def is_mcp_body(self, body: bytes) -> bool:
        """Whether a request without MCP headers is an MCP request, by its body."""
        return is_mcp_request(body, tool_calls=self._tool_calls)

    async def handle_unread(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with MCP headers, body unread; raises RequestRejected."""
        inside = await self._load_sdk()
        fields = dict(scope["headers"])
        if _wants_plain_json(scope):
            await self._handle_counted(inside.stateless.handle_request, _accept_json(scope), receive, send)
        elif _has_sessions(fields) and _may_get_json(scope):
            await self.handle_read(await _read_body(receive), scope, receive, send)
        else:
            await self._handle_counted(partial(self._handle_session_request, inside.sessions), scope, receive, send)

    async def handle_read(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body has been read; raises RequestRejected.

        Only a handshake opens a session, and only for a client that reads streams of events.
        """
        inside = await self._load_sdk()
        replayed = _replay_body(body, receive)
        if parse_method(body) == "initialize" and not _wants_plain_json(scope):
            await self._handle_counted(partial(self._handle_session_request, inside.sessions), scope, replayed, send)
        else:
            await self._handle_counted(inside.stateless.handle_request, _accept_json(scope), replayed, send)

    async def load(self) -> None:
        """Load the SDK now instead of on the first request; raises RequestRejected."""
        await self._load_sdk()

    async def close(self) -> None:
        """Close all sessions and streams."""
        self._closing.set()
        if self._managers_task:
            await asyncio.gather(self._managers_task, return_exceptions=True)

    async def _handle_session_request(
        self, manager: "StreamableHTTPSessionManager", scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request within a session, or one that opens a session; idle sessions may be ended to make room."""
        fields = dict(scope["headers"])
        if SESSION_ID_HEADER in fields:
            session_id = fields[SESSION_ID_HEADER].decode("latin-1")
            with self._sessions.mark_used(session_id):
                await manager.handle_request(scope, receive, send)
            if scope["method"] == "DELETE":
                self._sessions.forget_session(session_id)
            return
        if scope["method"] != "POST" or not _has_sessions(fields):
            await manager.handle_request(scope, receive, send)
            return
        network = caller_network(_client_address(scope))
        try:
            while ending := self._sessions.find_session_to_end(network):
                self._sessions.forget_session(ending)
                await manager.handle_request(_make_delete_scope(ending), _receive_empty_body, _discard_message)
        except LookupError:
            raise RequestRejected(503, "too many MCP sessions are in use; come again in a while") from None

        async def note_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message.get("headers", ()):
                    if name.lower() == SESSION_ID_HEADER:
                        self._sessions.add_session(value.decode("latin-1"), network)
            await send(message)

        with self._sessions.count_opening(network):
            await manager.handle_request(scope, receive, note_session)

    async def _handle_counted(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        address = _client_address(scope)
        if self._open_requests.total() >= self._max_open or self._open_requests[address] >= self._max_open // 2:
            raise RequestRejected(
                503, f"{self._open_requests.total()} MCP requests are open here; come again in a while"
            )
        self._open_requests[address] += 1
        scope = {**_strip_header_values(scope), OPEN_SESSIONS_KEY: self._sessions}
        if self._frames:
            scope, receive, send = self._frames.wrap_request(scope, receive, send)
        try:
            await app(scope, receive, send)
        finally:
            self._open_requests[address] -= 1
            self._open_requests += Counter()  # drops zero counts

    async def _load_sdk(self) -> _SdkManagers:
        if self._managers is None:
            self._managers = asyncio.get_running_loop().create_future()
            self._managers_task = asyncio.create_task(self._run_managers(self._managers))
        return await asyncio.shield(self._managers)

    async def _run_managers(self, inside: "asyncio.Future[_SdkManagers]") -> None:
        """Run the SDK's managers until closed: their task group must be left in the task that entered it."""
        try:
            sessions, plain = await asyncio.to_thread(_make_managers, self._factory)
            with _redirect_sdk_log(self._log):
                async with sessions.run(), plain.run():
                    inside.set_result(_SdkManagers(sessions, plain))
                    await self._closing.wait()
        except Exception as error:
            if self._log:
                self._log.error("mcp_failed", error=repr(error))
            self._managers = None  # the next request tries again
            if inside.done():
                raise
            inside.set_exception(RequestRejected(500, "the MCP side could not be loaded; this agent's log says why"))


def make_lazy_mcp_server(agent: Agent, has_good_token: TokenCheck | None = None) -> LazyMcpServer:
    """Make the MCP server of an agent; it logs its frames to the agent's message log."""

    def make() -> "Server[Any]":
        from agent_league.mcp.server.server import make_mcp_server  # noqa: PLC0415 - it imports the SDK

        return make_mcp_server(agent)

    return LazyMcpServer(
        make,
        agent.log,
        tool_calls=agent.dispatcher.is_strict,  # else the dispatcher answers them
        frames=FrameLog(agent.dispatcher.message_log, has_good_token),
    )


def is_mcp_request(body: bytes, *, tool_calls: bool = False) -> bool:
    """Whether a body that came without MCP headers is an MCP request.

    A direct `tools/call` counts only if `tool_calls` is set, and not with a message of the league: agents written from
    the seeds use it as a call form.
    """
    method = parse_method(body)
    return is_mcp_method(method) or (tool_calls and method == TOOL_CALL and not _is_league_message(body))


def _is_league_message(body: bytes) -> bool:
    """Whether the arguments of a tool call are a message of the league."""
    params = orjson.loads(body).get("params")
    name, arguments = (params.get("name"), params.get("arguments")) if isinstance(params, dict) else (None, None)
    method = METHODS.get(name) if isinstance(name, str) else None
    return method is not None and isinstance(arguments, dict) and has_envelope(method, arguments)


def parse_method(body: bytes) -> str | None:
    with suppress(orjson.JSONDecodeError):
        frame = orjson.loads(body)
        if isinstance(frame, dict) and isinstance(method := frame.get("method"), str):
            return method
    return None


def _make_managers(factory: ServerFactory) -> "tuple[StreamableHTTPSessionManager, StreamableHTTPSessionManager]":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - the lazy import

    server = factory()
    most = MAX_SESSIONS + MAX_SESSIONS_PER_NETWORK  # above the limit of `OpenSessions`, since some may still be ending
    sessions = StreamableHTTPSessionManager(
        server, max_request_body_size=MAX_BODY, session_idle_timeout=IDLE_SECONDS, max_sessions=most
    )
    plain = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MAX_BODY)
    return sessions, plain


@contextmanager
def _redirect_sdk_log(log: JsonLogger | None) -> Iterator[None]:
    """Send the SDK's warnings to the agent's log; without a handler they go to the terminal."""
    logger, handler = logging.getLogger("mcp"), _SdkLogHandler(log) if log else logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _SdkLogHandler(logging.Handler):
    def __init__(self, log: JsonLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning("mcp", message=shorten(record.getMessage(), MAX_SENTENCE))


def _client_address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _has_sessions(fields: dict[bytes, bytes]) -> bool:
    """Whether a request's MCP version has sessions; true if it names no version."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415 - the SDK is loaded by now

    return VERSION_HEADER not in fields or fields[VERSION_HEADER].decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _make_delete_scope(session_id: str) -> Scope:
    """Make the ASGI scope of the DELETE request that ends a session."""
    headers = [(SESSION_ID_HEADER, session_id.encode("latin-1")), (b"accept", b"application/json")]
    return {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}


async def _receive_empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_message(_: Message) -> None:
    pass


def _strip_header_values(scope: Scope) -> Scope:
    """Strip header values: httptools leaves blanks around them, and the SDK compares them."""
    return {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}


def _wants_plain_json(scope: Scope) -> bool:
    """Whether a POST outside any session accepts JSON and no streams, as simple clients do, or names nothing."""
    accepted = dict(scope["headers"]).get(b"accept", b"application/json").lower()
    return _may_get_json(scope) and b"application/json" in accepted and b"text/event-stream" not in accepted


def _may_get_json(scope: Scope) -> bool:
    """Whether a request is a POST outside any session that accepts JSON, maybe among others."""
    fields = dict(scope["headers"])
    accepted = fields.get(b"accept", b"*/*").lower()
    is_single = scope["method"] == "POST" and SESSION_ID_HEADER not in fields
    return is_single and (b"application/json" in accepted or b"*/*" in accepted)


def _accept_json(scope: Scope) -> Scope:
    """Replace Accept and Content-Type by JSON, for clients such as curl that send neither correctly."""
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"accept", b"content-type")]
    return {**scope, "headers": [*headers, (b"accept", b"application/json"), (b"content-type", b"application/json")]}


async def _read_body(receive: Receive) -> bytes:
    """Read a body up to a little more than the SDK takes, which refuses it then."""
    body, more = bytearray(), True
    while more and len(body) <= MAX_BODY:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI receive that replays a body, then passes on later messages such as a disconnect."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return read.pop() if read else await receive()

    return replay
