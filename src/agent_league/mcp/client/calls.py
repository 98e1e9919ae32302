"""The tool calls to one MCP server: queued by priority, a few at once, repeated after a lost connection if safe.

A worker task makes each call, so that a caller's timeout holds even while the SDK is still busy with it. Doesn't know
how a session is opened.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import anyio
import orjson
from mcp import Client
from mcp_types import CallToolResult

from agent_league.agent.breaker import reconnect_delay
from agent_league.mcp.client.failures import FailureKind, ToolFailed, classify_error, describe_error

MAX_ATTEMPTS = 3
"""Attempts in all for a call that may be repeated."""

Sleep = Callable[[float], Awaitable[None]]
Item = TypeVar("Item")


class MessagePriority(IntEnum):
    """How urgent a message is."""

    BACKGROUND = 0
    NORMAL = 1
    MOVE = 2
    """A move with a deadline depends on it."""


class QueueFull(Exception):
    """The queue is full, and nothing in it is less urgent."""


class MessageQueue(Generic[Item]):
    """A bounded queue, in order among equal priorities; if it is full, less urgent messages are dropped."""

    def __init__(self, capacity: int, on_dropped: Callable[[Item], None] | None = None) -> None:
        if capacity < 1:
            raise ValueError(f"a queue holds at least one message, not {capacity}")
        self._capacity = capacity
        self._on_dropped = on_dropped
        self._lanes: dict[MessagePriority, deque[Item]] = {priority: deque() for priority in sorted(MessagePriority)}
        """Lowest priority first."""
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __contains__(self, item: object) -> bool:
        return any(item in lane for lane in self._lanes.values())

    def put(self, item: Item, priority: MessagePriority = MessagePriority.NORMAL) -> None:
        """Add a message. If full, drop the newest of the least urgent; raises QueueFull if none is less urgent."""
        if len(self) >= self._capacity:
            victim = self._evict_less_urgent(priority)
            if self._on_dropped is not None:
                self._on_dropped(victim)
        self._lanes[priority].append(item)
        self._filled.set()

    async def get(self) -> Item:
        """Wait for a message, and remove the oldest of the most urgent."""
        while not self:
            self._filled.clear()
            await self._filled.wait()
        return next(lane for lane in reversed(self._lanes.values()) if lane).popleft()

    def discard(self, item: Item) -> None:
        """Remove a message if it is still queued."""
        for lane in self._lanes.values():
            if item in lane:
                lane.remove(item)

    def _evict_less_urgent(self, priority: MessagePriority) -> Item:
        lowest, lane = next((each, lane) for each, lane in self._lanes.items() if lane)
        if lowest >= priority:
            raise QueueFull(f"{len(self)} messages wait already, none less urgent than {priority.name}")
        return lane.pop()


class CallSession(Protocol):
    """The part of a session that tool calls need."""

    async def wait_for_client(self) -> Client | None:
        """Wait for a connected client; None once the session is closed."""
        ...

    def suspect_connection(self) -> None:
        """Report a lost call, so that the server is probed before the next one."""
        ...

    def is_repeatable(self, tool: str) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingCall:
    tool: str
    arguments: Mapping[str, Any]
    answer: asyncio.Future[CallToolResult]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def set_answer(self, answer: CallToolResult) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def set_failure(self, failed: ToolFailed) -> None:
        if not self.answer.done():
            self.answer.set_exception(failed)


class ToolCalls:
    """The queue of tool calls to one server, and its workers."""

    def __init__(self, server: str, line: CallSession, waiting: int, rng: Random, sleep: Sleep) -> None:
        self._server = server
        self._session = line
        self._rng = rng
        self._sleep = sleep
        self._queue = MessageQueue[_WaitingCall](waiting, self._drop_call)
        self._open_calls: set[_WaitingCall] = set()

    async def make_call(
        self, tool: str, arguments: Mapping[str, Any], limit: float, priority: MessagePriority
    ) -> CallToolResult:
        """Queue a call and return its answer; raises ToolFailed, or TimeoutError after `limit` seconds."""
        call = _WaitingCall(tool, arguments, asyncio.get_running_loop().create_future())
        try:
            orjson.dumps(arguments)
            self._queue.put(call, priority)
        except orjson.JSONEncodeError as error:
            raise self._make_failure(
                call, FailureKind.PERMANENT, f"not called: the arguments aren't JSON: {error}"
            ) from None
        except QueueFull as full:
            raise self._make_failure(call, FailureKind.TRANSIENT, f"not called: {full}") from None
        self._open_calls.add(call)
        try:
            async with asyncio.timeout(limit):
                return await call.answer
        finally:
            self._open_calls.discard(call)
            self._queue.discard(call)
            call.scope.cancel()

    async def run_worker(self) -> None:
        """Make queued calls one after another; run one worker per concurrent call."""
        while await self._session.wait_for_client():
            call = await self._queue.get()
            with call.scope:
                await self._perform_call(call)

    def fail_all_calls(self, problem: str) -> None:
        for call in self._open_calls:
            call.set_failure(self._make_failure(call, FailureKind.PERMANENT, problem))

    async def _perform_call(self, call: _WaitingCall) -> None:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            client = await self._session.wait_for_client()
            if client is None:
                return
            try:
                call.set_answer(await client.call_tool(call.tool, dict(call.arguments)))
                return
            except Exception as error:  # noqa: BLE001 - here a call ends, whatever ended it
                failed = self._to_failure(call, error)
            if (
                failed.failure_kind is not FailureKind.TRANSIENT
                or attempt == MAX_ATTEMPTS
                or not self._session.is_repeatable(call.tool)
            ):
                call.set_failure(failed)
                return
            await self._sleep(reconnect_delay(attempt, self._rng))

    def _to_failure(self, call: _WaitingCall, error: Exception) -> ToolFailed:
        fault, problem = classify_error(error), describe_error(error)
        if fault is FailureKind.TRANSIENT:
            self._session.suspect_connection()
            if not self._session.is_repeatable(call.tool):
                problem += "; it may have been done all the same"
        return self._make_failure(call, fault, problem)

    def _drop_call(self, call: _WaitingCall) -> None:
        call.set_failure(self._make_failure(call, FailureKind.TRANSIENT, "not called: gave way to more urgent calls"))

    def _make_failure(self, call: _WaitingCall, fault: FailureKind, problem: str) -> ToolFailed:
        return ToolFailed(self._server, call.tool, fault, problem)
