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

from agent_league.agent.breaker import reconnect_delay
from agent_league.mcp.client.failures import FailureKind, ToolFailed, classify_error, describe_error
from agent_league.mcp.client.queue import MessagePriority, MessageQueue, QueueFull

MAX_ATTEMPTS = 3
"""Attempts in all for a call that may be repeated."""

Sleep = Callable[[float], Awaitable[None]]


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
