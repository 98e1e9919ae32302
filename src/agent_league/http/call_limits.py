"""How many calls of one caller are worked on at once, and how many large ones of all.

A caller is known by a good token, else by its network address. Whoever has more calls under way waits for its own, so
that an opponent with hundreds of connections keeps no player from answering its referee in time. The token is looked at
only where an address has to wait: a server that isn't crowded pays for a count and nothing else.
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
"""Under way of one caller; batches wait for batches alone, since each is up to a hundred calls."""
LARGE_BYTES = 16 * 1024
MOST_LARGE = 1
"""Calls of one caller with a body of more than that: what is read from it may take twenty times its bytes."""
MOST_LARGE_OF_ALL = 2
"""The same of all callers without a good token, who may have many addresses."""
WAIT_SECONDS = 0.25
"""So often one more call of a caller may begin, however long those before it take: some wait for people."""
BATCH_WAIT_SECONDS = 5.0
"""The same for batches and large calls, which wait for nobody as a rule."""
MAX_WAITING = 8 * MAX_BODY
"""Bytes of all calls that wait; nobody else is let in before there is room."""
BATCH = re.compile(rb"\s*\[")
TOKEN = re.compile(rb'"auth_token"\s*:\s*"([!#-\[\]-~]{1,4096})"')

TokenCheck = Callable[[str], bool]
"""Whether a token is a good one."""


class TooManyWaiting(Exception):
    """A call for which there is no room even to wait."""


class _Line:
    """The calls of one caller: how many are under way, and those that wait."""

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
    """The calls under way at one agent."""

    def __init__(self, has_good_token: TokenCheck | None = None) -> None:
        self._has_good_token = has_good_token
        self._lines: dict[str, _Line] = {}
        self._beginning_large = asyncio.Lock()
        self._waiting_bytes = 0

    async def answer(self, answer: Answer, body: bytes, bearer: str | None, address: str) -> bytes | None:
        """Answers a frame as soon as its caller has few enough under way; raises TooManyWaiting."""
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
        """The same for a body that takes much memory and time to read, be it a batch or not.

        Between two of them everybody else gets a turn: most take no longer than it takes to read them.
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
        """A place among those under way; raises TooManyWaiting."""
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
        """Ends a call, and its line where nobody else is in it."""
        self._end(line)
        if not line.under_way and not line.waiting:
            self._lines.pop(name, None)

    def _line(self, name: str, most: int) -> _Line:
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = _Line(most)
        return line

    def _find_token(self, body: bytes, bearer: str | None) -> str | None:
        """The good token that came with a call, beside its message or in it."""
        if self._has_good_token is None:
            return None
        found = TOKEN.search(body)
        given = (bearer, found[1].decode() if found else None)
        return next((token for token in given if token and self._has_good_token(token)), None)

    async def _wait(self, line: _Line, size: int) -> None:
        """Waits for a turn, and takes it."""
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
        """Lets the next begin, now that a call has ended."""
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
