"""Pages that are kept as they were written. They are the same for everybody, so each is made once for all who ask.

While a league runs, looking at it must not slow it down: a page is made anew at most once in `patience` seconds, those
of a kind one after the other, and after each no other of its kind for `REST` times as long as it took.
"""

import asyncio
import gzip
import hashlib
import time
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

PATIENCE_SECONDS = 1.0
REST = 2
STALE_SECONDS = 10
"""Latencies and failures change without being told; no page is older than that when it is asked for."""
SETTLED = -1
"""The version of what can't change any more."""
SETTLED_SECONDS = 60
"""It is made anew all the same: a file that belongs to it may come late."""
AT_ONCE = 2
MOST_PAGES = 500
MOST_BYTES = 32 * 1024 * 1024
MOST_WAITING = 100
ZIP_LEVEL = 5

Name = tuple[str, str]
"""A page's path, which is its kind, and its key."""


class TooManyAsk(Exception):
    """So many pages are waited for that one more would wait too long."""


@dataclass(frozen=True, slots=True)
class Written:
    """The bytes of something that is served, plain and compressed."""

    plain: bytes
    zipped: bytes
    tag: str
    """The same for the same bytes, and only for those."""


Make = Callable[[], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class _Kept:
    written: Written
    version: int
    at: float


def written(plain: bytes) -> Written:
    """What is kept of a text."""
    tag = hashlib.blake2b(plain, digest_size=9).hexdigest()
    return Written(plain, gzip.compress(plain, ZIP_LEVEL, mtime=0), tag)


def takes_gzip(accepted: str) -> bool:
    """What a header `Accept-Encoding` says of it."""
    weights = dict(part.replace(" ", "").lower().partition(";q=")[::2] for part in accepted.split(","))
    return "gzip" in weights and (not weights["gzip"] or bool(weights["gzip"].strip("0.")))


class Shelf:
    """The pages of one league."""

    def __init__(self, patience: float = PATIENCE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._now = clock
        self._kept: OrderedDict[Name, _Kept] = OrderedDict()
        self._bytes = 0
        self._making: dict[Name, asyncio.Task[Written]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._rested: defaultdict[str, float] = defaultdict(float)
        self._hands = asyncio.Semaphore(AT_ONCE)

    async def get(self, name: Name, version: int, read: Callable[[], Make], *, is_busy: bool) -> Written:
        """The page as of this version; `is_busy` where a league runs, and an older one will do for a while.

        `read` is called at once where the page has to be made; what it raises costs nobody a turn.
        """
        if (kept := self._fresh(name, version, is_busy=is_busy)) is not None:
            return kept
        making = self._making.get(name)
        if making is None:
            if len(self._making) >= MOST_WAITING:
                raise TooManyAsk
            make = self._make(name, version, read(), is_busy=is_busy)
            making = self._making[name] = asyncio.create_task(make)
            making.add_done_callback(_seen)
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Makes nothing more."""
        for making in self._making.values():
            making.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    def _fresh(self, name: Name, version: int, *, is_busy: bool) -> Written | None:
        kept = self._kept.get(name)
        if kept is None:
            return None
        age, most = self._now() - kept.at, SETTLED_SECONDS if version == SETTLED else STALE_SECONDS
        if (kept.version == version and age < most) or (is_busy and age < self._patience):
            self._kept.move_to_end(name)
            return kept.written
        return None

    async def _make(self, name: Name, version: int, make: Make, *, is_busy: bool) -> Written:
        kind = name[0]
        try:
            async with self._turns[kind]:
                if is_busy:
                    await asyncio.sleep(self._rested[kind] - self._now())
                async with self._hands:
                    began = self._now()
                    try:
                        made = await make()
                    finally:
                        self._rested[kind] = self._now() + REST * (self._now() - began)
                self._keep(name, _Kept(made, version, began))
                return made
        finally:
            del self._making[name]

    def _keep(self, name: Name, kept: _Kept) -> None:
        self._drop(name)
        self._kept[name] = kept
        self._bytes += _size(kept)
        while len(self._kept) > MOST_PAGES or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, name: Name) -> None:
        if (old := self._kept.pop(name, None)) is not None:
            self._bytes -= _size(old)


def _size(kept: _Kept) -> int:
    return len(kept.written.plain) + len(kept.written.zipped)


def _seen(task: asyncio.Task[Written]) -> None:
    """Whoever asked may have left before it failed."""
    if not task.cancelled():
        task.exception()
