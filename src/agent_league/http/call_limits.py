"""Limits on concurrent calls: per caller, and for large bodies also in total.

A caller is identified by a valid token, else by its network address. Calls beyond the limit queue behind the same
caller's calls, so that an opponent with hundreds of connections can't keep a player from answering its referee in time.
The token is read only if the address has to wait: without load, a call costs one count.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from agent_league.http.carrier import MAX_BODY, Answer
from agent_league.http.rate_limit import network_of

MOST_CALLS = 16
MOST_BATCHES = 4
"""Concurrent batches of one caller; they queue apart from single calls, since each is up to a hundred calls."""
LARGE_BYTES = 16 * 1024
MOST_LARGE = 1
"""Concurrent calls of one caller with a body above LARGE_BYTES: parsing one may take twenty times its size."""
MOST_LARGE_OF_ALL = 2
"""The same for all callers without a valid token together, since one may have many addresses."""
WAIT_SECONDS = 0.25
"""After so long one more queued call begins even if none has ended: some calls wait for people."""
BATCH_WAIT_SECONDS = 5.0
"""The same for batches and large calls, which rarely wait for people."""
MAX_WAITING = 8 * MAX_BODY
"""Bytes of all queued calls together; beyond it, calls are rejected."""
BATCH = re.compile(rb"\s*\[")
TOKEN = re.compile(rb'"auth_token"\s*:\s*"([!#-\[\]-~]{1,4096})"')

TokenCheck = Callable[[str], bool]
"""Whether a token is valid."""


class TooManyWaiting(Exception):
    """The queued calls hold too many bytes for another one."""


class _Line:
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
        self._lines: dict[str, _Line] = {}
        self._beginning_large = asyncio.Lock()
        self._waiting_bytes = 0

    async def answer(self, answer: Answer, body: bytes, bearer: str | None, address: str) -> bytes | None:
        """Answer a frame as soon as its caller has a free slot; raises CallQueueFull."""
        if len(body) > LARGE_BYTES:
            return await self._answer_large(answer, body, bearer, address)
        kind, most = ("batches", MOST_BATCHES) if BATCH.match(body) else ("calls", MOST_CALLS)
        name = f"{kind} {network_of(address)}"
        line = self._line(name, most)
        if line.is_full and (token := self._find_token(body, bearer)):
            name = f"{kind} with {token}"
            line = self._line(name, most)
        if line.is_full:
            await self._wait(line, len(body))
        else:
            line.under_way += 1
        try:
            return await answer(body, bearer)
        finally:
            self._leave(name, line)

    async def _answer_large(self, answer: Answer, body: bytes, bearer: str | None, address: str) -> bytes | None:
        """Answer a call, batch or not, whose body takes much memory and time to parse.

        The event loop runs once between two of them, since parsing one blocks everybody else.
        """
        token = self._find_token(body, bearer)
        async with AsyncExitStack() as turns:
            whose = f"with {token}" if token else network_of(address)
            await turns.enter_async_context(self._turn(f"large {whose}", MOST_LARGE, len(body)))
            if token is None:
                await turns.enter_async_context(self._turn("large of all", MOST_LARGE_OF_ALL, len(body)))
            async with self._beginning_large:
                await asyncio.sleep(0)
            return await answer(body, bearer)

    @asynccontextmanager
    async def _turn(self, name: str, most: int, size: int) -> AsyncIterator[None]:
        """Hold one slot of a queue, waiting for it if none is free; raises CallQueueFull."""
        line = self._line(name, most)
        if line.is_full:
            await self._wait(line, size)
        else:
            line.under_way += 1
        try:
            yield
        finally:
            self._leave(name, line)

    def _leave(self, name: str, line: _Line) -> None:
        """End a call, and remove its queue if that is empty."""
        self._end(line)
        if not line.under_way and not line.waiting:
            self._lines.pop(name, None)

    def _line(self, name: str, most: int) -> _Line:
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = _Line(most)
        return line

    def _find_token(self, body: bytes, bearer: str | None) -> str | None:
        """Return the valid token of a call, from its Authorization header or its message."""
        if self._has_good_token is None:
            return None
        found = TOKEN.search(body)
        given = (bearer, found[1].decode() if found else None)
        return next((token for token in given if token and self._has_good_token(token)), None)

    async def _wait(self, line: _Line, size: int) -> None:
        """Wait for a slot and occupy it; raises CallQueueFull."""
        if self._waiting_bytes + size > MAX_WAITING:
            raise TooManyWaiting
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        self._watch(line)
        self._waiting_bytes += size
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn came at the same moment
                self._end(line)
            raise
        finally:
            self._waiting_bytes -= size

    def _end(self, line: _Line) -> None:
        """Free a slot and begin the next calls."""
        line.under_way -= 1
        while line.waiting and line.under_way < line.most:
            self._begin_next(line)

    def _begin_next(self, line: _Line) -> None:
        turn = line.waiting.popleft()
        if not turn.done():
            line.under_way += 1
            turn.set_result(None)

    def _watch(self, line: _Line) -> None:
        if line.timer is None:
            seconds = WAIT_SECONDS if line.most == MOST_CALLS else BATCH_WAIT_SECONDS
            line.timer = asyncio.get_running_loop().call_later(seconds, self._begin_late, line)

    def _begin_late(self, line: _Line) -> None:
        line.timer = None
        if line.waiting:
            self._begin_next(line)
        if line.waiting:
            self._watch(line)
