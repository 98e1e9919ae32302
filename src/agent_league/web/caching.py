"""Pages that are kept as they were written. They are the same for everybody, so each is made once for all who ask.

While a league runs, looking at it must not slow it down: a page is made anew at most once in `patience` seconds, pages
are made one after the other, and after each nothing is made for `REST` times as long as it took.
"""

import asyncio
import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

PATIENCE_SECONDS = 1.0
REST = 2
STALE_SECONDS = 10
"""Latencies and failures change without being told; no page is older than that when it is asked for."""
MOST_PAGES = 500
MOST_BYTES = 32 * 1024 * 1024
MOST_WAITING = 100
ZIP_LEVEL = 5

Name = tuple[str, str]
"""A page's path and its key."""


class TooManyAsk(Exception):
    """So many pages are waited for that one more would wait too long."""


@dataclass(frozen=True, slots=True)
class Written:
    """The bytes of something that is served, plain and compressed."""

    plain: bytes
    zipped: bytes
    tag: str
    """The same for the same bytes, and only for those."""


@dataclass(frozen=True, slots=True)
class _Kept:
    written: Written
    version: int
    at: float


def written(plain: bytes) -> Written:
    """What is kept of a text."""
    tag = hashlib.blake2b(plain, digest_size=9).hexdigest()
    return Written(plain, gzip.compress(plain, ZIP_LEVEL, mtime=0), tag)


class Shelf:
    """The pages of one league."""

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._kept: OrderedDict[Name, _Kept] = OrderedDict()
        self._bytes = 0
        self._making: dict[Name, asyncio.Task[Written]] = {}
        self._turn = asyncio.Lock()
        self._rested = 0.0

    async def get(self, name: Name, version: int, make: Callable[[], Awaitable[Written]], *, is_busy: bool) -> Written:
        """The page as of this version; `is_busy` where a league runs, and an older one will do for a while."""
        if (kept := self._fresh(name, version, is_busy=is_busy)) is not None:
            return kept
        making = self._making.get(name)
        if making is None:
            if len(self._making) >= MOST_WAITING:
                raise TooManyAsk
            making = self._making[name] = asyncio.create_task(self._make(name, version, make, is_busy=is_busy))
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
        age = asyncio.get_running_loop().time() - kept.at
        if (kept.version == version and age < STALE_SECONDS) or (is_busy and age < self._patience):
            self._kept.move_to_end(name)
            return kept.written
        return None

    async def _make(
        self, name: Name, version: int, make: Callable[[], Awaitable[Written]], *, is_busy: bool
    ) -> Written:
        now = asyncio.get_running_loop().time
        try:
            async with self._turn:
                if is_busy:
                    await asyncio.sleep(self._rested - now())
                began = now()
                try:
                    made = await make()
                finally:
                    self._rested = now() + REST * (now() - began)
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
