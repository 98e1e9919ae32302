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

MAX_AGE_SECONDS = 1.0
REST_FACTOR = 2
STALE_SECONDS = 10
"""Maximum age of a page of the current version: latencies and failures change without a new version."""
SETTLED_VERSION = -1
"""Version of pages that can't change any more."""
SETTLED_SECONDS = 60
"""Maximum age of a settled page: a match file may still arrive late."""
MAX_PARALLEL = 2
MOST_PAGES = 500
MOST_BYTES = 32 * 1024 * 1024
MOST_WAITING = 100
ZIP_LEVEL = 5

PageId = tuple[str, str]
"""A page's path pattern, which is its kind, and its key."""


class CacheOverloaded(Exception):
    """Too many pages are being built; answered with 503."""


@dataclass(frozen=True, slots=True)
class ServedContent:
    """The bytes of a page or asset, plain and gzipped."""

    plain: bytes
    gzipped: bytes
    etag: str
    """Hash of the plain bytes, for the `ETag` header."""


BuildPage = Callable[[], Awaitable[ServedContent]]


@dataclass(frozen=True, slots=True)
class _CachedPage:
    content: ServedContent
    version: int
    built_at: float


def encode_content(plain: bytes) -> ServedContent:
    """Compress and hash content for serving."""
    tag = hashlib.blake2b(plain, digest_size=9).hexdigest()
    return ServedContent(plain, gzip.compress(plain, ZIP_LEVEL, mtime=0), tag)


def accepts_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` header allows gzip."""
    weights = dict(part.replace(" ", "").lower().partition(";q=")[::2] for part in accepted.split(","))
    return "gzip" in weights and (not weights["gzip"] or bool(weights["gzip"].strip("0.")))


class PageCache:
    """Cached pages of one league, limited in number and bytes; the least recently used are dropped first."""

    def __init__(self, max_age_seconds: float = MAX_AGE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_age_seconds = max_age_seconds
        self._now = clock
        self._pages: OrderedDict[PageId, _CachedPage] = OrderedDict()
        self._total_bytes = 0
        self._builds: dict[PageId, asyncio.Task[ServedContent]] = {}
        self._kind_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._rest_until: defaultdict[str, float] = defaultdict(float)
        self._build_slots = asyncio.Semaphore(MAX_PARALLEL)

    async def get_page(
        self, name: PageId, version: int, read: Callable[[], BuildPage], *, is_busy: bool
    ) -> ServedContent:
        """Return the page as of this version; while the league is running (`is_busy`), a slightly older one will do.

        `read` is called at once if the page has to be built; its errors are raised without taking a build slot.
        Raises CacheOverloaded.
        """
        if (kept := self._find_fresh(name, version, is_busy=is_busy)) is not None:
            return kept
        making = self._builds.get(name)
        if making is None:
            if len(self._builds) >= MOST_WAITING:
                raise CacheOverloaded
            make = self._build_page(name, version, read(), is_busy=is_busy)
            making = self._builds[name] = asyncio.create_task(make)
            making.add_done_callback(_retrieve_exception)
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Cancel all builds."""
        for making in self._builds.values():
            making.cancel()
        await asyncio.gather(*self._builds.values(), return_exceptions=True)

    def _find_fresh(self, name: PageId, version: int, *, is_busy: bool) -> ServedContent | None:
        kept = self._pages.get(name)
        if kept is None:
            return None
        age, most = self._now() - kept.built_at, SETTLED_SECONDS if version == SETTLED_VERSION else STALE_SECONDS
        if (kept.version == version and age < most) or (is_busy and age < self._max_age_seconds):
            self._pages.move_to_end(name)
            return kept.content
        return None

    async def _build_page(self, name: PageId, version: int, make: BuildPage, *, is_busy: bool) -> ServedContent:
        kind = name[0]
        try:
            async with self._kind_locks[kind]:
                if is_busy:
                    await asyncio.sleep(self._rest_until[kind] - self._now())
                async with self._build_slots:
                    began = self._now()
                    try:
                        made = await make()
                    finally:
                        self._rest_until[kind] = self._now() + REST_FACTOR * (self._now() - began)
                self._store_page(name, _CachedPage(made, version, began))
                return made
        finally:
            del self._builds[name]

    def _store_page(self, name: PageId, kept: _CachedPage) -> None:
        self._drop_page(name)
        self._pages[name] = kept
        self._total_bytes += _content_size(kept)
        while len(self._pages) > MOST_PAGES or self._total_bytes > MOST_BYTES:
            self._drop_page(next(iter(self._pages)))

    def _drop_page(self, name: PageId) -> None:
        if (old := self._pages.pop(name, None)) is not None:
            self._total_bytes -= _content_size(old)


def _content_size(kept: _CachedPage) -> int:
    return len(kept.content.plain) + len(kept.content.gzipped)


def _retrieve_exception(task: asyncio.Task[ServedContent]) -> None:
    """Mark a failed build's exception as seen, in case every client has disconnected."""
    if not task.cancelled():
        task.exception()
