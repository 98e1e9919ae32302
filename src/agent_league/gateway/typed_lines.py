"""Lines from standard input, read in a separate thread, so that a program can end while nothing is typed."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

STDIN = 0


class TypedLines:
    """The lines of the input, in order, until it ends."""

    def __init__(self, fd: int = STDIN) -> None:
        self._fd = fd
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        # A thread blocked in `input()` holds a lock that the interpreter needs to exit; one in `os.read` holds none.
        threading.Thread(target=self._read_input, daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self.next_line()) is not None:
            yield line

    async def next_line(self) -> str | None:
        """Wait for the next line; None at the end, also when called again."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    def _read_input(self) -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed
            while chunk := self._read_chunk():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._queue_line(line.decode(errors="replace"))
            if rest:
                self._queue_line(rest.decode(errors="replace"))
            self._queue_line(None)

    def _read_chunk(self) -> bytes:
        """Read some input; empty at its end, or if the terminal is gone."""
        try:
            return os.read(self._fd, 65536)
        except OSError:
            return b""

    def _queue_line(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
