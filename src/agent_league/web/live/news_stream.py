"""Server-sent events that say only that something has changed; the page then asks for itself again (`refresh.js`).

For pages that not everybody may see: what they show is read with the rights that their reader has by then, and the
right to listen is asked for again before each message.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from agent_league.http.carrier import RequestRejected
from agent_league.http.event_stream import HEARTBEAT_SECONDS, STREAM_HEADERS, STREAM_START, EventIds, format_event
from agent_league.web.live.feed import HEARTBEAT_MESSAGE

TICK_SECONDS = 1.0
MAX_LISTENERS = 20
NEWS = b"{}"


async def allow_everybody() -> bool:
    """The right to listen to a stream that is for all."""
    return True


@dataclass(eq=False, slots=True)
class _Listener:
    seen_version: int
    wake_event: asyncio.Event = field(default_factory=asyncio.Event)


class NewsStream:
    """Tells its listeners when what `read_version` returns is no longer the same; it is read once a second."""

    def __init__(
        self,
        read_version: Callable[[], Hashable],
        max_listeners: int = MAX_LISTENERS,
        tick: float = TICK_SECONDS,
    ) -> None:
        self._read_version = read_version
        self._max_listeners = max_listeners
        self._tick_seconds = tick
        self._event_ids = EventIds()
        self._latest: Hashable = object()
        self._version = 0
        self._listeners: set[_Listener] = set()
        self._tick_task: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def listeners(self) -> int:
        """Number of connected listeners."""
        return len(self._listeners)

    def read_id(self) -> str:
        """Return the id of the latest message, to be read before a page's data: later changes are told after it."""
        self._look()
        return self._event_ids.format_id(self._version)

    def answer(self, scope: Scope, is_allowed: Callable[[], Awaitable[bool]] = allow_everybody) -> Response:
        """Answer a listener with the stream; it ends as soon as `is_allowed` says no. Raises RequestRejected."""
        if scope["method"] == "HEAD":
            return Response(headers=STREAM_HEADERS)
        if self._is_closing or len(self._listeners) >= self._max_listeners:
            raise RequestRejected(503, "Too many listen at once; come again in a while.")
        self._look()
        listener = _Listener(self._event_ids.parse_last_id(scope, self._version))
        return StreamingResponse(self._iter_messages(listener, is_allowed), headers=STREAM_HEADERS)

    async def close(self) -> None:
        """End all streams."""
        self._is_closing = True
        if self._tick_task:
            self._tick_task.cancel()
            await asyncio.gather(self._tick_task, return_exceptions=True)
        for listener in self._listeners:
            listener.wake_event.set()

    async def _iter_messages(
        self, listener: _Listener, is_allowed: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        self._listeners.add(listener)
        if self._tick_task is None or self._tick_task.done():
            self._tick_task = asyncio.create_task(self._run_ticks())
        try:
            yield STREAM_START
            while not self._is_closing and await is_allowed():
                if listener.seen_version < self._version:
                    listener.seen_version = self._version
                    yield format_event(self._event_ids.format_id(self._version), NEWS)
                    continue
                listener.wake_event.clear()
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await listener.wake_event.wait()
                except TimeoutError:
                    yield HEARTBEAT_MESSAGE
        finally:
            self._listeners.discard(listener)

    async def _run_ticks(self) -> None:
        while self._listeners:
            await asyncio.sleep(self._tick_seconds)
            self._look()
            for listener in self._listeners:
                if listener.seen_version < self._version:
                    listener.wake_event.set()

    def _look(self) -> None:
        latest = self._read_version()
        if latest != self._latest:
            self._latest = latest
            self._version += 1
