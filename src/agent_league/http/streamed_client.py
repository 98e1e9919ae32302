"""A client for answers that are passed on while they come: any method, streamed bodies, kept connections.

Never sends a request twice. Knows its servers by host and port; what is asked and who may ask is decided elsewhere.
"""

import asyncio
import socket
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httptools

from agent_league.http.caller_address import Address
from agent_league.http.client import MAX_HEAD, ConnectionBroken

CONNECT_SECONDS = 3.0
IDLE_SECONDS = 30.0
"""How long an idle connection is kept; less than the 75 s of our own servers."""
MAX_IDLE_CONNECTIONS = 64
"""Idle connections kept to one server."""
PAUSE_BYTES = 256 * 1024
"""Bytes of an answer that wait to be passed on before no more are read."""
KEEP_ALIVE_OPTIONS = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 25_000}
"""A machine that is gone without a word is noticed within 25 s, even by a call that waits for ever."""

Headers = list[tuple[bytes, bytes]]


class ServerUnreachable(Exception):
    """There is no connection to a server, so it hasn't got the request."""


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and headers of an answer; header names are in lower case."""

    status: int
    headers: Headers


class StreamedConnection(asyncio.Protocol):
    """A keep-alive connection to a server, and its current request: one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: Any = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: Headers = []
        self._head_bytes = 0
        self._head: asyncio.Future[AnswerHead] | None = None
        self._chunks: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._arrived: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._is_complete = self._is_paused = self._has_no_body = False
        self._may_stay = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self.has_answer_bytes = False
        """Whether anything of the current answer has come."""

    @property
    def is_usable(self) -> bool:
        """Whether its answer is read to the end, and another request can be sent."""
        return self._may_stay and not self._chunks and self._error is None and not self._transport.is_closing()

    @property
    def has_chunk(self) -> bool:
        """Whether `read_chunk` need not wait."""
        return bool(self._chunks) or self._is_complete

    @property
    def has_ended(self) -> bool:
        """Whether the whole answer has come and was read."""
        return self._is_complete and not self._chunks

    async def send_request(self, request: bytes, *, is_head_request: bool) -> AnswerHead:
        """Send a request and wait for the head of its answer; raises ConnectionBroken."""
        if self._idle_timer:
            self._idle_timer.cancel()
        self._is_complete = self._may_stay = self.has_answer_bytes = False
        self._has_no_body, self._headers, self._head_bytes = is_head_request, [], 0
        self._head = self._loop.create_future()
        if self._error is not None or self._transport.is_closing():
            raise ConnectionBroken("the connection is closed already")
        self._transport.write(request)
        return await self._head

    async def read_chunk(self) -> bytes:
        """Return what has come of the answer's body; empty at its end. Raises ConnectionBroken."""
        while not self._chunks:
            if self._is_complete:
                return b""
            if self._error is not None:
                raise self._error
            self._arrived = self._loop.create_future()
            await self._arrived
        chunk = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._waiting_bytes = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return chunk

    def keep_idle(self) -> None:
        """Close the connection unless it gets another request in time."""
        self._idle_timer = self._loop.call_later(IDLE_SECONDS, self.abort)

    def abort(self) -> None:
        self._may_stay = False
        if self._idle_timer:
            self._idle_timer.cancel()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        found = transport.get_extra_info("socket")
        if found is not None:
            with suppress(OSError):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for name, value in KEEP_ALIVE_OPTIONS.items():
                    if (option := getattr(socket, name, None)) is not None:
                        found.setsockopt(socket.IPPROTO_TCP, option, value)

    def data_received(self, data: bytes) -> None:
        if self._head is None or self._is_complete:  # data without a request
            self.abort()
            return
        self.has_answer_bytes = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionBroken(f"no HTTP answer: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionBroken(str(exc) if exc else "the server closed the connection"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > MAX_HEAD:
            self._fail(ConnectionBroken(f"an answer with more than {MAX_HEAD} bytes before its body"))
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # 1xx: the answer itself is still to come
            self._headers = []
            return
        if self._head is not None and not self._head.done():
            self._head.set_result(AnswerHead(status, self._headers))
        if self._has_no_body:  # the parser would wait for the body that its length announces
            self._complete(may_stay=False)

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        self._waiting_bytes += len(body)
        if self._waiting_bytes > PAUSE_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake_reader()

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200 and not self._is_complete:
            self._complete(may_stay=self._parser.should_keep_alive())

    def _complete(self, *, may_stay: bool) -> None:
        self._is_complete, self._may_stay = True, may_stay
        self._wake_reader()

    def _fail(self, error: ConnectionBroken) -> None:
        self._error = self._error or error
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
        self._wake_reader()
        if not self._transport.is_closing():
            self._transport.abort()

    def _wake_reader(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class StreamedClient:
    """Connections to a few servers, by address. Create it inside a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Address, list[StreamedConnection]] = {}
        self._busy: set[StreamedConnection] = set()
        self._is_closed = False

    async def open(self, address: Address) -> StreamedConnection:
        """Return a connection, which must be given back with `release`; raises ServerUnreachable."""
        idle = self._idle.get(address, [])
        while idle:
            if (known := idle.pop()).is_usable:
                self._busy.add(known)
                return known
        if self._is_closed:
            raise ServerUnreachable("this server stops")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, made = await self._loop.create_connection(lambda: StreamedConnection(self._loop), *address)
        except (OSError, TimeoutError) as error:
            raise ServerUnreachable(str(error) or "no connection in time") from None
        self._busy.add(made)
        return made

    def release(self, address: Address, connection: StreamedConnection) -> None:
        """Keep a connection for the next request if its answer is read to the end; else close it."""
        self._busy.discard(connection)
        idle = self._idle.setdefault(address, [])
        if connection.is_usable and not self._is_closed and len(idle) < MAX_IDLE_CONNECTIONS:
            connection.keep_idle()
            idle.append(connection)
        else:
            connection.abort()

    async def close(self) -> None:
        self._is_closed = True
        for connection in [*self._busy, *(each for idle in self._idle.values() for each in idle)]:
            connection.abort()
        self._idle.clear()
