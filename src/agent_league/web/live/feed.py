"""The live feed: the overview's sections as server-sent events.

A message holds every section that changed since the listener's last message, each in full: nothing can drift, and a
slow listener only misses intermediate states. Messages are built and compressed once for all listeners at the same
version; per listener only the version of its last message is kept.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from agent_league.http.event_stream import (
    HEARTBEAT_SECONDS,
    NOTHING_SEEN,
    STREAM_HEADERS,
    STREAM_START,
    EventIds,
    format_event,
)
from agent_league.http.limits import ConnectionLimits
from agent_league.log import JsonLogger
from agent_league.model.looks import PlayerLook
from agent_league.text import MAX_SENTENCE, quote
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.sections import SECTIONS, Section, SectionData
from agent_league.web.page_cache import accepts_gzip
from agent_league.web.rendering import Site, render

TICK_SECONDS = 0.25
REST_FACTOR = 5
"""After a refresh, wait this many times as long as it took."""
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
HEARTBEAT_MESSAGE = b": still here\nevent: beat\ndata:\n\n"
"""A comment, and an event because scripts don't see comments."""


class FeedFormat(StrEnum):
    """Format of the sections: HTML fragments for pages, or JSON data for programs."""

    HTML = "html"
    JSON = "json"


@dataclass(slots=True)
class _SectionState:
    """A section's data as last read, and its encodings."""

    section: Section
    data: SectionData | None = None
    looks: Mapping[str, PlayerLook] = field(default_factory=dict)
    """The looks of players that it is drawn with."""
    history_version: int = NOTHING_SEEN
    """Version of the league's history when it was last read."""
    version: int = 0
    """Version of the feed at its last change."""
    read_at: float = 0
    encoded: dict[FeedFormat, bytes] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _FeedListener:
    feed_format: FeedFormat
    is_gzipped: bool
    seen_version: int
    section_names: frozenset[str]
    wake_event: asyncio.Event = field(default_factory=asyncio.Event)


class LiveFeed:
    """ASGI endpoint of the live feed."""

    def __init__(
        self,
        reader: LeagueReader,
        site: Site,
        log: JsonLogger | None = None,
        tick: float = TICK_SECONDS,
        max_listeners: int | None = None,
    ) -> None:
        """Limit listeners to `max_listeners`, by default a quarter of all connections, to leave room for agents."""
        self._reader = reader
        self._site = site
        self._log = log
        self._tick_seconds = tick
        self._max_listeners = ConnectionLimits().max_connections // 4 if max_listeners is None else max_listeners
        self._event_ids = EventIds()
        self._version = 0
        self._section_states = [_SectionState(section) for section in SECTIONS]
        self._messages: dict[tuple[FeedFormat, bool, int, frozenset[str]], bytes] = {}
        """Messages of the current version, by format, compression, the version that the listener has seen, sections."""
        self._refresh_lock = asyncio.Lock()
        self._listeners: set[_FeedListener] = set()
        self._listeners_by_address: Counter[str] = Counter()
        self._tick_task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._last_error = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._parse_listener(scope)
        headers = {**STREAM_HEADERS, **({"content-encoding": "gzip"} if listener.is_gzipped else {})}
        if scope["method"] == "HEAD":
            await Response(headers=headers)(scope, receive, send)
            return
        address = self._admit_listener(scope)
        self._listeners.add(listener)
        try:
            await self._reader.ratings.wait_for_first()
            await self._refresh_sections()
            self._ensure_ticking()
            await StreamingResponse(self._iter_messages(listener), headers=headers)(scope, receive, send)
        finally:
            self._listeners.discard(listener)
            self._listeners_by_address[address] -= 1
            self._listeners_by_address += Counter()  # drops addresses without listeners

    @property
    def listeners(self) -> int:
        """Number of connected listeners."""
        return len(self._listeners)

    async def close(self) -> None:
        """End all streams after a last message with the final state."""
        if self._tick_task:
            self._tick_task.cancel()
            await asyncio.gather(self._tick_task, return_exceptions=True)
        if self._listeners:
            await self._try_refresh()
        self._is_closing = True
        for listener in self._listeners:
            listener.wake_event.set()

    def _parse_listener(self, scope: Scope) -> _FeedListener:
        asked = Headers(scope=scope)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        form = query.get("form", FeedFormat.HTML)
        if form not in FeedFormat.__members__.values():
            raise HTTPException(400, f"form is {quote(form)}; expected html or json.")
        is_zipped = accepts_gzip(asked.get("accept-encoding", ""))
        seen_version = self._event_ids.parse_last_id(scope, self._version)
        return _FeedListener(FeedFormat(form), is_zipped, seen_version, _parse_sections(query.get("sections", "")))

    def _admit_listener(self, scope: Scope) -> str:
        address = str((scope.get("client") or ("",))[0])
        full = len(self._listeners) >= self._max_listeners or self._listeners_by_address[address] >= max(
            1, self._max_listeners // 2
        )
        if full or self._is_closing:
            raise HTTPException(503, "Too many listen at once; come again in a while.", {"retry-after": "10"})
        self._listeners_by_address[address] += 1
        return address

    async def _iter_messages(self, listener: _FeedListener) -> AsyncIterator[bytes]:
        """Yield messages until the feed is closed; Starlette stops asking when the listener has left."""
        yield GZIP_HEADER + _deflate_message(STREAM_START) if listener.is_gzipped else STREAM_START
        heartbeat = _deflate_message(HEARTBEAT_MESSAGE) if listener.is_gzipped else HEARTBEAT_MESSAGE
        while True:
            if listener.seen_version < self._find_newest(listener):
                message, version = await self._build_message(listener)
                yield message
                listener.seen_version = version
                continue
            if self._is_closing:
                return
            listener.wake_event.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await listener.wake_event.wait()
            except TimeoutError:
                yield heartbeat

    def _ensure_ticking(self) -> None:
        if self._tick_task is None or self._tick_task.done():
            self._tick_task = asyncio.create_task(self._run_ticks())

    async def _run_ticks(self) -> None:
        """Refresh the sections at intervals while there are listeners, and wake those that are behind."""
        now = asyncio.get_running_loop().time
        while self._listeners:
            began = now()
            await self._try_refresh()
            for listener in self._listeners:
                if listener.seen_version < self._find_newest(listener):
                    listener.wake_event.set()
            await asyncio.sleep(max(self._tick_seconds, REST_FACTOR * (now() - began)))

    async def _try_refresh(self) -> None:
        try:
            await self._refresh_sections()
        except Exception as error:  # noqa: BLE001 - the next refresh may succeed
            if self._log and repr(error) != self._last_error:
                self._log.error("live_failed", error=quote(error, MAX_SENTENCE))
            self._last_error = repr(error)

    async def _refresh_sections(self) -> None:
        """Read the sections that may have changed and encode changed ones in all formats in use.

        Raises RequestRejected, and shows nothing new, once the league can't be saved any more: another server has it.
        """
        async with self._refresh_lock:
            version, now = self._reader.history.version, asyncio.get_running_loop().time()
            wanted = frozenset[str]().union(*(listener.section_names for listener in self._listeners))
            changed = [
                state
                for state in self._section_states
                if state.section.name in wanted and _is_section_due(state, now, version) and self._read_section(state)
            ]
            if not changed:
                return
            await self._reader.wait_until_saved()
            self._version += 1
            self._messages.clear()
            for state in changed:
                state.version = self._version
                state.encoded.clear()
            for form in {listener.feed_format for listener in self._listeners}:
                await self._encode_sections(form, changed)

    def _read_section(self, state: _SectionState) -> bool:
        """Read a section's data; return whether it changed."""
        state.read_at = asyncio.get_running_loop().time()
        version, data = self._reader.history.version, state.section.read_data(self._reader)
        looks = self._reader.looks
        state.history_version = version
        if data == state.data and looks == state.looks:
            return False
        state.data, state.looks = data, looks
        return True

    async def _encode_sections(self, form: FeedFormat, states: list[_SectionState]) -> None:
        missing = [state for state in states if form not in state.encoded]
        if missing:
            site, names = self._site, {"ends": self._reader.telling_ends, "looks": self._reader.looks}
            told = await asyncio.to_thread(lambda: [_encode_section(form, state, site, names) for state in missing])
            for state, text in zip(missing, told, strict=True):
                state.encoded[form] = text

    async def _build_message(self, listener: _FeedListener) -> tuple[bytes, int]:
        """Return the message with everything the listener hasn't seen, and its version."""
        async with self._refresh_lock:
            wanted = (listener.feed_format, listener.is_gzipped, listener.seen_version, listener.section_names)
            if wanted not in self._messages:
                news = [state for state in self._list_states(listener) if state.version > listener.seen_version]
                await self._encode_sections(listener.feed_format, news)
                parts = b",".join(
                    b'"%b":%b' % (state.section.name.encode(), state.encoded[listener.feed_format]) for state in news
                )
                message = format_event(self._event_ids.format_id(self._version), b"{%b}" % parts)
                self._messages[wanted] = _deflate_message(message) if listener.is_gzipped else message
            return self._messages[wanted], self._version

    def _list_states(self, listener: _FeedListener) -> list[_SectionState]:
        return [state for state in self._section_states if state.section.name in listener.section_names]

    def _find_newest(self, listener: _FeedListener) -> int:
        """The version at which one of the listener's sections changed last."""
        return max(state.version for state in self._list_states(listener))


def _parse_sections(asked: str) -> frozenset[str]:
    """Parse the names of the sections that a listener asks for; those that everybody gets if it names none."""
    if not asked:
        return frozenset(section.name for section in SECTIONS if not section.is_on_demand)
    names = frozenset(asked.split(","))
    if unknown := names - {section.name for section in SECTIONS}:
        known = ", ".join(section.name for section in SECTIONS)
        raise HTTPException(400, f"sections has {quote(min(unknown))}; expected some of {known}, with commas.")
    return names


def _is_section_due(state: _SectionState, now: float, history_version: int) -> bool:
    if state.data is None:
        return True
    rest = state.section.refresh_seconds
    return state.history_version != history_version if rest is None else now - state.read_at >= rest


def _encode_section(form: FeedFormat, state: _SectionState, site: Site, names: Mapping[str, Any]) -> bytes:
    """Encode a section; `names` is what its template has to know of players' names."""
    if form is FeedFormat.JSON:
        return orjson.dumps(state.data)
    return orjson.dumps(render(state.section.template, site, {"part": state.data, **names}))


def _deflate_message(message: bytes) -> bytes:
    """Compress a message independently of earlier ones, so that it fits into every listener's gzip stream."""
    packer = zlib.compressobj(5, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(message) + packer.flush(zlib.Z_FULL_FLUSH)
