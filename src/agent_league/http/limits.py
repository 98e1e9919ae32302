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

from agent_league.http.caller import CALLER_ADDRESS, NOWHERE, Address
from agent_league.http.carrier import MAX_BODY
from agent_league.http.guard import Fields
from agent_league.http.request_parser import NotServed, RequestParser

MAX_HEAD = 64 * 1024
MAX_HEADERS = 100
LARGE_HEAD = f"expected at most {MAX_HEADERS} headers of {MAX_HEAD} bytes in all"
MAX_MESSAGE = 2 * MAX_BODY
"""Bytes of a body with its chunk sizes and trailers."""
MAX_DROPPED = 32 * MAX_BODY
"""Bytes of a rejected body to drain so that the client can read the 413."""
MAX_HELD = 64 * MAX_BODY
"""Bytes of unfinished requests, of all connections together."""
MAX_UNREAD = 32 * MAX_BODY
"""Bytes of answers that clients haven't read, of all connections together."""
MAX_CONNECTIONS = 1000
TICKS = 10
"""Ticks of the timer within one request timeout."""
ANSWERED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"
ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n%b\r\n"
LAST = b"connection: close\r\n"

Headers = Sequence[tuple[bytes, bytes]]
"""Names in lower case, and values."""
RequestRefused = Callable[[Address | None, int, str], None]
"""Called for each rejected request with client address, HTTP status and sentence."""


def _most_connections() -> int:
    """A thousand, or half of the open-file limit, which leaves files for everything else."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not there on Windows

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server that can be configured."""

    patience: float = 10
    """Seconds within which a whole request must arrive, and its answer be read."""
    keep_alive: float = 75
    """Seconds for which a connection may be idle."""
    connections: int = field(default_factory=_most_connections)


class NotPlain(Exception):
    """A call that only ASGI can answer; it has had no effect yet."""


class NoRoom(Exception):
    """Too many calls wait already for another one to be queued."""


class Desk(Protocol):
    """Answers plain calls without ASGI."""

    def admit(self, url: bytes, headers: Headers) -> Fields | None:
        """Return the headers of a POST if, by its head, it is a plain call; else None."""
        ...

    async def answer(self, body: bytes, fields: Fields, address: str) -> bytes | None:
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

    def __init__(self, headers: Headers, fields: Fields, *, keep_alive: bool) -> None:
        self.headers = headers
        self.fields = fields
        self.message_event = NO_EVENT
        self.keep_alive = keep_alive
        self.body: bytes | bytearray = b""
        self.more_body = True
        self.disconnected = self.response_started = self.response_complete = False


class Crowd(ServerState):
    """All connections of a server, with the limits they share."""

    def __init__(self, limits: Limits, desk: Desk | None = None, refused: RequestRefused | None = None) -> None:
        super().__init__()
        self.limits = limits
        self.desk = desk
        self.refused = refused
        self.idle_ticks = limits.keep_alive * TICKS / limits.patience
        self.numbers = itertools.count()
        self.held = 0
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Schedule the next tick."""
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

    def make_room_for_answer(self, answered: "Visitor") -> None:
        """Abort connections that don't read their answers, slowest first, while MAX_UNREAD_ANSWERS is exceeded."""
        unread = [visitor for visitor in self.visitors() if visitor.unread and visitor is not answered]
        left = answered.unread + sum(visitor.unread for visitor in unread)
        for visitor in sorted(unread, key=lambda visitor: (-visitor.waiting, visitor.number)):
            if left <= MAX_UNREAD:
                return
            left -= visitor.unread
            visitor.transport.abort()

    def make_room(self, *, holding: bool = False) -> bool:
        """Reject the connection that has been waiting longest; False if each has a pending request.

        `holding` considers only connections with an unfinished request.
        """
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
    """Pauses reading while pipelined requests wait to be answered."""

    def __init__(self, transport: asyncio.Transport, ahead: Sized) -> None:
        super().__init__(transport)
        self._ahead = ahead

    def resume_reading(self) -> None:
        if not self._ahead:
            super().resume_reading()


class Visitor(HttpToolsProtocol):
    """One connection within the limits of its server."""

    server_state: Crowd
    cycle: RequestResponseCycle | PlainCall | None  # type: ignore[assignment]  # none before the first request

    def __init__(self, config: Config, server_state: Crowd, app_state: dict[str, object], **rest: object) -> None:
        super().__init__(config, server_state, app_state, **rest)  # type: ignore[arg-type]
        self.parser: RequestParser = RequestParser(self)  # type: ignore[assignment]  # with the same methods
        self.number = next(server_state.numbers)
        self.waiting = 0
        """Ticks spent waiting for its request, or for it to read an answer."""
        self._idle = 0
        """Ticks since its last request was answered."""
        self.held = 0
        """Bytes of an unfinished request."""
        self._dropped = 0
        self._unfinished = True
        self._completed = False
        """Whether the last chunk of data held the end of a request."""
        self._piece = 0
        """Bytes of the chunk of data that is being parsed."""
        self._last_words: tuple[int, str] | None = None
        """Status and sentence to close with once pending requests are answered; nothing more is read until then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        crowd = self.server_state
        full = len(crowd.connections) >= crowd.limits.connections and not crowd.make_room()
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        if full:
            self.dismiss(503, "too many at once; come again in a while")

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        self.parser.close()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._last_words:
            return
        self._unfinished = True
        self._completed = False
        self._piece = len(data)
        try:
            self.parser.feed_data(data)
        except NotServed as error:
            self._end_with(error.status, error.sentence)
        except httptools.HttpParserError:
            self._end_with(400, "Invalid HTTP request received.")
        if self._last_words:
            return
        if self._unfinished and not self._completed and not self.is_leaving:
            self._take_in(len(data))

    def on_message_begin(self) -> None:
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._unfinished = True

    def on_headers_complete(self) -> None:
        if self._has_large_head:
            self._end_with(431, LARGE_HEAD)
            raise NotServed(431, LARGE_HEAD)  # so that nothing more of it is read
        desk = self.server_state.desk
        if desk and self._is_next and (fields := desk.admit(self.url, self.headers)) is not None:
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
        if self.held + self._piece <= MAX_HEAD:
            return False
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEAD

    @property
    def _is_next(self) -> bool:
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
        self._unfinished = False
        self._completed = True
        self.waiting = 0
        if self.held or self._dropped:
            self._let_go()
        cycle = self.cycle
        if isinstance(cycle, PlainCall):
            cycle.more_body = False
            self._start(self._answer(cycle))
            return
        super().on_message_complete()
        if cycle and cycle.response_complete:
            cycle.more_body = False  # uvicorn leaves that out where the answer was quicker than the body

    def _start(self, answering: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(answering)
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def _answer(self, call: PlainCall) -> None:
        desk: Desk = self.server_state.desk  # type: ignore[assignment]  # without one there is no PlainCall
        CALLER_ADDRESS.set(self.client or NOWHERE)
        body = call.body = bytes(call.body)  # replaces the bytearray: the call may wait, and two copies would be kept
        try:
            answer = await desk.answer(body, call.fields, self.client[0] if self.client else "")
        except NotPlain:
            self._pass_on(call)
            return
        except NoRoom:  # rejected here: ASGI would make more copies of its body
            if not self.is_leaving:
                self.dismiss(503, "too many calls wait here; come again in a while")
            return
        except BaseException as error:
            self.logger.error("a plain call failed", exc_info=error)
            if not self.is_leaving:
                self.dismiss(500, "Internal Server Error")
            if not isinstance(error, Exception):
                raise
            return
        if self.flow.write_paused:
            await self.flow.drain()
        call.response_started = call.response_complete = True
        if self.is_leaving:
            return
        last = b"" if call.keep_alive else LAST
        self.transport.write(ACCEPTED % last if answer is None else ANSWERED % (len(answer), last, answer))
        if last:
            self.transport.close()
        self.on_response_complete()

    def _pass_on(self, call: PlainCall) -> None:
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
        self._start(cycle.run_asgi(self.app))

    def on_response_complete(self) -> None:
        """Do as uvicorn does, but without a timer per connection: ticks close idle connections."""
        self._idle = 0
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self._last_words and (not self.pipeline or self.pipeline[-1][0].more_body):
            self._say_last(*self._last_words)
        elif self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    @property
    def is_leaving(self) -> bool:
        return self.transport.is_closing()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.server_state.make_room_for_answer(self)

    @property
    def unread(self) -> int:
        """Bytes of answers that the client hasn't read."""
        return self.transport.get_write_buffer_size()

    @property
    def is_owed(self) -> bool:
        """Whether a complete request has no answer yet."""
        cycle = self.cycle
        return bool(self.pipeline) or (cycle is not None and not cycle.more_body and not cycle.response_complete)

    def tick(self) -> None:
        """Count one tick; reject a slow request, close an idle connection."""
        unread = self.unread > 0
        slow = self._unfinished and not self.is_owed
        self.waiting = self.waiting + 1 if unread or slow else 0
        self._idle = 0 if slow or self.is_owed else self._idle + 1
        if self.waiting > TICKS:
            patience = self.server_state.limits.patience
            self.dismiss(408, f"expected a whole request within {patience:g} s of its beginning")
        elif self._idle > self.server_state.idle_ticks:
            self.transport.close()

    def dismiss(self, status: int, sentence: str) -> None:
        """Close the connection, with this status and sentence if no other answer has begun."""
        if self._may_speak:
            self._say_last(status, sentence)
        else:
            self.transport.abort()
        self._let_go()

    def _say_last(self, status: int, sentence: str) -> None:
        if refused := self.server_state.refused:
            refused(self.client, status, sentence)
        headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(sentence)}\r\nconnection: close"
        self.transport.write(STATUS_LINE[status] + f"{headers}\r\n\r\n{sentence}".encode())
        self.transport.close()

    def _end_with(self, status: int, sentence: str) -> None:
        """Stop reading, and reject once every complete request before this one is answered."""
        if self._last_words or self.is_leaving:
            return
        self._last_words = (status, sentence)
        self._let_go()
        if self.is_owed:
            self.flow.pause_reading()
        else:
            self.dismiss(status, sentence)

    @property
    def _may_speak(self) -> bool:
        cycle = self.cycle
        if self.is_leaving or self.pipeline or self.transport.get_write_buffer_size():
            return False
        return cycle is None or not cycle.response_started or (cycle.response_complete and not cycle.more_body)

    def _take_in(self, size: int) -> None:
        """Count the bytes of an unfinished request, and reject it if a limit is passed."""
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
            self._end_with(431, LARGE_HEAD)
        elif self.held > MAX_MESSAGE:
            self._end_with(413, f"expected a request of at most {MAX_MESSAGE} bytes, chunks and trailers included")
        elif crowd.held > MAX_HELD:
            crowd.make_room(holding=True)

    def _let_go(self, keep: int = 0) -> None:
        self.server_state.held -= self.held
        self.held, self._dropped = 0, keep
