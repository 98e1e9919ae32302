"""One keep-alive connection to a server: one request at a time, no pipelining.

Parses with httptools and limits size and time itself. Knows bytes only; the client chooses whom to call.
"""

import asyncio
from typing import Any

import httptools

from agent_league.errors import BadAnswer
from agent_league.http.carrier import MAX_BODY

MAX_HEAD = 64 * 1024
MAX_ANSWER_BYTES = 2 * MAX_BODY + MAX_HEAD
"""Bytes of an answer with its head, its chunks' lengths and its trailers."""
KEEP_ALIVE_SECONDS = 4
"""Less than the 5 s after which common servers close an idle connection."""

HttpReply = tuple[int, bytes]
"""Status and body."""


class ConnectionBroken(ConnectionError):
    """The connection ended before the answer did."""


class ClientConnection(asyncio.Protocol):
    """A connection and its current request.

    One timer serves for both the call's timeout and the idle timeout. A later deadline doesn't restart it, which saves
    a timer per call: it checks the deadline when it fires.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        # Servers written by hand end lines with LF alone, too; on a connection of their own they confuse nobody else.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._transport: Any = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._reply: asyncio.Future[HttpReply] | None = None
        self._body: bytes | bytearray = b""
        self._bytes_read = 0
        self._is_framed = False
        self._has_head = False
        self.is_usable = False
        """Whether it can send another request."""

    def send_request(self, request: bytes, due: float) -> asyncio.Future[HttpReply]:
        """Send a request; the future gets the answer or an error. `due` is in the loop's time.

        Errors are TimeoutError, ConnectionBroken, BadAnswer, and ValueError for an answer that isn't HTTP.
        """
        self._body, self._bytes_read, self._is_framed, self._has_head, self.is_usable = b"", 0, False, False, False
        self._reply = reply = self._loop.create_future()
        self._transport.write(request)
        self._set_timer(due)
        return reply

    @property
    def is_silent(self) -> bool:
        """Whether no byte of an answer has come."""
        return self._bytes_read == 0

    def abort(self) -> None:
        """Close the connection at once, even during a request."""
        self.is_usable = False
        if self._timer:
            self._timer.cancel()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._reply is None:  # data without a request
            self.abort()
            return
        self._bytes_read += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail_reply(BadAnswer("an answer in another protocol than HTTP"))
        except httptools.HttpParserError as error:
            self._fail_reply(ValueError(f"not an HTTP answer: {error}"))
        else:
            if self._bytes_read > MAX_ANSWER_BYTES:
                self._fail_reply(ValueError(f"an answer with more than {MAX_ANSWER_BYTES} bytes around its body"))
            elif self._bytes_read > MAX_HEAD and not self._has_head:
                self._fail_reply(ValueError(f"an answer with more than {MAX_HEAD} bytes before its body"))

    def eof_received(self) -> None:
        """Finish an answer without Content-Length or chunks, which ends with the connection."""
        self.is_usable = False
        if self._has_head and not self._is_framed:
            self._finish_reply()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail_reply(ConnectionBroken(str(exc) if exc else "the server closed the connection without an answer"))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower()):
            self._is_framed = True

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)  # which grows in place: an answer may come byte by byte
            self._body += body
        if len(self._body) > MAX_BODY:
            self._fail_reply(BadAnswer(f"an answer of more than {MAX_BODY} bytes"))

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # 1xx: the answer itself is still to come
            self._is_framed = self._has_head = False
        elif self._reply is not None:
            self.is_usable = self._parser.should_keep_alive()
            self._finish_reply()
        else:
            self.is_usable = False

    def on_message_begin(self) -> None:
        if self._reply is None:  # a second answer to one request
            self.is_usable = False
            self.abort()

    def _finish_reply(self) -> None:
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_result((self._parser.get_status_code(), bytes(self._body)))
        if self.is_usable:
            self._set_timer(self._loop.time() + KEEP_ALIVE_SECONDS)
        else:
            self.abort()

    def _fail_reply(self, error: Exception) -> None:
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(error)
        self.abort()

    def _set_timer(self, due: float) -> None:
        self._deadline = due
        if self._timer is None or self._timer.when() > due:
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._set_timer(self._deadline)
        else:
            self._fail_reply(TimeoutError())
