"""The calling side of links: calls to the agents of one process over one connection, each with its own deadline.

A link is a shortcut: while there is none, and wherever it doesn't serve, the caller makes a single HTTP call, which
tells what is wrong. Nothing is carried out twice but what HTTP repeats as well: a call whose connection was lost before
its answer began.
"""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_league.errors import BadAnswer
from agent_league.http.carrier import MAX_BODY, HttpReply
from agent_league.http.link_frames import LINK_PATH, LINK_PROTOCOL, MISDIRECTED, NO_TOKEN, FrameReader, FrameWriter

MAX_HEAD = 8 * 1024
SWITCHING_PROTOCOLS = re.compile(rb"HTTP/1\.1 101 ")
TOKEN = re.compile(r"[!-~]+")
OPEN_SECONDS = 5
"""Seconds within which a link has to be open; calls don't wait for it."""
MAX_UNREAD = 4 * MAX_BODY
"""Bytes that the other side has yet to read, at which no more is sent on a link."""
RETRY_SECONDS = 2
"""Seconds after which a link that couldn't be opened is tried again."""


class LinkLost(ConnectionError):
    """The link ended before the answer to a call began."""


class AnswerLost(ConnectionError):
    """The link ended within the answer to a call."""


@dataclass(frozen=True, slots=True)
class _WaitingCall:
    """A call without an answer; times are the loop's."""

    reply: asyncio.Future[HttpReply]
    due: float
    sent_at: float


class LinkConnection(asyncio.Protocol):
    """An open link, and the calls that wait for their answers. One timer serves for all their deadlines."""

    def __init__(self, loop: asyncio.AbstractEventLoop, host: str) -> None:
        self._loop = loop
        self._request = (
            f"GET {LINK_PATH} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {LINK_PROTOCOL}\r\n\r\n"
        )
        self._head = b""
        self._reader = FrameReader()
        self._writer = FrameWriter(loop)
        self._numbers = itertools.count(1)
        self._waiting: dict[bytes, _WaitingCall] = {}
        """By call number."""
        self._timer: asyncio.TimerHandle | None = None
        self._read_at = 0.0
        self.opened: asyncio.Future[None] = loop.create_future()
        self.is_usable = False

    async def exchange(self, endpoint: str, frame: bytes, bearer: str | None, due: float) -> HttpReply:
        """Call an agent of the other process; raises TimeoutError, LinkLost, AnswerLost or BadAnswer."""
        number = b"%d" % next(self._numbers)
        reply: asyncio.Future[HttpReply] = self._loop.create_future()
        self._waiting[number] = _WaitingCall(reply, due, self._loop.time())
        token = bearer.encode() if bearer else NO_TOKEN
        self._writer.write_frame(b"%b %b %b" % (number, endpoint.encode(), token), frame)
        if self._timer is None or self._timer.when() > due:
            self._set_timer(due)
        try:
            return await reply
        finally:
            self._waiting.pop(number, None)
            if not self.is_usable and not self._waiting:
                self.abort()

    @property
    def is_congested(self) -> bool:
        """Whether the other side doesn't read what was sent."""
        return bool(self._writer.transport.get_write_buffer_size() > MAX_UNREAD)

    def abort(self) -> None:
        self.is_usable = False
        if self._writer.transport:
            self._writer.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._writer.transport = transport
        self._writer.transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self._read_head(data)
            return
        self._read_at = self._loop.time()
        try:
            for (status, *numbers), body in self._reader.feed(data):
                for number in numbers:
                    self._end_call(number, (int(status), body))
        except ValueError as error:
            self._fail_unfinished(BadAnswer(f"an answer that can't be read: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_usable = False
        if self._timer:
            self._timer.cancel()
        lost = LinkLost(str(exc) if exc else "the server closed the link")
        if not self.opened.done():
            self.opened.set_exception(lost)
        self._fail_unfinished(AnswerLost(str(lost)))
        for number in list(self._waiting):
            self._end_call(number, lost)

    def _read_head(self, data: bytes) -> None:
        """Read the answer to the request for a link: only 101 opens one."""
        self._head += data
        head, found, rest = self._head.partition(b"\r\n\r\n")
        if not found and len(self._head) < MAX_HEAD:
            return
        if not found or not SWITCHING_PROTOCOLS.match(head):
            self.opened.set_exception(LinkLost("the server opens no links"))
            self.abort()
            return
        self._head, self.is_usable = b"", True
        self.opened.set_result(None)
        if rest:
            self.data_received(rest)

    def _end_call(self, number: bytes, outcome: HttpReply | Exception) -> None:
        call = self._waiting.get(number)
        if call is None or call.reply.done():  # it was given up
            return
        if isinstance(outcome, Exception):
            call.reply.set_exception(outcome)
        else:
            call.reply.set_result(outcome)

    def _fail_unfinished(self, error: Exception) -> None:
        """Fail the calls whose answer has begun and doesn't end."""
        for number in self._reader.peek_words()[1:]:
            self._end_call(number, error)

    def _set_timer(self, due: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        """Give up the calls that are due; the others' deadlines are kept by the next timer.

        A link on which nothing has come since such a call was made may be dead: it is used no more.
        """
        self._timer, now = None, self._loop.time()
        for number, call in list(self._waiting.items()):
            if call.due <= now:
                self._end_call(number, TimeoutError())
                self.is_usable = self.is_usable and self._read_at > call.sent_at
        if left := [call.due for call in self._waiting.values() if call.due > now]:
            self._set_timer(min(left))


OpenLink = Callable[[], Awaitable[LinkConnection]]


class Link:
    """The way to one process: opened with its first call, and again when it was lost."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connect: OpenLink) -> None:
        self._loop = loop
        self._connect = connect
        self._connection: LinkConnection | None = None
        self._opening: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self.is_closed = False

    async def exchange(self, endpoint: str, frame: bytes, bearer: str | None, due: float) -> HttpReply | None:
        """Call an agent; None if a single call has to be made instead. Raises TimeoutError, AnswerLost, BadAnswer."""
        connection = self._connection
        if connection is None or not connection.is_usable:
            self._open()
            return None
        has_place = bearer is None or (TOKEN.fullmatch(bearer) is not None and bearer.encode() != NO_TOKEN)
        if len(frame) > MAX_BODY or not has_place or connection.is_congested:
            return None
        try:
            reply = await connection.exchange(endpoint, frame, bearer, due)
        except LinkLost:
            if self.is_closed:
                raise
            return None
        return None if reply[0] == MISDIRECTED else reply

    async def close(self) -> None:
        self.is_closed = True
        if self._connection:
            self._connection.abort()
        if self._opening:
            self._opening.cancel()
            await asyncio.wait([self._opening])

    def _open(self) -> None:
        if self._opening is None and not self.is_closed and self._loop.time() >= self._retry_at:
            self._opening = self._loop.create_task(self._open_connection())

    async def _open_connection(self) -> None:
        connection = None
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                connection = await self._connect()
                await connection.opened
            self._connection = connection
        except (OSError, ValueError):
            self._retry_at = self._loop.time() + RETRY_SECONDS
        finally:
            self._opening = None
            if connection is not None and connection is not self._connection:
                connection.abort()
