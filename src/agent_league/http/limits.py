"""Limits on the connections of one server: their number, their size and their time.

Extends uvicorn's protocol, which waits for a request for ever and accepts headers of any size. Time is counted in ticks
of one timer for all connections, so that a request that comes in one piece costs next to nothing more. What this leans
on is public by name but not promised by uvicorn: `tests/http/test_uvicorn.py` says what it is.
"""

import asyncio
import itertools
import sys
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from agent_league.http.caller_address import UNKNOWN_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.link_frames import LINK_PATH, LINK_PROTOCOL
from agent_league.http.link_server import LinkedProcess, LinkTargets
from agent_league.http.request_parser import RequestParser

MAX_HEAD = 64 * 1024
MAX_HEADERS = 100
HEAD_TOO_LARGE = f"expected at most {MAX_HEADERS} headers of {MAX_HEAD} bytes in all"
MAX_MESSAGE = 2 * MAX_BODY
"""Bytes of a body with its chunk sizes and trailers."""
MAX_DRAINED = 32 * MAX_BODY
"""Bytes of a rejected body to drain so that the client can read the 413."""
MAX_UNFINISHED = 64 * MAX_BODY
"""Bytes of unfinished requests, of all connections together."""
MAX_UNREAD_ANSWERS = 32 * MAX_BODY
"""Bytes of answers that clients haven't read, of all connections together."""
MAX_CONNECTIONS = 1000
TOO_MANY = "too many at once; come again in a while"
TICKS_PER_TIMEOUT = 10
"""Ticks of the timer within one request timeout."""
CANCELLED_SECONDS = 1
"""How long a stopping server waits for the calls that it has cancelled."""

RejectionCallback = Callable[[Address | None, int, str], None]
"""Called for each rejected request with client address, HTTP status and sentence."""


def _default_max_connections() -> int:
    """A thousand, or half of the open-file limit, which leaves files for everything else."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not there on Windows

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)


class LinkAcceptor(Protocol):
    """An application whose server may take links."""

    link_targets: LinkTargets | None
    """The agents that are called over links; None: no links are taken."""

    def check_link(self, scope: Scope) -> None:
        """Check the headers of a request for a link; raises RequestRejected."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one server that can be configured."""

    request_timeout: float = 10
    """Seconds within which a whole request must arrive, and its answer be read."""
    keep_alive_timeout: float = 75
    """Seconds for which a connection may be idle."""
    max_connections: int = field(default_factory=_default_max_connections)


class ServerLimits(ServerState):
    """All connections of a server, with the limits they share."""

    def __init__(
        self,
        limits: ConnectionLimits,
        on_rejected: RejectionCallback | None = None,
        links: LinkAcceptor | None = None,
    ) -> None:
        super().__init__()
        self.links = links
        self.limits = limits
        self.on_rejected = on_rejected
        self.idle_ticks = limits.keep_alive_timeout * TICKS_PER_TIMEOUT / limits.request_timeout
        self.connection_numbers = itertools.count()
        self.unfinished_bytes = 0
        self.is_stopped = False
        self._timer: asyncio.TimerHandle | None = None

    def start_timer(self) -> None:
        """Schedule the next tick."""
        self._timer = asyncio.get_running_loop().call_later(
            self.limits.request_timeout / TICKS_PER_TIMEOUT, self._tick_all
        )

    def stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()

    async def close_connections(self) -> None:
        """Close what a stopping server has waited for in vain, and whatever is accepted from now on.

        Calls that it has cancelled answer first; an answer that isn't read by then is lost.
        """
        self.is_stopped = True
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=CANCELLED_SECONDS)
        await asyncio.sleep(0)  # answers are written at the end of a tick
        for connection in [*self.connections]:
            transport = connection.transport
            (transport.abort if transport.get_write_buffer_size() else transport.close)()

    def _tick_all(self) -> None:
        for connection in self.list_connections():
            connection.count_tick()
        self.start_timer()

    def count_unfinished(self, size: int) -> None:
        """Count bytes of unfinished requests, of which the slowest is rejected if they are too many."""
        self.unfinished_bytes += size
        if size > 0 and self.unfinished_bytes > MAX_UNFINISHED:
            self.close_slowest(holding=True)

    @property
    def has_room_for_websocket(self) -> bool:
        """Whether WebSockets, which nobody closes for being idle, have less than half of the connections."""
        sockets = len(self.connections) - len(self.list_connections())
        return sockets < self.limits.max_connections // 2

    def list_connections(self) -> "list[LimitedProtocol | LinkedProcess]":
        return [each for each in self.connections if isinstance(each, LimitedProtocol | LinkedProcess)]

    def close_slow_readers(self, answered: "LimitedProtocol | LinkedProcess") -> None:
        """Abort connections that don't read their answers, slowest first, while MAX_UNREAD_ANSWERS is exceeded."""
        unread = [each for each in self.list_connections() if each.unread_bytes and each is not answered]
        left = answered.unread_bytes + sum(each.unread_bytes for each in unread)
        for connection in sorted(unread, key=lambda each: (-each.waiting_ticks, each.connection_number)):
            if left <= MAX_UNREAD_ANSWERS:
                return
            left -= connection.unread_bytes
            connection.transport.abort()

    def close_slowest(self, *, holding: bool = False) -> bool:
        """Reject the connection that has been waiting longest; False if each has a pending request.

        `holding` considers only connections with an unfinished request.
        """
        idle = [
            each
            for each in self.list_connections()
            if not each.has_pending_request and not each.is_closing and (each.unfinished_bytes or not holding)
        ]
        if not idle:
            return False
        max(idle, key=lambda each: (each.waiting_ticks, -each.connection_number)).reject(503, TOO_MANY)
        return True


class PipelineFlowControl(FlowControl):
    """Pauses reading while pipelined requests wait to be answered."""

    def __init__(self, transport: asyncio.Transport, ahead: Sized) -> None:
        super().__init__(transport)
        self._pipeline = ahead

    def resume_reading(self) -> None:
        if not self._pipeline:
            super().resume_reading()


class LimitedProtocol(HttpToolsProtocol):
    """One connection within the limits of its server."""

    server_state: ServerLimits
    cycle: RequestResponseCycle | None  # type: ignore[assignment]  # none before the first request

    def __init__(
        self, config: Config, server_state: ServerLimits, app_state: dict[str, object], **rest: object
    ) -> None:
        super().__init__(config, server_state, app_state, **rest)  # type: ignore[arg-type]
        self.parser: RequestParser = RequestParser(self)
        self.connection_number = next(server_state.connection_numbers)
        self.waiting_ticks = 0
        """Ticks spent waiting for its request, or for it to read an answer."""
        self._idle_ticks = 0
        """Ticks since its last request was answered."""
        self.unfinished_bytes = 0
        """Bytes of an unfinished request."""
        self._drained_bytes = 0
        self._is_unfinished = True
        self._is_handed_over = False
        """Whether another protocol has its connection."""
        self._requests_read = 0
        self._chunk_size = 0
        """Bytes of the chunk of data that is being parsed."""
        self._final_response: tuple[int, str] | None = None
        """Status and sentence to close with once pending requests are answered; nothing more is read until then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        server = self.server_state
        full = len(server.connections) >= server.limits.max_connections and not server.close_slowest()
        super().connection_made(transport)
        self.flow = PipelineFlowControl(transport, self.pipeline)
        if server.is_stopped:
            transport.abort()
        elif full:
            self.reject(503, TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._release_bytes()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._final_response:
            return
        self._is_unfinished, self._chunk_size, before = True, len(data), self._requests_read
        super().data_received(data)
        if self._requests_read == before and not self._is_handed_over:
            self._count_unfinished(len(data))

    def send_400_response(self, msg: str) -> None:
        """Reject what the parser couldn't read; called by uvicorn."""
        self._reject_after_pending(*(self.parser.rejection or (400, msg)))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_unfinished = True

    def takes_upgrade(self) -> bool:
        """Whether this request opens a WebSocket: not behind pipelined requests, nor where too many are open."""
        return self._should_upgrade() and not self.has_pending_request and self.server_state.has_room_for_websocket

    def _should_upgrade(self) -> bool:
        """Whether the offer is one for a link or a WebSocket that this server takes; called by uvicorn."""
        return self._asks_for_link() or super()._should_upgrade()

    def _asks_for_link(self) -> bool:
        links = self.server_state.links
        return (
            links is not None
            and links.link_targets is not None
            and self.url == LINK_PATH.encode()
            and self._get_upgrade() == LINK_PROTOCOL.encode()
        )

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a WebSocket or a link; called by uvicorn."""
        self._release_bytes()
        if self._asks_for_link():
            self._open_link()
        else:
            super().handle_websocket_upgrade()
        self._is_handed_over = True

    def _open_link(self) -> None:
        links = self.server_state.links
        if links is None or links.link_targets is None:
            return
        try:
            links.check_link(dict(self.scope))
        except RequestRejected as rejected:
            self.reject(rejected.status, rejected.sentence)
            return
        self.connections.discard(self)
        link = LinkedProcess(links.link_targets, self.server_state, self.client or UNKNOWN_ADDRESS, TICKS_PER_TIMEOUT)
        link.connection_made(self.transport)
        self.transport.set_protocol(link)

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade() and not self.takes_upgrade():
            return
        if len(self.headers) > MAX_HEADERS or (
            self.unfinished_bytes + self._chunk_size > MAX_HEAD and self._measure_head() > MAX_HEAD
        ):
            parser.reject_request(431, HEAD_TOO_LARGE)
        super().on_headers_complete()

    def _measure_head(self) -> int:
        """Bytes of the head that was just parsed; it may have come in one chunk with what follows."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._is_unfinished, self.waiting_ticks = False, 0
        self._requests_read += 1
        if self.unfinished_bytes or self._drained_bytes:
            self._release_bytes()
        super().on_message_complete()
        if self.cycle:
            self.cycle.more_body = False  # uvicorn leaves that out if the answer was quicker than the body

    def on_response_complete(self) -> None:
        """Begin the next request, if it came already; else do without uvicorn's timer: ticks close idle connections."""
        self._idle_ticks = 0
        final = self._final_response
        if final and not self.is_closing and (not self.pipeline or self.pipeline[-1][0].more_body):
            self._send_final_response(*final)
        elif self.pipeline:
            super().on_response_complete()
        elif not self.is_closing:
            self.flow.resume_reading()

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.server_state.close_slow_readers(self)

    @property
    def unread_bytes(self) -> int:
        """Bytes of answers that the client hasn't read."""
        return self.transport.get_write_buffer_size()

    @property
    def has_pending_request(self) -> bool:
        """Whether a complete request has no answer yet."""
        cycle = self.cycle
        return bool(self.pipeline) or (cycle is not None and not cycle.more_body and not cycle.response_complete)

    def count_tick(self) -> None:
        """Count one tick; reject a slow request or a client that doesn't read its answer, close an idle connection."""
        is_pending = self.has_pending_request
        is_slow = self._is_unfinished and not is_pending
        self.waiting_ticks = self.waiting_ticks + 1 if is_slow or self.unread_bytes else 0
        self._idle_ticks = 0 if is_slow or is_pending else self._idle_ticks + 1
        if self.waiting_ticks > TICKS_PER_TIMEOUT:
            patience = self.server_state.limits.request_timeout
            self.reject(408, f"expected a whole request within {patience:g} s of its beginning")
        elif self._idle_ticks > self.server_state.idle_ticks:
            self.transport.close()

    def reject(self, status: int, sentence: str) -> None:
        """Close the connection, with this status and sentence if no other answer has begun."""
        if self._can_send_rejection:
            self._send_final_response(status, sentence)
        else:
            self.transport.abort()
        self._release_bytes()

    def _send_final_response(self, status: int, sentence: str) -> None:
        if refused := self.server_state.on_rejected:
            refused(self.client, status, sentence)
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}content-length: {len(sentence)}\r\nconnection: close\r\n\r\n{sentence}".encode())
        self.transport.close()

    def _reject_after_pending(self, status: int, sentence: str) -> None:
        """Stop reading, and reject once every complete request before this one is answered."""
        if self._final_response or self.is_closing:
            return
        self._final_response = (status, sentence)
        self._release_bytes()
        if self.has_pending_request:
            self.flow.pause_reading()
        else:
            self.reject(status, sentence)

    @property
    def _can_send_rejection(self) -> bool:
        cycle = self.cycle
        if self.is_closing or self.pipeline or self.unread_bytes:
            return False
        return cycle is None or not cycle.response_started or (cycle.response_complete and not cycle.more_body)

    def _count_unfinished(self, size: int) -> None:
        """Count the bytes of an unfinished request, and reject it if a limit is passed."""
        if self._final_response or self.is_closing:
            return
        cycle, server = self.cycle, self.server_state
        in_body = cycle is not None and cycle.more_body
        if cycle and in_body and cycle.response_started:
            self._release_bytes(keep=self._drained_bytes + size)
            if self._drained_bytes > MAX_DRAINED:
                self.reject(413, "")
            return
        self.unfinished_bytes += size
        server.unfinished_bytes += size
        if (self.unfinished_bytes > MAX_HEAD and not in_body) or len(self.headers or ()) > MAX_HEADERS:
            self._reject_after_pending(431, HEAD_TOO_LARGE)
        elif self.unfinished_bytes > MAX_MESSAGE:
            self._reject_after_pending(
                413, f"expected a request of at most {MAX_MESSAGE} bytes, chunks and trailers included"
            )
        elif server.unfinished_bytes > MAX_UNFINISHED:
            server.close_slowest(holding=True)

    def _release_bytes(self, keep: int = 0) -> None:
        self.server_state.unfinished_bytes -= self.unfinished_bytes
        self.unfinished_bytes, self._drained_bytes = 0, keep
