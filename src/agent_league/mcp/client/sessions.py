"""A lasting session with one MCP server: handshake, heartbeat, reconnecting, tool list and notifications.

It runs in its own task, since the SDK's cancel scopes must be left in the task that entered them. Doesn't know what the
tools are for, nor that there are other servers.
"""

import asyncio
import itertools
import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CallToolResult, ServerNotification, Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agent_league.agent.retry import reconnect_delay
from agent_league.config import McpServer
from agent_league.log import JsonLogger
from agent_league.mcp.client.calls import Calls, Sleep
from agent_league.mcp.client.failures import Fault, ToolFailed, described, sorted_fault
from agent_league.mcp.client.queue import MessageQueue, Overflow, Priority
from agent_league.mcp.client.servers import connected

MISSES = 2
"""Unanswered heartbeats until the session counts as lost; a server may miss one while it computes."""
MAX_TOOLS = 512
MAX_PAGES = 64
CLOSE_SECONDS = 3.0
"""Time for an orderly close; after it the SDK ends a command that hasn't ended by itself."""


class State(StrEnum):
    """The state of a session."""

    CONNECTING = "connecting"
    READY = "ready"
    LOST = "lost"
    """Disconnected; reconnects after a delay."""
    CLOSED = "closed"
    """Closed by us, or refused permanently by the server."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Timeouts in seconds, and queue sizes, of a session."""

    heartbeat: float = 10.0
    beat_limit: float = 5.0
    connect_limit: float = 15.0
    calls_at_once: int = 4
    calls_waiting: int = 64
    notices_waiting: int = 64


class SessionManager:
    """Keeps a session with a server open, and makes tool calls in it."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        *,
        pace: Pace | None = None,
        rng: Random | None = None,
        sleep: Sleep = asyncio.sleep,
        log: JsonLogger | None = None,
    ) -> None:
        self.name = name
        self.state = State.CONNECTING
        self.tools: Mapping[str, Tool] = {}
        """The server's tools, as last listed."""
        self.problem = "no connection yet"
        self.fault = Fault.TRANSIENT
        self.tried = asyncio.Event()
        """Set after the first attempt to connect, successful or not."""
        self._server = server
        self._pace = pace or Pace()
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._sleep = sleep
        self._log = log
        self._calls = Calls(name, self, self._pace.calls_waiting, self._rng, sleep)
        self._notices = MessageQueue[ServerNotification](self._pace.notices_waiting)
        self._client: Client | None = None
        self._settled = asyncio.Event()
        """Set while ready and not in doubt, and once closed."""
        self._doubt = asyncio.Event()
        """Set after a failed call: the server must be probed now."""
        self._failures = 0
        self._was_ready = False
        self._closing = False
        self._scope: anyio.CancelScope | None = None
        self._tending: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start connecting, and retry until closed; does nothing if already started."""
        if self._task is None and not self._closing:
            self._scope = anyio.CancelScope()
            self._task = asyncio.create_task(self._live(self._scope), name=f"mcp-{self.name}")

    async def close(self) -> None:
        """Close the session, and fail all waiting calls."""
        self._closing = True
        self._end("closed")
        if self._task is None or self._scope is None:
            return
        (self._tending or self._scope).cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
        self._scope.cancel()
        await self._task

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, limit: float, priority: Priority = Priority.NORMAL
    ) -> CallToolResult:
        """Call a tool within `limit` seconds, waiting included; raises ToolFailed.

        After a lost connection, a call is repeated only if the tool declares itself read-only or idempotent.
        """
        if self.state is State.CLOSED:
            raise self._failed(tool, self.fault, self.problem)
        try:
            return await self._calls.make(tool, arguments, limit, priority)
        except TimeoutError:
            if self._client is None:
                raise self._failed(tool, Fault.TRANSIENT, f"away for all of {limit:g} s: {self.problem}") from None
            raise self._failed(tool, Fault.TIMEOUT, f"no answer within {limit:g} s") from None

    async def client(self) -> Client | None:
        """Wait until connected and not in doubt, and return the client; None once closed."""
        while True:
            await self._settled.wait()
            if self.state is State.CLOSED:
                return None
            if self._client is not None and self._settled.is_set():
                return self._client
            self._settled.clear()  # it was set for a client that has gone since

    def suspect(self) -> None:
        """Hold back calls until a probe succeeds or the session has reconnected."""
        if self._client is not None:
            self._settled.clear()
            self._doubt.set()

    def may_repeat(self, tool: str) -> bool:
        """Whether the tool declares itself read-only or idempotent."""
        hints = self.tools[tool].annotations if tool in self.tools else None
        return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)

    async def _live(self, scope: anyio.CancelScope) -> None:
        try:
            with scope, _unheard():
                async with anyio.create_task_group() as workers:
                    for _ in range(self._pace.calls_at_once):
                        workers.start_soon(self._calls.work)
                    await self._stay_connected()
                    workers.cancel_scope.cancel()
        finally:
            self._end("closed" if self._closing else self.problem)

    async def _stay_connected(self) -> None:
        while not self._closing:
            self.state = State.CONNECTING
            try:
                await self._session()
            except Exception as error:  # noqa: BLE001 - here a session ends, whatever ended it
                self.problem, self.fault = described(error), sorted_fault(error)
                if self.fault is Fault.PERMANENT and not self._was_ready:
                    return
            if self._closing:
                return
            if self.state is State.LOST or not self._failures:
                self._tell("MCP_SESSION_LOST", problem=self.problem, fault=self.fault)
            self.state = State.LOST
            self.tried.set()
            self._failures += 1
            await self._sleep(reconnect_delay(self._failures, self._rng))

    async def _session(self) -> None:
        """Run one session, from its handshake until it is closed; raises if it is lost."""
        with anyio.fail_after(self._pace.connect_limit) as scope:
            async with connected(self._server, self._take_in) as client:
                await self._list_tools(client)
                scope.deadline = math.inf
                try:
                    await self._tend(client)
                finally:
                    self._client = self._tending = None
                    self._settled.clear()
                    self.state = State.CLOSED if self._closing else State.LOST

    async def _tend(self, client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            self._tending = tasks.cancel_scope
            self._client = client
            self._was_ready = True
            self.state = State.READY
            self._doubt.clear()
            self.tried.set()
            self._settled.set()
            self._tell("MCP_SESSION_READY", revision=client.protocol_version, tools=len(self.tools))
            for keep in (self._beat, self._check, self._read_notices, self._listen):
                tasks.start_soon(keep, client)

    async def _beat(self, client: Client) -> None:
        missed = 0
        while True:
            await self._sleep(self._pace.heartbeat)
            try:
                await self._probe(client)
            except (TimeoutError, MCPError) as error:
                missed += 1
                if sorted_fault(error) is not Fault.TIMEOUT or missed >= MISSES:
                    raise
            else:
                missed = 0

    async def _check(self, client: Client) -> None:
        while True:
            await self._doubt.wait()
            self._doubt.clear()
            await self._probe(client)
            self._settled.set()

    async def _probe(self, client: Client) -> None:
        """Check that the server answers: with a ping, or with discover in the newer revision, which has no ping."""
        with anyio.fail_after(self._pace.beat_limit):
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                await client.session.send_discover(client.protocol_version)
            else:
                await client.session.send_ping()
        self._failures = 0

    async def _take_in(self, message: IncomingMessage) -> None:
        """Queue a notification unless it waits already; if full, drop it, tool list changes last."""
        if isinstance(message, Exception) or message in self._notices:
            return
        urgent = isinstance(message, ToolListChangedNotification)
        with suppress(Overflow):
            self._notices.put(message, Priority.NORMAL if urgent else Priority.BACKGROUND)

    async def _read_notices(self, client: Client) -> None:
        while True:
            message = await self._notices.get()
            if self._log is not None:
                self._log.debug("MCP_NOTICE", server=self.name, method=message.method)
            if isinstance(message, ToolListChangedNotification):
                await self._list_tools(client)

    async def _listen(self, client: Client) -> None:
        """Subscribe to tool list changes (newer revision), and queue them like notifications of the older one."""
        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        for ended in itertools.count():
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    await self._take_in(ToolListChangedNotification())  # what changed before we listened
                    async for _ in changes:
                        pass
            except (ListenNotSupportedError, MCPError, SubscriptionLost) as error:
                if sorted_fault(error) is Fault.PERMANENT:
                    return
                self.suspect()
            await self._sleep(reconnect_delay(ended, self._rng))

    async def _list_tools(self, client: Client) -> None:
        found: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES if client.server_capabilities.tools else 0):
            page = await client.list_tools(cursor=cursor)
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_TOOLS:
                break
        self.tools = {name: found[name] for name in sorted(found)[:MAX_TOOLS]}

    def _end(self, problem: str) -> None:
        closed, self.state = self.state, State.CLOSED
        self._settled.set()
        self.tried.set()
        if closed is not State.CLOSED:
            self.problem, self.fault = problem, Fault.PERMANENT
            self._tell("MCP_SESSION_CLOSED", problem=problem)
            self._calls.fail_all(problem)

    def _failed(self, tool: str, fault: Fault, problem: str) -> ToolFailed:
        return ToolFailed(self.name, tool, fault, problem)

    def _tell(self, event: str, **details: Any) -> None:
        if self._log is not None:
            self._log.info(event, server=self.name, **details)


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep the SDK's log messages from the terminal, where they go if there is no handler."""
    sdk, nobody = logging.getLogger("mcp"), logging.NullHandler()
    sdk.addHandler(nobody)
    try:
        yield
    finally:
        sdk.removeHandler(nobody)
