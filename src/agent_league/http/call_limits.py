"""Limits on calls: at the same time per caller, and for large bodies also in total; and per second and network address.

A caller is identified by a valid token, else by its network address. Calls beyond the limit queue behind the same
caller's calls, so that an opponent with hundreds of connections can't keep a player from answering its referee in time.
The token is read only if the address has to wait: without load, a call costs one count.
"""

import asyncio
import ipaddress
import re
from collections import deque
from collections.abc import Callable, Sequence
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
    """The calls of one caller and kind: how many are running, and those that wait."""

    __slots__ = ("most", "name", "timer", "under_way", "waiting")

    def __init__(self, name: str, most: int) -> None:
        self.name = name
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
        """Answer a frame as soon as its caller has a free slot; raises RequestRejected.

        The event loop runs once between two large calls, since parsing one blocks everybody else.
        """
        is_large = len(body) > LARGE_BYTES
        slots = self._choose_slots(body, bearer, address, is_large=is_large)
        held: list[_CallQueue] = []
        try:
            for name, most in slots:
                held.append(await self._occupy_slot(name, most, len(body)))
            if is_large:
                async with self._large_call_lock:
                    await asyncio.sleep(0)
            return await answer(body, bearer)
        finally:
            for queue in held:
                self._free_slot(queue)

    def _choose_slots(
        self, body: bytes, bearer: str | None, address: str, *, is_large: bool
    ) -> Sequence[tuple[str, int]]:
        """The queues that a call has to pass, by name, each with the number of its slots."""
        if is_large:
            kind, most = "large", MAX_LARGE_CALLS
        else:
            kind, most = ("batches", MAX_BATCHES) if BATCH_PATTERN.match(body) else ("calls", MAX_CALLS)
        name = f"{kind} {caller_network(address)}"
        queue = self._queues.get(name)
        if is_large or (queue is not None and queue.is_full):
            if token := find_good_token(body, bearer, self._has_good_token):
                return [(f"{kind} with {token}", most)]
            if is_large:
                return [(name, most), ("large of all", MAX_LARGE_CALLS_TOTAL)]
        return [(name, most)]

    async def _occupy_slot(self, name: str, most: int, size: int) -> _CallQueue:
        """Take a slot of a queue, waiting for it if none is free; raises RequestRejected."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _CallQueue(name, most)
        if not queue.is_full:
            queue.under_way += 1
            return queue
        if self._waiting_bytes + size > MAX_WAITING:
            raise RequestRejected(503, "too many calls wait here; come again in a while")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.waiting.append(turn)
        self._start_timer(queue)
        self._waiting_bytes += size
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn came at the same moment
                self._free_slot(queue)
            raise
        finally:
            self._waiting_bytes -= size
        return queue

    def _free_slot(self, queue: _CallQueue) -> None:
        """End a call and begin the next ones; a queue that is empty is removed."""
        queue.under_way -= 1
        while queue.waiting and queue.under_way < queue.most:
            self._begin_next(queue)
        if not queue.under_way and not queue.waiting:
            self._queues.pop(queue.name, None)

    def _begin_next(self, queue: _CallQueue) -> None:
        turn = queue.waiting.popleft()
        if not turn.done():
            queue.under_way += 1
            turn.set_result(None)

    def _start_timer(self, queue: _CallQueue) -> None:
        if queue.timer is None:
            seconds = WAIT_SECONDS if queue.most == MAX_CALLS else BATCH_WAIT_SECONDS
            queue.timer = asyncio.get_running_loop().call_later(seconds, self._begin_overdue, queue)

    def _begin_overdue(self, queue: _CallQueue) -> None:
        queue.timer = None
        if queue.waiting:
            self._begin_next(queue)
        if queue.waiting:
            self._start_timer(queue)


def find_good_token(body: bytes, bearer: str | None, is_good: TokenCheck | None) -> str | None:
    """Return the valid token of a call, from its Authorization header or its message."""
    if is_good is None:
        return None
    if bearer and is_good(bearer):
        return bearer
    found = TOKEN_PATTERN.search(body)
    token = found[1].decode() if found else None
    return token if token and is_good(token) else None


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
