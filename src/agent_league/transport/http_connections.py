"""The connections of one server, and how long, how large and how many they may be.

Extends uvicorn's own, which waits for a request for ever and keeps headers of any size. Time is counted in ticks of one
timer for all connections, so that a request that comes in one piece costs next to nothing more.
"""

import asyncio
import itertools
import sys
from collections.abc import Sized
from dataclasses import dataclass, field

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from agent_league.transport.carrier import MAX_BODY

MAX_HEAD = 64 * 1024
MAX_HEADERS = 100
MAX_MESSAGE = 2 * MAX_BODY
"""A body with its chunks' lengths and its trailers."""
MAX_DROPPED = 32 * MAX_BODY
"""So much of a body that is refused already is read and forgotten, so that its sender gets to read why."""
MAX_HELD = 64 * MAX_BODY
"""Unfinished requests of all connections together."""
MAX_CONNECTIONS = 1000
TICKS = 10
"""Into so many a server's patience is divided."""


def _most_connections() -> int:
    """A thousand, or half of what this process may open: something has to be left for everything else."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not there on Windows

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server bears."""

    patience: float = 10
    """Seconds for a request to be there with all its body, and for its answer to be taken."""
    connections: int = field(default_factory=_most_connections)


class Crowd(ServerState):
    """All connections of a server."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.numbers = itertools.count()
        self.held = 0
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Counts time from now on."""
        self._timer = asyncio.get_running_loop().call_later(self.limits.patience / TICKS, self._tick)

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _tick(self) -> None:
        for visitor in self.visitors():
            visitor.tick()
        self.watch()

    def visitors(self) -> "list[Visitor]":
        return [visitor for visitor in self.connections if isinstance(visitor, Visitor)]

    def make_room(self, *, holding: bool = False) -> bool:
        """Ends the connection that keeps us waiting longest; False where each is owed an answer."""
        idle = [
            visitor
            for visitor in self.visitors()
            if not visitor.is_owed and not visitor.is_leaving and (visitor.held or not holding)
        ]
        if not idle:
            return False
        longest = max(idle, key=lambda visitor: (visitor.waiting, -visitor.number))
        longest.dismiss(503, "too many at once; come again in a while")
        return True


class Flow(FlowControl):
    """Reads nothing more as long as requests that were sent ahead wait for their turn, however many there are."""

    def __init__(self, transport: asyncio.Transport, ahead: Sized) -> None:
        super().__init__(transport)
        self._ahead = ahead

    def resume_reading(self) -> None:
        if not self._ahead:
            super().resume_reading()


class Visitor(HttpToolsProtocol):
    """One connection."""

    server_state: Crowd
    cycle: RequestResponseCycle | None  # type: ignore[assignment]  # none before the first request

    def __init__(self, config: Config, server_state: Crowd, app_state: dict[str, object], **rest: object) -> None:
        super().__init__(config, server_state, app_state, **rest)  # type: ignore[arg-type]
        self.number = next(server_state.numbers)
        self.waiting = 0
        """Ticks for which it has kept us waiting."""
        self.held = 0
        """Bytes of an unfinished request."""
        self._dropped = 0
        self._unfinished = True
        self._completed = False
        """Whether the last piece of data held the end of a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        crowd = self.server_state
        full = len(crowd.connections) >= crowd.limits.connections and not crowd.make_room()
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        if full:
            self.dismiss(503, "too many at once; come again in a while")

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unfinished = True
        self._completed = False
        super().data_received(data)
        if self._unfinished and not self._completed and not self.is_leaving:
            self._take_in(len(data))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unfinished = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unfinished = False
        self._completed = True
        self.waiting = 0
        if self.held or self._dropped:
            self._let_go()
        if self.cycle and self.cycle.response_complete:
            self._end_of_refused_body(self.cycle)

    def _end_of_refused_body(self, cycle: RequestResponseCycle) -> None:
        """Does what uvicorn leaves out where the answer was quicker than the body: the connection is idle again."""
        cycle.more_body = False
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    @property
    def is_leaving(self) -> bool:
        return self.transport.is_closing()

    @property
    def is_owed(self) -> bool:
        """Whether a whole request of it has no answer yet."""
        cycle = self.cycle
        return bool(self.pipeline) or (cycle is not None and not cycle.more_body and not cycle.response_complete)

    def tick(self) -> None:
        """One more tick has passed."""
        unread = self.transport.get_write_buffer_size() > 0
        slow = self._unfinished and not self.is_owed
        self.waiting = self.waiting + 1 if unread or slow else 0
        if self.waiting > TICKS:
            patience = self.server_state.limits.patience
            self.dismiss(408, f"expected a whole request within {patience:g} s of its beginning")

    def dismiss(self, status: int, sentence: str) -> None:
        """Ends the connection: with an answer where none is under way, and else at once."""
        if self._may_speak:
            headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(sentence)}\r\nconnection: close"
            self.transport.write(STATUS_LINE[status] + f"{headers}\r\n\r\n{sentence}".encode())
            self.transport.close()
        else:
            self.transport.abort()
        self._let_go()

    @property
    def _may_speak(self) -> bool:
        cycle = self.cycle
        if self.is_leaving or self.pipeline or self.transport.get_write_buffer_size():
            return False
        return cycle is None or not cycle.response_started or (cycle.response_complete and not cycle.more_body)

    def _take_in(self, size: int) -> None:
        """Counts a piece of an unfinished request."""
        cycle, crowd = self.cycle, self.server_state
        in_body = cycle is not None and cycle.more_body
        if cycle and in_body and cycle.response_started:
            self._let_go(keep=self._dropped + size)
            if self._dropped > MAX_DROPPED:
                self.dismiss(413, "")
            return
        self.held += size
        crowd.held += size
        if (self.held > MAX_HEAD and not in_body) or len(self.headers or ()) > MAX_HEADERS:
            self.dismiss(431, f"expected at most {MAX_HEADERS} headers of {MAX_HEAD} bytes in all")
        elif self.held > MAX_MESSAGE:
            self.dismiss(413, f"expected a request of at most {MAX_MESSAGE} bytes, chunks and trailers included")
        elif crowd.held > MAX_HELD:
            crowd.make_room(holding=True)

    def _let_go(self, keep: int = 0) -> None:
        self.server_state.held -= self.held
        self.held, self._dropped = 0, keep
