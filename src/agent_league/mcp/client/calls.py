"""The tool calls to one MCP server: queued, a few at once, repeated after a lost connection if that is safe.

A worker task makes each call, so that a caller's timeout holds even while the SDK is still busy with it. Doesn't know
how a session is opened.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import anyio
import orjson
from mcp import Client
from mcp_types import CallToolResult

from agent_league.agent.retry import reconnect_delay
from agent_league.mcp.client.failures import Fault, ToolFailed, described, sorted_fault
from agent_league.mcp.client.queue import MessageQueue, Overflow, Priority

ATTEMPTS = 3
"""Attempts in all for a call that may be repeated."""

Sleep = Callable[[float], Awaitable[None]]


class Line(Protocol):
    """The part of a session that tool calls need."""

    async def client(self) -> Client | None:
        """Wait for a connected client; None once the session is closed."""
        ...

    def suspect(self) -> None:
        """Report a lost call, so that the server is probed before the next one."""
        ...

    def may_repeat(self, tool: str) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    tool: str
    arguments: Mapping[str, Any]
    answer: asyncio.Future[CallToolResult]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def settle(self, answer: CallToolResult) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, failed: ToolFailed) -> None:
        if not self.answer.done():
            self.answer.set_exception(failed)


class Calls:
    """The queue of tool calls to one server, and its workers."""

    def __init__(self, server: str, line: Line, waiting: int, rng: Random, sleep: Sleep) -> None:
        self._server = server
        self._line = line
        self._rng = rng
        self._sleep = sleep
        self._queue = MessageQueue[_Call](waiting, self._drop)
        self._open: set[_Call] = set()

    async def make(self, tool: str, arguments: Mapping[str, Any], limit: float, priority: Priority) -> CallToolResult:
        """Queue a call and return its answer; raises ToolFailed, or TimeoutError after `limit` seconds."""
        call = _Call(tool, arguments, asyncio.get_running_loop().create_future())
        try:
            orjson.dumps(arguments)
            self._queue.put(call, priority)
        except orjson.JSONEncodeError as error:
            raise self._failed(call, Fault.PERMANENT, f"not called: the arguments aren't JSON: {error}") from None
        except Overflow as full:
            raise self._failed(call, Fault.TRANSIENT, f"not called: {full}") from None
        self._open.add(call)
        try:
            async with asyncio.timeout(limit):
                return await call.answer
        finally:
            self._open.discard(call)
            self._queue.discard(call)
            call.scope.cancel()

    async def work(self) -> None:
        """Make queued calls one after another; run one worker per concurrent call."""
        while await self._line.client():
            call = await self._queue.get()
            with call.scope:
                await self._perform(call)

    def fail_all(self, problem: str) -> None:
        for call in self._open:
            call.fail(self._failed(call, Fault.PERMANENT, problem))

    async def _perform(self, call: _Call) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            client = await self._line.client()
            if client is None:
                return
            try:
                call.settle(await client.call_tool(call.tool, dict(call.arguments)))
                return
            except Exception as error:  # noqa: BLE001 - here a call ends, whatever ended it
                failed = self._read(call, error)
            if failed.fault is not Fault.TRANSIENT or attempt == ATTEMPTS or not self._line.may_repeat(call.tool):
                call.fail(failed)
                return
            await self._sleep(reconnect_delay(attempt, self._rng))

    def _read(self, call: _Call, error: Exception) -> ToolFailed:
        fault, problem = sorted_fault(error), described(error)
        if fault is Fault.TRANSIENT:
            self._line.suspect()
            if not self._line.may_repeat(call.tool):
                problem += "; it may have been done all the same"
        return self._failed(call, fault, problem)

    def _drop(self, call: _Call) -> None:
        call.fail(self._failed(call, Fault.TRANSIENT, "not called: gave way to more urgent calls"))

    def _failed(self, call: _Call, fault: Fault, problem: str) -> ToolFailed:
        return ToolFailed(self._server, call.tool, fault, problem)
