"""Log files of JSON lines, one event a line, at the seeds' paths; tokens are redacted.

`JsonLogger` keeps the interface of seed 000. A file is opened at the first line and kept open. An event is written at
once; frequent ones (messages, decisions) are buffered for up to a second. A file that has reached its size limit is
renamed, and the oldest of the renamed ones is deleted.
"""

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from agent_league.clock import format_second
from agent_league.text import redact_lines

if TYPE_CHECKING:
    import asyncio

LEVEL_NUMBERS = {"DEBUG": 10, "INFO": 20, "WARN": 30, "WARNING": 30, "ERROR": 40}
MESSAGE_SENT, MESSAGE_RECEIVED, MESSAGE_UNANSWERED = "message_sent", "message_received", "message_unanswered"
MESSAGE_EVENTS = (MESSAGE_SENT, MESSAGE_RECEIVED, MESSAGE_UNANSWERED)
MAX_SECRETS = 4
BufferedLine = bytes | tuple[Any, ...]
"""An encoded line with its line break, or a tuple whose first item is a function that encodes the tuple."""
FLUSH_SECONDS = 1.0
"""Longest time for which a line is buffered."""
FLUSH_BYTES = 64 * 1024
MAX_FILE_BYTES = 32 * 1024 * 1024
OLD_FILES = 3
"""Files kept beside the one that is written to: `P01.log.jsonl.1` is the newest of them."""


class JsonLogger:
    """Writes the events of one component to `<log_root>/<folder>/<component>.log.jsonl`."""

    LEVELS: ClassVar = ["DEBUG", "INFO", "WARN", "ERROR"]
    """In rising order of importance; WARNING means the same as WARN."""

    def __init__(
        self,
        component: str,
        league_id: str | None = None,
        log_root: Path | str = Path("SHARED/logs"),
        *,
        level: str = "INFO",
        folder: str | None = None,
        max_bytes: int = MAX_FILE_BYTES,
        old_files: int = OLD_FILES,
    ) -> None:
        """Configure the log; a file of more than `max_bytes` is renamed, and `old_files` renamed ones are kept."""
        self.component = component
        self.log_root = Path(log_root)
        self._folder = folder or (f"league/{league_id}" if league_id else "agents")
        self._threshold = LEVEL_NUMBERS[level]
        self._max_bytes = max_bytes
        self._old_files = old_files
        self._file: FileIO | None = None
        self._closed = False
        self._buffered_lines: list[BufferedLine] = []
        self._buffered_bytes = 0
        self._flush_timer: asyncio.TimerHandle | None = None
        self._close_callbacks: list[Callable[[], None]] = []
        self.secrets: tuple[bytes, ...] = ()
        """Strings that are redacted beside tokens of known form."""

    @property
    def log_file(self) -> Path:
        return self.log_root / self._folder / f"{self.component}.log.jsonl"

    def rename_component(self, component: str) -> None:
        """Continue in another component's file; called when an agent has registered and knows its id."""
        if component != self.component:
            self.flush()
            self._close_file()
            self.component = component

    def add_secret(self, secret: str) -> None:
        """Redact this string too from now on; the last few are remembered."""
        self.secrets = (*self.secrets, secret.encode())[-MAX_SECRETS:]

    def is_enabled(self, level: str) -> bool:
        return LEVEL_NUMBERS[level] >= self._threshold

    def log(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        if LEVEL_NUMBERS[level] >= self._threshold:
            self._buffered_lines.append(self._encode_event(event_type, level, details))
            self.flush()

    def log_buffered(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        """Log a frequent event: its line may be buffered for a second."""
        if LEVEL_NUMBERS[level] >= self._threshold:
            line = self._encode_event(event_type, level, details)
            self.write_buffered(line, len(line))

    def write_buffered(self, line: BufferedLine, size: int) -> None:
        """Buffer a line of JSON of about `size` bytes; tokens are redacted when it is written.

        Encoding and redacting many lines together takes a fraction of the time it takes one by one.
        """
        self._buffered_lines.append(line)
        self._buffered_bytes += size
        if self._flush_timer is None or self._buffered_bytes >= FLUSH_BYTES:
            self._schedule_flush()

    def _schedule_flush(self) -> None:
        """Flush now if the buffer is full, else at the next full second, together with the process's other logs."""
        if self._buffered_bytes >= FLUSH_BYTES or self._closed:
            self.flush()
            return
        import asyncio  # noqa: PLC0415 - commands that only look at logs start without it

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # without a loop, no timer would fire
            self.flush()
        else:
            now = loop.time()
            self._flush_timer = loop.call_at(now - now % FLUSH_SECONDS + FLUSH_SECONDS, self.flush)

    def _encode_event(self, event_type: str, level: str, details: Mapping[str, Any]) -> bytes:
        second, microsecond = divmod(time.time_ns() // 1000, 1_000_000)
        entry = {
            "timestamp": format_second(second),
            "component": self.component,
            "event_type": event_type,
            "level": level,
            "microsecond": microsecond,  # the seeds' timestamp ends with the second; agents' lines need an order
            **details,
        }
        try:
            return orjson.dumps(entry, default=str, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # orjson can't encode it: an integer beyond 64 bits, half a surrogate pair
            return json.dumps(entry, default=str).encode() + b"\n"

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if not self._buffered_lines:
            return
        waiting, self._buffered_lines, self._buffered_bytes = self._buffered_lines, [], 0
        lines = [line if isinstance(line, bytes) else line[0](line) for line in waiting]
        data = redact_lines(lines, self.secrets)
        try:
            while data:
                data = data[self._append_lines(data) :]
            if self._closed:
                self._close_file()
        except OSError as error:  # a full disk must not end a match
            sys.stderr.write(f"log {self.log_file}: {error}\n")

    def _append_lines(self, data: bytes) -> int:
        """Write as many whole lines as the file has room for, at least one; return the number of bytes written."""
        file, size = self._open_file()
        while size and size + len(data) > self._max_bytes:
            self._rotate_files()
            file, size = self._open_file()
        room = self._max_bytes - size
        if len(data) > room:
            end = (data.rfind(b"\n", 0, max(room, 0)) + 1) or (data.find(b"\n") + 1)
            data = data[:end]
        if file.write(data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    def _open_file(self) -> tuple[FileIO, int]:
        """Return the open file and its current size, as other processes may write to it too."""
        if self._file is None:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.log_file.open("ab", buffering=0)
        return self._file, os.fstat(self._file.fileno()).st_size

    def _rotate_files(self) -> None:
        """Rename the file and the older ones, unless another process has done so already."""
        ours = os.fstat(self._file.fileno()) if self._file else None
        self._close_file()
        with suppress(FileNotFoundError):
            if ours is None or not os.path.samestat(ours, self.log_file.stat()):
                return
            names = [self.log_file, *(Path(f"{self.log_file}.{number}") for number in range(1, self._old_files + 1))]
            for older, newer in reversed(list(zip(names[1:], names, strict=False))):
                with suppress(FileNotFoundError):
                    newer.replace(older)
            if not self._old_files:
                self.log_file.unlink()

    def debug(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "DEBUG", **details)

    def info(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "INFO", **details)

    def warning(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "WARNING", **details)

    def error(self, event_type: str, **details: Any) -> None:
        self.log(event_type, "ERROR", **details)

    def add_close_callback(self, write: Callable[[], None]) -> None:
        """Register a function to be called by `close`, such as one that logs its totals."""
        self._close_callbacks.append(write)

    def close(self) -> None:
        """Flush and close; lines that are logged later are still written, each at once."""
        for write in self._close_callbacks:
            write()
        self._closed = True
        self.flush()
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
