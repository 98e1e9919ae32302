"""The answering side of links: calls to the agents of this process, each answered as soon as its answer is there.

Who may call what is decided by the agents, call by call, as for calls over HTTP. What a connection may cost is
bounded: by the time for an unfinished frame, by the calls under way, and by the answers that aren't read.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from agent_league.http.caller_address import Address
from agent_league.http.carrier import HttpReply
from agent_league.http.link_frames import (
    LINK_PROTOCOL,
    MISDIRECTED,
    NO_TOKEN,
    BrokenFrame,
    FrameReader,
    FrameWriter,
    check_sharing,
)

MAX_CALLS = 256
"""Calls under way at which nothing more is read from a link."""
SWITCHING = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {LINK_PROTOCOL}\r\n\r\n".encode()


class LinkTarget(Protocol):
    """An agent of this process."""

    async def answer_linked_call(self, body: bytes, bearer: str | None, client: Address) -> HttpReply:
        """Answer one call with HTTP status and body; MISDIRECTED if it was not carried out."""
        ...


LinkTargets = Mapping[bytes, LinkTarget]
"""The agents of this process by their endpoints."""


class LinkHost(Protocol):
    """The server that a link belongs to, with the limits that all its connections share."""

    connections: set[Any]
    tasks: set[asyncio.Task[None]]
    """What a server that stops waits for, and cancels in the end."""

    @property
    def connection_numbers(self) -> Iterator[int]: ...

    idle_ticks: float
    on_rejected: Callable[[Address | None, int, str], None] | None

    def close_slow_readers(self, answered: Any) -> None: ...
    def count_unfinished(self, size: int) -> None: ...


class LinkedProcess(asyncio.Protocol):
    """A link that another process has opened: a connection of a server, which calls `shutdown` at its end."""

    def __init__(self, targets: LinkTargets, server: LinkHost, client: Address, patience: int) -> None:
        """`patience` is the number of ticks that an unfinished frame, or an unread answer, may take."""
        self._loop = asyncio.get_running_loop()
        self._targets = targets
        self._server = server
        self._client = client
        self._patience = patience
        self._reader = FrameReader()
        self._writer = FrameWriter(self._loop)
        self._call_count = 0
        self._idle_ticks = 0
        self._is_reading = True
        self._can_write = True
        self._is_ending = False
        self.connection_number = next(server.connection_numbers)
        self.waiting_ticks = 0
        self.unfinished_bytes = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = self._writer.transport = transport
        self._server.connections.add(self)
        transport.write(SWITCHING)

    def data_received(self, data: bytes) -> None:
        try:
            for words, body in self._reader.feed(data):
                self.waiting_ticks = 0
                self._begin_calls(words, body)
        except BrokenFrame as error:
            self.reject(400, str(error))
        self._count_unfinished(self._reader.size)
        self._pace_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the link; calls under way go on, as those of a lost HTTP connection do."""
        self._count_unfinished(0)
        self._server.connections.discard(self)

    def pause_writing(self) -> None:
        self._can_write = False
        self._pace_reading()
        self._server.close_slow_readers(self)

    def resume_writing(self) -> None:
        self._can_write = True
        self._pace_reading()

    def shutdown(self) -> None:
        """End the link with the calls that are under way."""
        self._is_ending = True
        self._end_if_idle()

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    @property
    def unread_bytes(self) -> int:
        return self.transport.get_write_buffer_size()

    @property
    def has_pending_request(self) -> bool:
        return self._call_count > 0

    def count_tick(self) -> None:
        """Count one tick; end a link that is stuck within a frame, isn't read, or has been idle for long."""
        is_slow = bool(self.unfinished_bytes and self._is_reading)
        self.waiting_ticks = self.waiting_ticks + 1 if is_slow or self.unread_bytes else 0
        self._idle_ticks = 0 if is_slow or self._call_count else self._idle_ticks + 1
        if self.waiting_ticks > self._patience:
            self.reject(408, "expected a whole frame, and its answer to be read, in time")
        elif self._idle_ticks > self._server.idle_ticks:
            self.transport.close()

    def reject(self, status: int, sentence: str) -> None:
        """Close the link; there is no place for a sentence but our log."""
        if self._server.on_rejected and not self.is_closing:
            self._server.on_rejected(self._client, status, sentence)
        self.transport.abort()

    def _begin_calls(self, words: list[bytes], body: bytes) -> None:
        """Begin the call of each recipient of a frame; raises BrokenFrame."""
        recipients = list(zip(words[::3], words[1::3], words[2::3], strict=False))
        if not recipients or len(words) != 3 * len(recipients):
            raise BrokenFrame("expected number, endpoint and token of each recipient of a call")
        check_sharing(len(recipients), body)
        for number, endpoint, token in recipients:
            if (target := self._targets.get(endpoint)) is None:
                self._write_answer(number, (MISDIRECTED, b""))
                continue
            bearer = None if token == NO_TOKEN else token.decode("latin-1")
            call = self._loop.create_task(self._answer_call(target, number, body, bearer))
            self._call_count += 1
            self._server.tasks.add(call)
            call.add_done_callback(self._end_call)

    async def _answer_call(self, target: LinkTarget, number: bytes, body: bytes, bearer: str | None) -> None:
        self._write_answer(number, await target.answer_linked_call(body, bearer, self._client))

    def _write_answer(self, number: bytes, reply: HttpReply) -> None:
        status, body = reply
        self._writer.write_frame(number, body, b"%d " % status)

    def _end_call(self, call: asyncio.Task[None]) -> None:
        self._call_count -= 1
        self._server.tasks.discard(call)
        self._idle_ticks = 0
        if not self._is_reading:
            self._pace_reading()
        if self._is_ending:
            self._end_if_idle()

    def _end_if_idle(self) -> None:
        if not self._call_count:
            self._loop.call_soon(self._loop.call_soon, self.transport.close)  # once the last answer is written

    def _pace_reading(self) -> None:
        """Read only while there are not too many calls under way, and answers are read."""
        wanted = self._can_write and self._call_count < MAX_CALLS
        if wanted != self._is_reading and not self.is_closing:
            self._is_reading = wanted
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _count_unfinished(self, size: int) -> None:
        self._server.count_unfinished(size - self.unfinished_bytes)
        self.unfinished_bytes = size
