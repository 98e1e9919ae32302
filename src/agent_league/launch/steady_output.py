"""Output of a process that serves: printing never blocks it and never ends it, whatever becomes of its terminal.

A thread of its own does the writing. Text for which a reader that has stopped leaves no room is dropped; once the
reader has gone, all text is.
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
"""Characters that wait for a reader; what comes beyond is dropped."""
DRAIN_SECONDS = 2.0
"""How long a process that ends waits for a reader that takes nothing."""
DROPPED = "\n[{count} pieces of output were dropped here: nobody read them in time]\n"


class _SteadyBytes(io.RawIOBase):
    """The same stream for those who write bytes."""

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
        """Nothing is kept back."""

    def drain(self) -> bool:
        """Waits until all is written, as long as somebody reads; False if something is left that nobody takes."""
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
            except (OSError, ValueError):  # nobody is there any more
                with self._news:
                    self._is_gone = True
                    self._waiting.clear()
                    self._news.notify_all()
                return

    def _write_whole(self, data: bytes) -> None:
        """Writes straight to the descriptor: a thread that hangs in a buffered stream keeps its process from ending."""
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
    """Within, stdout and stderr never block or fail, and the end of the terminal ends nothing (SIGHUP is ignored)."""
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
    """The stream from before; in place of one that nobody reads, one that takes everything."""
    if not isinstance(stream, SteadyStream):
        return stream
    if stream.drain():
        return stream.stream
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return stream.stream
