"""The live feed: the overview's sections as server-sent events.

A message holds every section that changed since the listener's last message, each in full: nothing can drift, and a
slow listener only misses intermediate states. Messages are built and compressed once for all listeners at the same
version; per listener only the version of its last message is kept.
"""

import asyncio
import zlib
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from agent_league.http.limits import Limits
from agent_league.log import JsonLogger
from agent_league.web.event_stream import BEGIN, HEADERS, HEARTBEAT_SECONDS, NOTHING_SEEN, EventIds
from agent_league.web.league_reader import Reader
from agent_league.web.live.sections import SECTIONS, Data, Section
from agent_league.web.page_cache import takes_gzip
from agent_league.web.rendering import render
from agent_league.web.site import Site

TICK_SECONDS = 0.25
REST = 5
"""After a refresh, wait this many times as long as it took."""
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
HEARTBEAT = b": still here\nevent: beat\ndata:\n\n"
"""A comment, and an event because scripts don't see comments."""


class Form(StrEnum):
    """Format of the sections: HTML fragments for pages, or JSON data for programs."""

    HTML = "html"
    JSON = "json"


@dataclass(slots=True)
class _State:
    """A section's data as last read, and its encodings."""

    section: Section
    data: Data | None = None
    version: int = 0
    """Version of the feed at its last change."""
    read_at: float = 0
    told: dict[Form, bytes] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _Listener:
    form: Form
    is_zipped: bool
    seen: int
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    is_gone: bool = False


class Live:
    """ASGI endpoint of the live feed."""

    def __init__(
        self,
        reader: Reader,
        site: Site,
        log: JsonLogger | None = None,
        tick: float = TICK_SECONDS,
        most: int | None = None,
    ) -> None:
        """Limit listeners to `max_listeners`, by default a quarter of all connections, to leave room for agents."""
        self._reader = reader
        self._site = site
        self._log = log
        self._tick_seconds = tick
        self._most = Limits().connections // 4 if most is None else most
        self._ids = EventIds()
        self._version = 0
        self._read_version = NOTHING_SEEN
        self._states = [_State(section) for section in SECTIONS]
        self._messages: dict[tuple[Form, bool, int], bytes] = {}
        """Messages of the current version, by format, compression and the version that the listener has seen."""
        self._busy = asyncio.Lock()
        self._listeners: set[_Listener] = set()
        self._addresses: Counter[str] = Counter()
        self._ticking: asyncio.Task[None] | None = None
        self._is_closing = False
        self._trouble = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._newcomer(scope)
        headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        if listener.is_zipped:
            headers.append((b"content-encoding", b"gzip"))
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        address = self._admit(scope)
        self._listeners.add(listener)
        leaving = asyncio.create_task(_until_gone(receive, listener))
        try:
            await self._refresh()
            self._keep_ticking()
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._serve(listener, send)
        finally:
            leaving.cancel()
            self._listeners.discard(listener)
            self._addresses[address] -= 1
            self._addresses += Counter()  # drops addresses without listeners

    @property
    def listeners(self) -> int:
        """Number of connected listeners."""
        return len(self._listeners)

    async def close(self) -> None:
        """End all streams after a last message with the final state."""
        if self._ticking:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        if self._listeners:
            await self._look()
        self._is_closing = True
        for listener in self._listeners:
            listener.wake.set()

    def _newcomer(self, scope: Scope) -> _Listener:
        asked = Headers(scope=scope)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        form = query.get("form", Form.HTML)
        if form not in Form.__members__.values():
            raise HTTPException(400, f"form is {form[:40]!r}; expected html or json.")
        is_zipped = takes_gzip(asked.get("accept-encoding", ""))
        return _Listener(Form(form), is_zipped, self._ids.seen(scope, self._version))

    def _admit(self, scope: Scope) -> str:
        address = str((scope.get("client") or ("",))[0])
        full = len(self._listeners) >= self._most or self._addresses[address] >= max(1, self._most // 2)
        if full or self._is_closing:
            raise HTTPException(503, "Too many listen at once; come again in a while.", {"retry-after": "10"})
        self._addresses[address] += 1
        return address

    async def _serve(self, listener: _Listener, send: Send) -> None:
        body = GZIP_HEADER + _deflated(BEGIN) if listener.is_zipped else BEGIN
        await send({"type": "http.response.body", "body": body, "more_body": True})
        heartbeat = _deflated(HEARTBEAT) if listener.is_zipped else HEARTBEAT
        while not listener.is_gone:
            if listener.seen < self._version:
                message, version = await self._message(listener)
                await send({"type": "http.response.body", "body": message, "more_body": True})
                listener.seen = version
                continue
            if self._is_closing:
                break
            listener.wake.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await listener.wake.wait()
            except TimeoutError:
                await send({"type": "http.response.body", "body": heartbeat, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _keep_ticking(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        """Refresh the sections at intervals while there are listeners, and wake those that are behind."""
        now = asyncio.get_running_loop().time
        while self._listeners:
            began = now()
            await self._look()
            for listener in self._listeners:
                if listener.seen < self._version:
                    listener.wake.set()
            await asyncio.sleep(max(self._tick_seconds, REST * (now() - began)))

    async def _look(self) -> None:
        try:
            await self._refresh()
        except Exception as error:  # noqa: BLE001 - the next refresh may succeed
            if self._log and repr(error) != self._trouble:
                self._log.error("live_failed", error=repr(error)[:500])
            self._trouble = repr(error)

    async def _refresh(self) -> None:
        """Read the sections that may have changed and encode changed ones in all formats in use."""
        async with self._busy:
            version, now = self._reader.chronicle.version, asyncio.get_running_loop().time()
            has_news = version != self._read_version
            changed = [state for state in self._states if _is_due(state, now, has_news=has_news) and self._read(state)]
            self._read_version = version
            if not changed:
                return
            self._version += 1
            self._messages.clear()
            for state in changed:
                state.version = self._version
                state.told.clear()
            for form in {listener.form for listener in self._listeners}:
                await self._tell(form, changed)

    def _read(self, state: _State) -> bool:
        """Read a section's data; return whether it changed."""
        state.read_at = asyncio.get_running_loop().time()
        data = state.section.read(self._reader)
        if data == state.data:
            return False
        state.data = data
        return True

    async def _tell(self, form: Form, states: list[_State]) -> None:
        missing = [state for state in states if form not in state.told]
        if missing:
            told = await asyncio.to_thread(lambda: [_told(form, state, self._site) for state in missing])
            for state, text in zip(missing, told, strict=True):
                state.told[form] = text

    async def _message(self, listener: _Listener) -> tuple[bytes, int]:
        """Return the message with everything the listener hasn't seen, and its version."""
        async with self._busy:
            wanted = (listener.form, listener.is_zipped, listener.seen)
            if wanted not in self._messages:
                news = [state for state in self._states if state.version > listener.seen]
                await self._tell(listener.form, news)
                parts = b",".join(
                    b'"%b":%b' % (state.section.name.encode(), state.told[listener.form]) for state in news
                )
                message = b"id: %b\ndata: {%b}\n\n" % (self._ids.of(self._version).encode(), parts)
                self._messages[wanted] = _deflated(message) if listener.is_zipped else message
            return self._messages[wanted], self._version


def _is_due(state: _State, now: float, *, has_news: bool) -> bool:
    if state.data is None:
        return True
    rest = state.section.rest
    return has_news if rest is None else now - state.read_at >= rest


def _told(form: Form, state: _State, site: Site) -> bytes:
    if form is Form.JSON:
        return orjson.dumps(state.data)
    return orjson.dumps(render(state.section.template, site, {"part": state.data}))


def _deflated(message: bytes) -> bytes:
    """Compress a message independently of earlier ones, so that it fits into every listener's gzip stream."""
    packer = zlib.compressobj(5, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(message) + packer.flush(zlib.Z_FULL_FLUSH)


async def _until_gone(receive: Receive, listener: _Listener) -> None:
    event: Any = {}
    while event.get("type") != "http.disconnect":
        event = await receive()
    listener.is_gone = True
    listener.wake.set()
