"""The door to the SDK: it tells MCP requests from bare ones, and loads the SDK when the first MCP request comes.

What is behind it is somebody else's: a factory makes the SDK's server. The SDK costs about a second and 30 MiB, so an
agent that is never asked never pays, and one that is goes on answering bare calls while a thread imports it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from starlette.types import Message, Receive, Scope, Send

from agent_league.log import JsonLogger
from agent_league.protocol.spellings import TOOL_CALL, is_of_mcp
from agent_league.transport.carrier import MAX_BODY
from agent_league.transport.http_connections import Limits
from agent_league.transport.http_guard import TurnedAway
from agent_league.transport.mcp import Agent

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

ServerFactory = Callable[[], "Server[Any]"]
"""Makes the server; called in a thread, since it is what imports the SDK."""

HEADERS = frozenset({b"mcp-protocol-version", b"mcp-session-id", b"mcp-method"})
"""One of them is in every MCP request but the first of a session."""
SHARE = 4
"""One connection in so many may be MCP's: a stream holds its own for as long as it likes, and bare calls need some."""
MOST_SESSIONS = 256
IDLE_SECONDS = 600
"""Of a session without a stream: so long it keeps its place from others."""
LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class _Inside:
    """The SDK's side: `sessions` for whoever shakes hands, `plain` for a request without ado."""

    sessions: "StreamableHTTPSessionManager"
    plain: "StreamableHTTPSessionManager"


class Door:
    """Behind it, the SDK's server of one agent."""

    def __init__(
        self,
        factory: ServerFactory,
        log: JsonLogger | None = None,
        limits: Limits | None = None,
        *,
        tool_calls: bool = False,
    ) -> None:
        """`tool_calls`: whether a `tools/call` without any header of MCP is for the SDK, too."""
        self._factory = factory
        self._log = log
        self._tool_calls = tool_calls
        self._closing = asyncio.Event()
        self._open: Counter[str] = Counter()
        """By address: nobody may have more than half of the places."""
        self._most = (limits or Limits()).connections // SHARE
        self._serving: asyncio.Task[None] | None = None
        self._inside: asyncio.Future[_Inside] | None = None

    def wants(self, body: bytes) -> bool:
        """Whether a body without any header of MCP, about which nobody else knows anything, is for us."""
        return is_mcp(body, tool_calls=self._tool_calls)

    async def pass_unread(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request whose headers say that it is MCP; raises TurnedAway."""
        inside = await self._entered()
        await self._answer(inside.sessions, scope, receive, send)

    async def pass_read(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request whose body has been read; raises TurnedAway. What isn't a handshake needs no session."""
        inside = await self._entered()
        replayed = _Replayed(body, receive)
        if method_of(body) == "initialize":
            await self._answer(inside.sessions, scope, replayed, send)
        else:
            await self._answer(inside.plain, _taking_json(scope), replayed, send)

    async def close(self) -> None:
        """Ends all sessions and streams."""
        self._closing.set()
        if self._serving:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _answer(
        self, manager: "StreamableHTTPSessionManager", scope: Scope, receive: Receive, send: Send
    ) -> None:
        address = (scope.get("client") or ("",))[0]
        if self._open.total() >= self._most or self._open[address] >= self._most // 2:
            raise TurnedAway(503, f"{self._open.total()} MCP requests are open here; come again in a while")
        self._open[address] += 1
        try:
            await manager.handle_request(_trimmed(scope), receive, send)
        finally:
            self._open[address] -= 1
            self._open += Counter()  # forgets those with none

    async def _entered(self) -> _Inside:
        if self._inside is None:
            self._inside = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._inside))
        return await asyncio.shield(self._inside)

    async def _serve(self, inside: "asyncio.Future[_Inside]") -> None:
        """Keeps the SDK's side open: its task group has to be left in the task that entered it."""
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


def agent_door(agent: Agent) -> Door:
    """The door of an agent of ours."""

    def make() -> "Server[Any]":
        from agent_league.transport.mcp.server import agent_server  # noqa: PLC0415 - it imports the SDK

        return agent_server(agent)

    return Door(make, agent.log)


def is_mcp(body: bytes, *, tool_calls: bool = False) -> bool:
    """Whether a body without any header of MCP is a request of MCP all the same.

    A bare `tools/call` is none, unless asked for: agents written from the seeds call so, and get it as they asked.
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
    sessions = StreamableHTTPSessionManager(
        server, max_request_body_size=MAX_BODY, session_idle_timeout=IDLE_SECONDS, max_sessions=MOST_SESSIONS
    )
    plain = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MAX_BODY)
    return sessions, plain


@contextmanager
def _logged(log: JsonLogger | None) -> Iterator[None]:
    """What the SDK has to say goes to an agent's log: without a handler, its warnings go to the terminal."""
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


def _trimmed(scope: Scope) -> Scope:
    """httptools leaves blanks around the values of headers; the SDK compares them."""
    return {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}


def _taking_json(scope: Scope) -> Scope:
    """For somebody who asks without a handshake, such as curl: it takes what comes."""
    headers = [(name, value) for name, value in scope["headers"] if name not in (b"accept", b"content-type")]
    return {**scope, "headers": [*headers, (b"accept", b"application/json"), (b"content-type", b"application/json")]}


class _Replayed:
    """A request's body once more, and after it whatever else comes: a client that goes away among it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
