"""A lasting session with one MCP server: handshake, heartbeat, reconnecting, tool list and notifications.

It runs in its own task, since the SDK's cancel scopes must be left in the task that entered them. Doesn't know what the
tools are for, nor that there are other servers.
"""

import asyncio
import itertools
import logging
import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CallToolResult, Implementation, ServerNotification, Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agent_league.agent.breaker import reconnect_delay
from agent_league.config import McpServer
from agent_league.http.bounded_response import UNCOMPRESSED, limit_response_size
from agent_league.log import JsonLogger
from agent_league.mcp.client.calls import MessagePriority, MessageQueue, QueueFull, Sleep, ToolCalls
from agent_league.mcp.client.failures import (
    FailureKind,
    ToolFailed,
    classify_error,
    describe_error,
    is_session_forgotten,
)
from agent_league.version import __version__

MAX_MISSED_HEARTBEATS = 2
"""Unanswered heartbeats until the session counts as lost; a server may miss one while it computes."""
MAX_TOOLS = 512
MAX_PAGES = 64
CLOSE_SECONDS = 3.0
"""Time for an orderly close; after it the SDK ends a command that hasn't ended by itself."""
CLIENT_INFO = Implementation(name="agent-league", version=__version__)
TIMEOUT = httpx2.Timeout(10, read=300)
"""The read timeout is long, since a stream may be silent; each call has its own limit."""
CLOSE_TIMEOUT = httpx2.Timeout(1)
LIMITS = httpx2.Limits(keepalive_expiry=4)
"""Less than the 5 s after which common servers close an idle connection."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Streams are exempt: the SDK limits each of their messages."""
FINAL_STATUSES = frozenset({401, 403, 407, 408, 425, 429, 502, 503, 504})
"""Statuses that the SDK's client would not report."""


class SessionState(StrEnum):
    """The state of a session."""

    CONNECTING = "connecting"
    READY = "ready"
    LOST = "lost"
    """Disconnected; reconnects after a delay."""
    CLOSED = "closed"
    """Closed by us, or refused permanently by the server."""


@dataclass(frozen=True, slots=True)
class SessionTiming:
    """Timeouts in seconds, and queue sizes, of a session."""

    heartbeat_seconds: float = 10.0
    heartbeat_timeout: float = 5.0
    connect_timeout: float = 15.0
    max_concurrent_calls: int = 4
    max_waiting_calls: int = 64
    max_waiting_notices: int = 64


class SessionManager:
    """Keeps a session with a server open, and makes tool calls in it."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        *,
        timing: SessionTiming | None = None,
        rng: Random | None = None,
        sleep: Sleep = asyncio.sleep,
        log: JsonLogger | None = None,
    ) -> None:
        self.name = name
        self.state = SessionState.CONNECTING
        self.tools: Mapping[str, Tool] = {}
        """The server's tools, as last listed."""
        self.problem = "no connection yet"
        self.failure_kind = FailureKind.TRANSIENT
        self.first_attempt_done = asyncio.Event()
        """Set after the first attempt to connect, successful or not."""
        self._server = server
        self._timing = timing or SessionTiming()
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._sleep = sleep
        self._log = log
        self._calls = ToolCalls(name, self, self._timing.max_waiting_calls, self._rng, sleep)
        self._notices = MessageQueue[ServerNotification](self._timing.max_waiting_notices)
        self._client: Client | None = None
        self._settled = asyncio.Event()
        """Set while ready and not in doubt, and once closed."""
        self._in_doubt = asyncio.Event()
        """Set after a failed call: the server must be probed now."""
        self._failures = 0
        self._was_ready = False
        self._closing = False
        self._run_scope: anyio.CancelScope | None = None
        self._session_scope: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start connecting, and retry until closed; does nothing if already started."""
        if self._task is None and not self._closing:
            self._run_scope = anyio.CancelScope()
            self._task = asyncio.create_task(self._run(self._run_scope), name=f"mcp-{self.name}")

    async def close(self) -> None:
        """Close the session, and fail all waiting calls."""
        self._closing = True
        self._end_session("closed")
        if self._task is None or self._run_scope is None:
            return
        (self._session_scope or self._run_scope).cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
        self._run_scope.cancel()
        await self._task

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        limit: float,
        priority: MessagePriority = MessagePriority.NORMAL,
    ) -> CallToolResult:
        """Call a tool within `limit` seconds, waiting included; raises ToolFailed.

        After a lost connection, a call is repeated only if the tool declares itself read-only or idempotent.
        """
        if self.state is SessionState.CLOSED:
            raise self._make_failure(tool, self.failure_kind, self.problem)
        try:
            return await self._calls.make_call(tool, arguments, limit, priority)
        except TimeoutError:
            if self._client is None:
                raise self._make_failure(
                    tool, FailureKind.TRANSIENT, f"away for all of {limit:g} s: {self.problem}"
                ) from None
            raise self._make_failure(tool, FailureKind.TIMEOUT, f"no answer within {limit:g} s") from None

    async def wait_for_client(self) -> Client | None:
        """Wait until connected and not in doubt, and return the client; None once closed."""
        while True:
            await self._settled.wait()
            if self.state is SessionState.CLOSED:
                return None
            if self._client is not None and self._settled.is_set():
                return self._client
            self._settled.clear()  # it was set for a client that has gone since

    def suspect_connection(self) -> None:
        """Hold back calls until a probe succeeds or the session has reconnected."""
        if self._client is not None:
            self._settled.clear()
            self._in_doubt.set()

    def is_repeatable(self, tool: str) -> bool:
        """Whether the tool declares itself read-only or idempotent."""
        hints = self.tools[tool].annotations if tool in self.tools else None
        return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)

    async def _run(self, scope: anyio.CancelScope) -> None:
        try:
            with scope, _silence_sdk_log():
                async with anyio.create_task_group() as workers:
                    for _ in range(self._timing.max_concurrent_calls):
                        workers.start_soon(self._calls.run_worker)
                    await self._stay_connected()
                    workers.cancel_scope.cancel()
        finally:
            self._end_session("closed" if self._closing else self.problem)

    async def _stay_connected(self) -> None:
        while not self._closing:
            self.state = SessionState.CONNECTING
            try:
                await self._run_session()
            except Exception as error:  # noqa: BLE001 - here a session ends, whatever ended it
                self.problem, self.failure_kind = describe_error(error), classify_error(error)
                if self.failure_kind is FailureKind.PERMANENT and not self._was_ready:
                    return
            if self._closing:
                return
            if self.state is SessionState.LOST or not self._failures:
                self._log_event("MCP_SESSION_LOST", problem=self.problem, fault=self.failure_kind)
            self.state = SessionState.LOST
            self.first_attempt_done.set()
            self._failures += 1
            await self._sleep(reconnect_delay(self._failures, self._rng))

    async def _run_session(self) -> None:
        """Run one session, from its handshake until it is closed; raises if it is lost."""
        with anyio.fail_after(self._timing.connect_timeout) as scope:
            async with open_client(self._server, self._queue_notice) as client:
                await self._refresh_tools(client)
                scope.deadline = math.inf
                try:
                    await self._run_connected(client)
                finally:
                    self._client = self._session_scope = None
                    self._settled.clear()
                    self.state = SessionState.CLOSED if self._closing else SessionState.LOST

    async def _run_connected(self, client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            self._session_scope = tasks.cancel_scope
            self._client = client
            self._was_ready = True
            self.state = SessionState.READY
            self._in_doubt.clear()
            self.first_attempt_done.set()
            self._settled.set()
            self._log_event("MCP_SESSION_READY", revision=client.protocol_version, tools=len(self.tools))
            for keep in (self._send_heartbeats, self._probe_on_doubt, self._read_notices, self._listen_for_changes):
                tasks.start_soon(keep, client)

    async def _send_heartbeats(self, client: Client) -> None:
        missed = 0
        while True:
            await self._sleep(self._timing.heartbeat_seconds)
            try:
                await self._probe_server(client)
            except (TimeoutError, MCPError) as error:
                missed += 1
                if classify_error(error) is not FailureKind.TIMEOUT or missed >= MAX_MISSED_HEARTBEATS:
                    raise
            else:
                missed = 0

    async def _probe_on_doubt(self, client: Client) -> None:
        while True:
            await self._in_doubt.wait()
            self._in_doubt.clear()
            await self._probe_server(client)
            self._settled.set()

    async def _probe_server(self, client: Client) -> None:
        """Check that the server answers: with a ping, or with discover in the newer revision, which has no ping."""
        with anyio.fail_after(self._timing.heartbeat_timeout):
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                await client.session.send_discover(client.protocol_version)
            else:
                await client.session.send_ping()
        self._failures = 0

    async def _queue_notice(self, message: IncomingMessage) -> None:
        """Queue a notification unless it waits already; if full, drop it, tool list changes last."""
        if isinstance(message, Exception) or message in self._notices:
            return
        urgent = isinstance(message, ToolListChangedNotification)
        with suppress(QueueFull):
            self._notices.put(message, MessagePriority.NORMAL if urgent else MessagePriority.BACKGROUND)

    async def _read_notices(self, client: Client) -> None:
        while True:
            message = await self._notices.get()
            if self._log is not None:
                self._log.debug("MCP_NOTICE", server=self.name, method=message.method)
            if isinstance(message, ToolListChangedNotification):
                await self._refresh_tools(client)

    async def _listen_for_changes(self, client: Client) -> None:
        """Subscribe to tool list changes (newer revision), and queue them like notifications of the older one."""
        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        for ended in itertools.count():
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    await self._queue_notice(ToolListChangedNotification())  # what changed before we listened
                    async for _ in changes:
                        pass
            except (ListenNotSupportedError, MCPError, SubscriptionLost) as error:
                if classify_error(error) is FailureKind.PERMANENT:
                    return
                self.suspect_connection()
            await self._sleep(reconnect_delay(ended, self._rng))

    async def _refresh_tools(self, client: Client) -> None:
        found: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES if client.server_capabilities.tools else 0):
            page = await client.list_tools(cursor=cursor)
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_TOOLS:
                break
        self.tools = {name: found[name] for name in sorted(found)[:MAX_TOOLS]}

    def _end_session(self, problem: str) -> None:
        closed, self.state = self.state, SessionState.CLOSED
        self._settled.set()
        self.first_attempt_done.set()
        if closed is not SessionState.CLOSED:
            self.problem, self.failure_kind = problem, FailureKind.PERMANENT
            self._log_event("MCP_SESSION_CLOSED", problem=problem)
            self._calls.fail_all_calls(problem)

    def _make_failure(self, tool: str, fault: FailureKind, problem: str) -> ToolFailed:
        return ToolFailed(self.name, tool, fault, problem)

    def _log_event(self, event: str, **details: Any) -> None:
        if self._log is not None:
            self._log.info(event, server=self.name, **details)


@asynccontextmanager
async def open_client(server: McpServer, handler: MessageHandlerFnT) -> AsyncIterator[Client]:
    """Open a client and complete its handshake, in either revision of MCP. Enter and leave it in one task."""
    async with AsyncExitStack() as stack:
        if server.url:
            http = await stack.enter_async_context(_make_http_client(server))
            transport = streamable_http_client(server.url, http_client=http)
        else:
            command, *args = server.command
            transport = stdio_client(StdioServerParameters(command=command, args=args, env=server.env), sys.stderr)
        client = Client(transport, message_handler=handler, client_info=CLIENT_INFO, cache=None)
        await stack.enter_async_context(client)
        client.session.validate_tool_result = _skip_validation  # type: ignore[assignment,method-assign]
        yield client


async def _skip_validation(_tool: str, _result: CallToolResult) -> None:
    """Accept any tool result: to validate it, the SDK would run regular expressions of the server's schema."""


def _make_http_client(server: McpServer) -> httpx2.AsyncClient:
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [_shorten_close_timeout],
        "response": [_raise_final_status, limit_response_size(MAX_ANSWER_BYTES, unless_type="text/event-stream")],
    }
    headers = {"accept-encoding": UNCOMPRESSED, **server.headers}
    return httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, limits=LIMITS, event_hooks=hooks)


async def _shorten_close_timeout(request: httpx2.Request) -> None:
    """Shorten the timeout of the closing DELETE, so that a hung server doesn't delay us."""
    if request.method == "DELETE":
        request.extensions["timeout"] = CLOSE_TIMEOUT.as_dict()


async def _raise_final_status(response: httpx2.Response) -> None:
    """Raise for statuses that the SDK's client would hide, which ends the session."""
    if response.status_code in FINAL_STATUSES or is_session_forgotten(response):
        what = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
        raise httpx2.HTTPStatusError(what, request=response.request, response=response)


@contextmanager
def _silence_sdk_log() -> Iterator[None]:
    """Keep the SDK's log messages from the terminal, where they go if there is no handler."""
    sdk, nobody = logging.getLogger("mcp"), logging.NullHandler()
    sdk.addHandler(nobody)
    try:
        yield
    finally:
        sdk.removeHandler(nobody)
