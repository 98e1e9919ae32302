"""The frames of a link: one connection between two processes that carries the calls of all agents in them.

A link is opened by an HTTP upgrade (`GET /link`). A frame is a line of words and a body, whose length is the first
word. A call's further words are number, endpoint and token of each recipient; an answer's are its HTTP status and the
numbers of the calls that it answers. Frames of one tick of the event loop are written together. Knows nothing of what
is in a body.
"""

import asyncio
from typing import Any

from agent_league.http.carrier import MAX_BODY

LINK_PATH = "/link"
LINK_PROTOCOL = "agent-league-link"
"""In the `Upgrade` header of the request that opens a link."""
MAX_LINE = 64 * 1024
MAX_RECIPIENTS = 64
"""Recipients of one call frame."""
MAX_SHARED_BODY = 64 * 1024
"""Bytes of a body for several recipients, each of which reads it."""
NO_TOKEN = b"-"
MISDIRECTED = 421
"""The status of a call that was not carried out because it can't be answered on this link."""


class BrokenFrame(ValueError):
    """What arrived is no frame, or one beyond the limits."""


class FrameReader:
    """Cuts the bytes of a connection into frames; one that comes in many pieces is copied once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._needed = 1
        """Bytes without which there is nothing to be read."""
        self.size = 0
        """Bytes of an unfinished frame."""

    def feed(self, data: bytes) -> list[tuple[list[bytes], bytes]]:
        """Return the frames that are complete now, each as its words and its body; raises BrokenFrame."""
        if self._pieces:
            self._pieces.append(data)
            self.size += len(data)
            if self.size < self._needed:
                return []
            data = b"".join(self._pieces)
            self._pieces = []
        frames, position, self._needed = [], 0, 1
        while (end := data.find(b"\n", position, position + MAX_LINE)) >= 0:
            length, *words = data[position:end].split(b" ")
            if not length.isdigit() or len(length) > len(str(MAX_BODY)) or (size := int(length)) > MAX_BODY:
                raise BrokenFrame(f"expected a frame of at most {MAX_BODY} bytes, and its length first")
            stop = end + 1 + size
            if stop > len(data):
                self._needed = stop - position
                break
            frames.append((words, data[end + 1 : stop]))
            position = stop
        self.size = len(data) - position
        if self.size >= MAX_LINE and self._needed == 1:
            raise BrokenFrame(f"expected a line of at most {MAX_LINE} bytes before a frame's body")
        if self.size:
            self._pieces.append(data[position:])
        return frames

    def peek_words(self) -> list[bytes]:
        """The words of an unfinished frame, if its line is there."""
        line, found, _ = b"".join(self._pieces).partition(b"\n")
        return line.split(b" ")[1:] if found else []


def check_sharing(recipients: int, body: bytes) -> None:
    """Raise BrokenFrame if a body is for more recipients than may share one."""
    if recipients > MAX_RECIPIENTS or (recipients > 1 and len(body) > MAX_SHARED_BODY):
        raise BrokenFrame(
            f"expected at most {MAX_RECIPIENTS} recipients of {MAX_SHARED_BODY} bytes, found {recipients}"
            f" of {len(body)}"
        )


class FrameWriter:
    """Writes the frames of one tick together; a body that several of them in a row have in common is written once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._frames: list[tuple[bytes, list[bytes], bytes]] = []
        """First word, further words and body of each frame."""
        self._line_size = 0
        self.transport: Any = None

    def write_frame(self, words: bytes, body: bytes, first: bytes = b"") -> None:
        """Queue a frame; it joins the one before it if both have the same body and first word."""
        if not self._frames:
            self._loop.call_soon(self._write_all)
        elif self._may_share(words, body, first):
            self._frames[-1][1].append(words)
            self._line_size += len(words) + 1
            return
        self._frames.append((first, [words], body))
        self._line_size = len(words)

    def _may_share(self, words: bytes, body: bytes, first: bytes) -> bool:
        last_first, others, last_body = self._frames[-1]
        return (
            last_body == body
            and last_first == first
            and len(others) < MAX_RECIPIENTS
            and len(body) <= MAX_SHARED_BODY
            and self._line_size + len(words) < MAX_LINE // 2
        )

    def _write_all(self) -> None:
        frames, self._frames = self._frames, []
        if self.transport.is_closing():
            return
        pieces: list[bytes] = []
        for first, words, body in frames:
            pieces += (b"%d %b%b\n" % (len(body), first, b" ".join(words)), body)
        self.transport.write(b"".join(pieces))
