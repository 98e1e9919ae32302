"""Output that never blocks or ends a serving process, whatever happens to its terminal.

A separate thread does the writing. If the reader stops, text beyond a limit is dropped; once the reader is gone, all
text is.
"""

import io
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

MOST_WAITING = 256 * 1024
"""Characters that may wait for a reader; text beyond that is dropped."""
DRAIN_SECONDS = 2.0
"""How long an ending process waits for a reader that reads nothing."""
DROPPED = "\n[{count} pieces of output were dropped here: nobody read them in time]\n"


class _SteadyBytes(io.RawIOBase):
    """The binary `buffer` of a NonBlockingStream."""

    def __init__(self, stream: "SteadyStream") -> None:
        self._stream = stream

    def write(self, data: Any, /) -> int:
        return len(data) if self._stream.write(bytes(data).decode(self._stream.encoding, "replace")) else 0


class SteadyStream(io.TextIOBase):
    """A text stream whose `write` always returns at once."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._encoding = stream.encoding or "utf-8"
        self._errors = stream.errors or "replace"
        self._waiting: deque[str] = deque()
        self._size = 0
        self._dropped = 0
        self._written = 0
        self._is_idle = True
        self._is_gone = False
        self._news = threading.Condition()
        self.buffer = _SteadyBytes(self)
        stream.flush()
        self._descriptor = stream.fileno()
        threading.Thread(target=self._write_on, name="steady output", daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._errors

    def isatty(self) -> bool:
        return self.stream.isatty()

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        with self._news:
            if self._is_gone:
                pass
            elif self._size and self._size + len(text) > MOST_WAITING:
                self._dropped += 1
            else:
                self._waiting.append(text)
                self._size += len(text)
                self._news.notify_all()
        return len(text)

    def flush(self) -> None:
        """Do nothing: text is written as soon as possible."""

    def drain(self) -> bool:
        """Wait until all is written; False if the reader is gone or reads nothing for DRAIN_SECONDS."""
        with self._news:
            while (self._waiting or not self._is_idle) and not self._is_gone:
                written = self._written
                if not self._news.wait_for(lambda: written != self._written or self._is_gone, DRAIN_SECONDS):  # noqa: B023 - called here
                    return False
        return not self._is_gone

    def _write_on(self) -> None:
        while True:
            with self._news:
                self._is_idle = True
                self._news.notify_all()
                self._news.wait_for(lambda: bool(self._waiting))
                text = "".join(self._waiting)
                self._waiting.clear()
                self._size = 0
                if self._dropped:
                    text += DROPPED.format(count=self._dropped)
                    self._dropped = 0
                self._is_idle = False
            try:
                self._write_whole(text.encode(self._encoding, self._errors))
            except (OSError, ValueError):  # the reader is gone
                with self._news:
                    self._is_gone = True
                    self._waiting.clear()
                    self._news.notify_all()
                return

    def _write_whole(self, data: bytes) -> None:
        """Write to the descriptor directly: a thread blocked in a buffered stream keeps its process from ending."""
        rest = memoryview(data)
        while rest:
            try:
                count = os.write(self._descriptor, rest[: select.PIPE_BUF])
            except BlockingIOError:
                select.select([], [self._descriptor], [])
                continue
            rest = rest[count:]
            with self._news:
                self._written += count
                self._news.notify_all()


@contextmanager
def steady_output() -> Iterator[None]:
    """Make stdout and stderr non-blocking within the context, and ignore SIGHUP."""
    if sys.platform == "win32":  # its console is no descriptor to write to
        yield
        return
    before = sys.stdout, sys.stderr
    with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none of the system's
        sys.stdout = SteadyStream(before[0])
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr = SteadyStream(before[1])
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = (_drained(stream) for stream in (sys.stdout, sys.stderr))
        signal.signal(signal.SIGHUP, hangup)


def _drained(stream: TextIO) -> TextIO:
    """Return the original stream; if its reader is gone, its descriptor leads to /dev/null."""
    if not isinstance(stream, SteadyStream):
        return stream
    if stream.drain():
        return stream.stream
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return stream.stream
