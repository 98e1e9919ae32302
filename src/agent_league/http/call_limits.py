"""Limits on calls: at the same time per caller, and for large bodies also in total; and per second and network address.

A caller is identified by a valid token, else by its network address. Calls beyond the limit queue behind the same
caller's calls, so that an opponent with hundreds of connections can't keep a player from answering its referee in time.
The token is read only if the address has to wait: without load, a call costs one count.
"""

import asyncio
import ipaddress
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from agent_league.http.carrier import MAX_BODY, FrameHandler, RequestRejected
from agent_league.http.hosts import normalise_address

MAX_CALLS = 16
MAX_BATCHES = 4
"""Concurrent batches of one caller; they queue apart from single calls, since each is up to a hundred calls."""
LARGE_BYTES = 16 * 1024
MAX_LARGE_CALLS = 1
"""Concurrent calls of one caller with a body above LARGE_BYTES: parsing one may take twenty times its size."""
MAX_LARGE_CALLS_TOTAL = 2
"""The same for all callers without a valid token together, since one may have many addresses."""
WAIT_SECONDS = 0.25
"""After so long one more queued call begins even if none has ended: some calls wait for people."""
BATCH_WAIT_SECONDS = 5.0
"""The same for batches and large calls, which rarely wait for people."""
MAX_WAITING = 8 * MAX_BODY
"""Bytes of all queued calls together; beyond it, calls are rejected."""
MAX_BUCKETS = 4096
"""Addresses whose rate is remembered; the least recently used is dropped first."""
BATCH_PATTERN = re.compile(rb"\s*\[")
TOKEN_PATTERN = re.compile(rb'"auth_token"\s*:\s*"([!#-\[\]-~]{1,4096})"')

TokenCheck = Callable[[str], bool]
"""Whether a token is valid."""


class _CallQueue:
    """One caller's calls: how many are running, and those that wait."""

    __slots__ = ("most", "timer", "under_way", "waiting")

    def __init__(self, most: int) -> None:
        self.most = most
        self.under_way = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        return self.under_way >= self.most or bool(self.waiting)


class CallLimits:
    """The running and queued calls of one agent."""

    def __init__(self, has_good_token: TokenCheck | None = None) -> None:
        self._has_good_token = has_good_token
        self._queues: dict[str, _CallQueue] = {}
        self._large_call_lock = asyncio.Lock()
        self._waiting_bytes = 0

    async def answer_call(self, answer: FrameHandler, body: bytes, bearer: str | None, address: str) -> bytes | None:
        """Answer a frame as soon as its caller has a free slot; raises RequestRejected."""
        if len(body) > LARGE_BYTES:
            return await self._answer_large_call(answer, body, bearer, address)
        kind, most = ("batches", MAX_BATCHES) if BATCH_PATTERN.match(body) else ("calls", MAX_CALLS)
        name = f"{kind} {caller_network(address)}"
        line = self._get_queue(name, most)
        if line.is_full and (token := find_good_token(body, bearer, self._has_good_token)):
            name = f"{kind} with {token}"
            line = self._get_queue(name, most)
        if line.is_full:
            await self._wait_for_turn(line, len(body))
        else:
            line.under_way += 1
        try:
            return await answer(body, bearer)
        finally:
            self._leave_queue(name, line)

    async def _answer_large_call(
        self, answer: FrameHandler, body: bytes, bearer: str | None, address: str
    ) -> bytes | None:
        """Answer a call, batch or not, whose body takes much memory and time to parse.

        The event loop runs once between two of them, since parsing one blocks everybody else.
        """
        token = find_good_token(body, bearer, self._has_good_token)
        async with AsyncExitStack() as turns:
            whose = f"with {token}" if token else caller_network(address)
            await turns.enter_async_context(self._occupy_slot(f"large {whose}", MAX_LARGE_CALLS, len(body)))
            if token is None:
                await turns.enter_async_context(self._occupy_slot("large of all", MAX_LARGE_CALLS_TOTAL, len(body)))
            async with self._large_call_lock:
                await asyncio.sleep(0)
            return await answer(body, bearer)

    @asynccontextmanager
    async def _occupy_slot(self, name: str, most: int, size: int) -> AsyncIterator[None]:
        """Hold one slot of a queue, waiting for it if none is free; raises RequestRejected."""
        line = self._get_queue(name, most)
        if line.is_full:
            await self._wait_for_turn(line, size)
        else:
            line.under_way += 1
        try:
            yield
        finally:
            self._leave_queue(name, line)

    def _leave_queue(self, name: str, line: _CallQueue) -> None:
        """End a call, and remove its queue if that is empty."""
        self._end_call(line)
        if not line.under_way and not line.waiting:
            self._queues.pop(name, None)

    def _get_queue(self, name: str, most: int) -> _CallQueue:
        line = self._queues.get(name)
        if line is None:
            line = self._queues[name] = _CallQueue(most)
        return line

    async def _wait_for_turn(self, line: _CallQueue, size: int) -> None:
        """Wait for a slot and occupy it; raises RequestRejected."""
        if self._waiting_bytes + size > MAX_WAITING:
            raise RequestRejected(503, "too many calls wait here; come again in a while")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        self._start_timer(line)
        self._waiting_bytes += size
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn came at the same moment
                self._end_call(line)
            raise
        finally:
            self._waiting_bytes -= size

    def _end_call(self, line: _CallQueue) -> None:
        """Free a slot and begin the next calls."""
        line.under_way -= 1
        while line.waiting and line.under_way < line.most:
            self._begin_next(line)

    def _begin_next(self, line: _CallQueue) -> None:
        turn = line.waiting.popleft()
        if not turn.done():
            line.under_way += 1
            turn.set_result(None)

    def _start_timer(self, line: _CallQueue) -> None:
        if line.timer is None:
            seconds = WAIT_SECONDS if line.most == MAX_CALLS else BATCH_WAIT_SECONDS
            line.timer = asyncio.get_running_loop().call_later(seconds, self._begin_overdue, line)

    def _begin_overdue(self, line: _CallQueue) -> None:
        line.timer = None
        if line.waiting:
            self._begin_next(line)
        if line.waiting:
            self._start_timer(line)


def find_good_token(body: bytes, bearer: str | None, is_good: TokenCheck | None) -> str | None:
    """Return the valid token of a call, from its Authorization header or its message."""
    if is_good is None:
        return None
    found = TOKEN_PATTERN.search(body)
    given = (bearer, found[1].decode() if found else None)
    return next((token for token in given if token and is_good(token)), None)


@dataclass(slots=True)
class RateLimit:
    """A rate per second and a burst size, applied to each network address by a token bucket.

    The address is the one that the server sees, so a message can't choose it.
    """

    per_sec: float
    burst: int
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By network: requests left, and when that was counted."""

    def count_requests(self, address: str, requests: int) -> float:
        """Count requests from an address; return the seconds to wait if they exceed the limit, else 0.

        A batch larger than the burst could never pass, so it passes when the bucket is full and leaves a debt.
        """
        now = asyncio.get_running_loop().time()
        key = caller_network(address)
        left, since = self._buckets.pop(key, (float(self.burst), now))
        left = min(self.burst, left + (now - since) * self.per_sec)
        missing = min(requests, self.burst) - left
        self._buckets[key] = (left if missing > 0 else left - requests, now)
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return max(0.0, missing / self.per_sec)


def caller_network(address: str) -> str:
    """Return the address, or for IPv6 its /64 network, since one caller has at least that many addresses."""
    plain = normalise_address(address) if ":" in address else address
    return str(ipaddress.ip_network((plain, 64), strict=False)) if ":" in plain else plain
