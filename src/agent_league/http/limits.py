"""Limits on the connections of one server: their number, their size and their time.

Extends uvicorn's protocol, which waits for a request for ever and accepts headers of any size. Time is counted in ticks
of one timer for all connections, so that a request that comes in one piece costs next to nothing more. A plain call,
which is nearly every request to an agent, is answered here directly; everything else goes through ASGI.
"""

import asyncio
import itertools
import sys
from collections.abc import Callable, Coroutine, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from agent_league.http.caller import CALLER_ADDRESS, UNKNOWN_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY
from agent_league.http.guard import HeaderFields
from agent_league.http.request_parser import RequestParser, UnsupportedRequest

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
TICKS_PER_TIMEOUT = 10
"""Ticks of the timer within one request timeout."""
OK_RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"
ACCEPTED_RESPONSE = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n%b\r\n"
CLOSE_HEADER = b"connection: close\r\n"

RequestHeaders = Sequence[tuple[bytes, bytes]]
"""Names in lower case, and values."""
RejectionCallback = Callable[[Address | None, int, str], None]
"""Called for each rejected request with client address, HTTP status and sentence."""


def _default_max_connections() -> int:
    """A thousand, or half of the open-file limit, which leaves files for everything else."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not there on Windows

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one server that can be configured."""

    request_timeout: float = 10
    """Seconds within which a whole request must arrive, and its answer be read."""
    keep_alive_timeout: float = 75
    """Seconds for which a connection may be idle."""
    max_connections: int = field(default_factory=_default_max_connections)


class NotPlainCall(Exception):
    """A call that only ASGI can answer; it has had no effect yet."""


class ServerBusy(Exception):
    """Too many calls wait already for another one to be queued."""


class PlainCallEndpoint(Protocol):
    """Answers plain calls without ASGI."""

    def admit(self, url: bytes, headers: RequestHeaders) -> HeaderFields | None:
        """Return the headers of a POST if, by its head, it is a plain call; else None."""
        ...

    async def answer(self, body: bytes, fields: HeaderFields, address: str) -> bytes | None:
        """Return the answer, or None for a notification; raises NotPlainCall or ServerBusy."""
        ...


class _NoEvent:
    """Stands in for the asyncio.Event that uvicorn expects; nothing waits for it."""

    def set(self) -> None:
        pass


NO_EVENT = _NoEvent()


class PlainCall:
    """A plain call that is being read or answered; has the attributes of uvicorn's RequestResponseCycle."""

    __slots__ = (
        "body",
        "disconnected",
        "fields",
        "headers",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
        "response_started",
    )

    def __init__(self, headers: RequestHeaders, fields: HeaderFields, *, keep_alive: bool) -> None:
        self.headers = headers
        self.fields = fields
        self.message_event = NO_EVENT
        self.keep_alive = keep_alive
        self.body: bytes | bytearray = b""
        self.more_body = True
        self.disconnected = self.response_started = self.response_complete = False


class ServerLimits(ServerState):
    """All connections of a server, with the limits they share."""

    def __init__(
        self,
        limits: ConnectionLimits,
        call_handler: PlainCallEndpoint | None = None,
        on_rejected: RejectionCallback | None = None,
    ) -> None:
        super().__init__()
        self.limits = limits
        self.call_handler = call_handler
        self.on_rejected = on_rejected
        self.idle_ticks = limits.keep_alive_timeout * TICKS_PER_TIMEOUT / limits.request_timeout
        self.connection_numbers = itertools.count()
        self.unfinished_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def start_timer(self) -> None:
        """Schedule the next tick."""
        self._timer = asyncio.get_running_loop().call_later(
            self.limits.request_timeout / TICKS_PER_TIMEOUT, self._tick_all
        )

    def stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _tick_all(self) -> None:
        for visitor in self.list_connections():
            visitor.count_tick()
        self.start_timer()

    def list_connections(self) -> "list[LimitedProtocol]":
        return [visitor for visitor in self.connections if isinstance(visitor, LimitedProtocol)]

    def close_slow_readers(self, answered: "LimitedProtocol") -> None:
        """Abort connections that don't read their answers, slowest first, while MAX_UNREAD_ANSWERS is exceeded."""
        unread = [visitor for visitor in self.list_connections() if visitor.unread_bytes and visitor is not answered]
        left = answered.unread_bytes + sum(visitor.unread_bytes for visitor in unread)
        for visitor in sorted(unread, key=lambda visitor: (-visitor.waiting_ticks, visitor.connection_number)):
            if left <= MAX_UNREAD_ANSWERS:
                return
            left -= visitor.unread_bytes
            visitor.transport.abort()

    def close_slowest(self, *, holding: bool = False) -> bool:
        """Reject the connection that has been waiting longest; False if each has a pending request.

        `holding` considers only connections with an unfinished request.
        """
        idle = [
            visitor
            for visitor in self.list_connections()
            if not visitor.has_pending_request and not visitor.is_closing and (visitor.unfinished_bytes or not holding)
        ]
        if not idle:
            return False
        longest = max(idle, key=lambda visitor: (visitor.waiting_ticks, -visitor.connection_number))
        longest.reject(503, "too many at once; come again in a while")
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
    cycle: RequestResponseCycle | PlainCall | None  # type: ignore[assignment]  # none before the first request

    def __init__(
        self, config: Config, server_state: ServerLimits, app_state: dict[str, object], **rest: object
    ) -> None:
        super().__init__(config, server_state, app_state, **rest)  # type: ignore[arg-type]
        self.parser: RequestParser = RequestParser(self)  # type: ignore[assignment]  # with the same methods
        self.connection_number = next(server_state.connection_numbers)
        self.waiting_ticks = 0
        """Ticks spent waiting for its request, or for it to read an answer."""
        self._idle_ticks = 0
        """Ticks since its last request was answered."""
        self.unfinished_bytes = 0
        """Bytes of an unfinished request."""
        self._drained_bytes = 0
        self._is_unfinished = True
        self._has_completed = False
        """Whether the last chunk of data held the end of a request."""
        self._chunk_size = 0
        """Bytes of the chunk of data that is being parsed."""
        self._final_response: tuple[int, str] | None = None
        """Status and sentence to close with once pending requests are answered; nothing more is read until then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        crowd = self.server_state
        full = len(crowd.connections) >= crowd.limits.max_connections and not crowd.close_slowest()
        super().connection_made(transport)
        self.flow = PipelineFlowControl(transport, self.pipeline)
        if full:
            self.reject(503, "too many at once; come again in a while")

    def connection_lost(self, exc: Exception | None) -> None:
        self._release_bytes()
        self.parser.close()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._final_response:
            return
        self._is_unfinished = True
        self._has_completed = False
        self._chunk_size = len(data)
        try:
            self.parser.feed_data(data)
        except UnsupportedRequest as error:
            self._reject_after_pending(error.status, error.sentence)
        except httptools.HttpParserError:
            self._reject_after_pending(400, "Invalid HTTP request received.")
        if self._final_response:
            return
        if self._is_unfinished and not self._has_completed and not self.is_closing:
            self._count_unfinished(len(data))

    def on_message_begin(self) -> None:
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._is_unfinished = True

    def on_headers_complete(self) -> None:
        if self._has_large_head:
            self._reject_after_pending(431, HEAD_TOO_LARGE)
            raise UnsupportedRequest(431, HEAD_TOO_LARGE)  # so that nothing more of it is read
        desk = self.server_state.call_handler
        if desk and self._can_answer_now and (fields := desk.admit(self.url, self.headers)) is not None:
            self.cycle = PlainCall(self.headers, fields, keep_alive=self.parser.should_keep_alive())
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()  # makes what only ASGI needs
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    @property
    def _has_large_head(self) -> bool:
        """Whether the head that was just parsed is too large; it may have come in one chunk."""
        if len(self.headers) > MAX_HEADERS:
            return True
        if self.unfinished_bytes + self._chunk_size <= MAX_HEAD:
            return False
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEAD

    @property
    def _can_answer_now(self) -> bool:
        """Whether a POST can be answered at once: nothing is pending, and it doesn't expect 100 Continue."""
        cycle = self.cycle
        if (cycle is not None and not cycle.response_complete) or self.expect_100_continue:
            return False
        parser = self.parser
        return parser.get_method() == b"POST" and parser.get_http_version() == "1.1"

    def on_body(self, body: bytes) -> None:
        call = self.cycle
        if isinstance(call, PlainCall):
            if not call.body:
                call.body = body
            else:
                if isinstance(call.body, bytes):
                    call.body = bytearray(call.body)  # which grows in place: a body may come byte by byte
                call.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_unfinished = False
        self._has_completed = True
        self.waiting_ticks = 0
        if self.unfinished_bytes or self._drained_bytes:
            self._release_bytes()
        cycle = self.cycle
        if isinstance(cycle, PlainCall):
            cycle.more_body = False
            self._start_task(self._answer_plain_call(cycle))
            return
        super().on_message_complete()
        if cycle and cycle.response_complete:
            cycle.more_body = False  # uvicorn leaves that out where the answer was quicker than the body

    def _start_task(self, answering: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(answering)
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def _answer_plain_call(self, call: PlainCall) -> None:
        desk: PlainCallEndpoint = self.server_state.call_handler  # type: ignore[assignment]  # without one there is no PlainCall
        CALLER_ADDRESS.set(self.client or UNKNOWN_ADDRESS)
        body = call.body = bytes(call.body)  # replaces the bytearray: the call may wait, and two copies would be kept
        try:
            answer = await desk.answer(body, call.fields, self.client[0] if self.client else "")
        except NotPlainCall:
            self._hand_to_asgi(call)
            return
        except ServerBusy:  # rejected here: ASGI would make more copies of its body
            if not self.is_closing:
                self.reject(503, "too many calls wait here; come again in a while")
            return
        except BaseException as error:
            self.logger.error("a plain call failed", exc_info=error)
            if not self.is_closing:
                self.reject(500, "Internal Server Error")
            if not isinstance(error, Exception):
                raise
            return
        if self.flow.write_paused:
            await self.flow.drain()
        call.response_started = call.response_complete = True
        if self.is_closing:
            return
        last = b"" if call.keep_alive else CLOSE_HEADER
        self.transport.write(ACCEPTED_RESPONSE % last if answer is None else OK_RESPONSE % (len(answer), last, answer))
        if last:
            self.transport.close()
        self.on_response_complete()

    def _hand_to_asgi(self, call: PlainCall) -> None:
        """Have ASGI answer a call that turned out not to be plain."""
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": call.headers,
            "state": self.app_state.copy(),
            "method": "POST",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
        }
        cycle = RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=call.keep_alive,
            on_response=self.on_response_complete,
        )
        cycle.body, cycle.more_body, cycle.disconnected = bytearray(call.body), False, call.disconnected
        cycle.message_event.set()
        if self.cycle is call:
            self.cycle = cycle
        self._start_task(cycle.run_asgi(self.app))

    def on_response_complete(self) -> None:
        """Do as uvicorn does, but without a timer per connection: ticks close idle connections."""
        self._idle_ticks = 0
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self._final_response and (not self.pipeline or self.pipeline[-1][0].more_body):
            self._send_final_response(*self._final_response)
        elif self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

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
        """Count one tick; reject a slow request, close an idle connection."""
        unread = self.unread_bytes > 0
        slow = self._is_unfinished and not self.has_pending_request
        self.waiting_ticks = self.waiting_ticks + 1 if unread or slow else 0
        self._idle_ticks = 0 if slow or self.has_pending_request else self._idle_ticks + 1
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
        headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(sentence)}\r\nconnection: close"
        self.transport.write(STATUS_LINE[status] + f"{headers}\r\n\r\n{sentence}".encode())
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
        if self.is_closing or self.pipeline or self.transport.get_write_buffer_size():
            return False
        return cycle is None or not cycle.response_started or (cycle.response_complete and not cycle.more_body)

    def _count_unfinished(self, size: int) -> None:
        """Count the bytes of an unfinished request, and reject it if a limit is passed."""
        cycle, crowd = self.cycle, self.server_state
        in_body = cycle is not None and cycle.more_body
        if cycle and in_body and cycle.response_started:
            self._release_bytes(keep=self._drained_bytes + size)
            if self._drained_bytes > MAX_DRAINED:
                self.reject(413, "")
            return
        self.unfinished_bytes += size
        crowd.unfinished_bytes += size
        if (self.unfinished_bytes > MAX_HEAD and not in_body) or len(self.headers or ()) > MAX_HEADERS:
            self._reject_after_pending(431, HEAD_TOO_LARGE)
        elif self.unfinished_bytes > MAX_MESSAGE:
            self._reject_after_pending(
                413, f"expected a request of at most {MAX_MESSAGE} bytes, chunks and trailers included"
            )
        elif crowd.unfinished_bytes > MAX_UNFINISHED:
            crowd.close_slowest(holding=True)

    def _release_bytes(self, keep: int = 0) -> None:
        self.server_state.unfinished_bytes -= self.unfinished_bytes
        self.unfinished_bytes, self._drained_bytes = 0, keep
