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

MAX_WAITING_CHARACTERS = 256 * 1024
"""Characters that may wait for a reader; text beyond that is dropped."""
DRAIN_SECONDS = 2.0
"""How long an ending process waits for a reader that reads nothing."""
DROPPED_NOTE = "\n[{count} pieces of output were dropped here: nobody read them in time]\n"


class _NonBlockingBytes(io.RawIOBase):
    """The binary `buffer` of a NonBlockingStream."""

    def __init__(self, stream: "NonBlockingStream") -> None:
        self._stream = stream

    def write(self, data: Any, /) -> int:
        return len(data) if self._stream.write(bytes(data).decode(self._stream.encoding, "replace")) else 0


class NonBlockingStream(io.TextIOBase):
    """A text stream whose `write` always returns at once."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._encoding = stream.encoding or "utf-8"
        self._errors = stream.errors or "replace"
        self._waiting: deque[str] = deque()
        self._waiting_characters = 0
        self._dropped = 0
        self._written = 0
        self._is_idle = True
        self._has_lost_reader = False
        self._state_changed = threading.Condition()
        self.buffer = _NonBlockingBytes(self)
        stream.flush()
        self._descriptor = stream.fileno()
        threading.Thread(target=self._write_loop, name="steady output", daemon=True).start()

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
        with self._state_changed:
            if self._has_lost_reader:
                pass
            elif self._waiting_characters and self._waiting_characters + len(text) > MAX_WAITING_CHARACTERS:
                self._dropped += 1
            else:
                self._waiting.append(text)
                self._waiting_characters += len(text)
                self._state_changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Do nothing: text is written as soon as possible."""

    def drain(self) -> bool:
        """Wait until all is written; False if the reader is gone or reads nothing for DRAIN_SECONDS."""
        with self._state_changed:
            while not (self._is_drained() or self._has_lost_reader):
                written = self._written
                if not self._state_changed.wait_for(
                    lambda: written != self._written or self._has_lost_reader or self._is_drained(),  # noqa: B023 - called here
                    DRAIN_SECONDS,
                ):
                    return False
        return not self._has_lost_reader

    def _is_drained(self) -> bool:
        return self._is_idle and not self._waiting

    def _write_loop(self) -> None:
        while True:
            with self._state_changed:
                self._is_idle = True
                self._state_changed.notify_all()
                self._state_changed.wait_for(lambda: bool(self._waiting))
                text = "".join(self._waiting)
                self._waiting.clear()
                self._waiting_characters = 0
                if self._dropped:
                    text += DROPPED_NOTE.format(count=self._dropped)
                    self._dropped = 0
                self._is_idle = False
            try:
                self._write_all(text.encode(self._encoding, self._errors))
            except (OSError, ValueError):  # the reader is gone
                with self._state_changed:
                    self._has_lost_reader = True
                    self._waiting.clear()
                    self._state_changed.notify_all()
                return

    def _write_all(self, data: bytes) -> None:
        """Write to the descriptor directly: a thread blocked in a buffered stream keeps its process from ending."""
        rest = memoryview(data)
        while rest:
            try:
                count = os.write(self._descriptor, rest[: select.PIPE_BUF])
            except BlockingIOError:
                select.select([], [self._descriptor], [])
                continue
            rest = rest[count:]
            with self._state_changed:
                self._written += count
                self._state_changed.notify_all()


@contextmanager
def nonblocking_output() -> Iterator[None]:
    """Make stdout and stderr non-blocking within the context, and ignore SIGHUP."""
    if sys.platform == "win32":  # its console is no descriptor to write to
        yield
        return
    before = sys.stdout, sys.stderr
    with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none of the system's
        sys.stdout = NonBlockingStream(before[0])
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr = NonBlockingStream(before[1])
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = (_restore_stream(stream) for stream in (sys.stdout, sys.stderr))
        signal.signal(signal.SIGHUP, hangup)


def drain_stdout() -> None:
    """Wait until stdout is written: what goes to stderr next then comes after it, and no live view erases it."""
    if isinstance(sys.stdout, NonBlockingStream):
        sys.stdout.drain()


def _restore_stream(stream: TextIO) -> TextIO:
    """Return the original stream; if its reader is gone, its descriptor leads to /dev/null."""
    if not isinstance(stream, NonBlockingStream):
        return stream
    if stream.drain():
        return stream.stream
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return stream.stream
