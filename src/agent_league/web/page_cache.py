"""Cache of rendered pages. A page is the same for every client, so each is built once for all concurrent requests.

While a league runs, requests must not slow it down: a page is rebuilt at most once in `max_age_seconds`, pages of one
kind one after the other, with a break after each of `REST_FACTOR` times the time it took.
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
"""Maximum age of a page of the current version: latencies and failures change without a new version."""
SETTLED = -1
"""Version of pages that can't change any more."""
SETTLED_SECONDS = 60
"""Maximum age of a settled page: a match file may still arrive late."""
AT_ONCE = 2
MOST_PAGES = 500
MOST_BYTES = 32 * 1024 * 1024
MOST_WAITING = 100
ZIP_LEVEL = 5

Name = tuple[str, str]
"""A page's path pattern, which is its kind, and its key."""


class TooManyAsk(Exception):
    """Too many pages are being built; answered with 503."""


@dataclass(frozen=True, slots=True)
class Written:
    """The bytes of a page or asset, plain and gzipped."""

    plain: bytes
    zipped: bytes
    tag: str
    """Hash of the plain bytes, for the `ETag` header."""


Make = Callable[[], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class _Kept:
    written: Written
    version: int
    at: float


def written(plain: bytes) -> Written:
    """Compress and hash content for serving."""
    tag = hashlib.blake2b(plain, digest_size=9).hexdigest()
    return Written(plain, gzip.compress(plain, ZIP_LEVEL, mtime=0), tag)


def takes_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` header allows gzip."""
    weights = dict(part.replace(" ", "").lower().partition(";q=")[::2] for part in accepted.split(","))
    return "gzip" in weights and (not weights["gzip"] or bool(weights["gzip"].strip("0.")))


class Shelf:
    """Cached pages of one league, limited in number and bytes; the least recently used are dropped first."""

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
        """Return the page as of this version; while the league is running (`is_busy`), a slightly older one will do.

        `read` is called at once if the page has to be built; its errors are raised without taking a build slot.
        Raises CacheOverloaded.
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
        """Cancel all builds."""
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
    """Mark a failed build's exception as seen, in case every client has disconnected."""
    if not task.cancelled():
        task.exception()
