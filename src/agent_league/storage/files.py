"""Reading and writing files: atomic replacement, JSON with bounds, JSON lines, throttled writes."""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, ClassVar
from weakref import WeakKeyDictionary

import orjson

from agent_league.log import JsonLogger

WRITE_INTERVAL_SECONDS = 0.5
MAX_WRITE_RATE = 2 * 1024 * 1024
"""Maximum bytes per second of one ThrottledWriter: a larger file is written less often."""
SECONDS_FOR_EACH_FILE = 0.05
"""By which a write waits longer for each that waits beside it: to create a file, and give up the old one, is dear."""
MAX_DEPTH = 150
"""Maximum nesting of JSON that is read; messages have far fewer levels, and encoders refuse deeper ones."""
_MAX_WRITABLE_DEPTH = 254


def write_atomically(path: Path, *content: bytes, mode: int = 0o644) -> None:
    """Replace a file atomically: a reader sees the old content or the new, never a part of all its pieces."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(_create_file(beside, mode), "wb") as file:
            file.writelines(content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _create_file(path: Path, mode: int) -> int:
    """Open a new file; its folder is created if opening fails, which is rare."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        return os.open(path, flags, mode)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, mode)


def write_json(path: Path, value: Any) -> int:
    """Write a value as indented JSON, atomically; returns the number of bytes."""
    content = encode_json(value)
    write_atomically(path, content)
    return len(content)


def encode_json(value: Any) -> bytes:
    """Encode a value as indented JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)


def encode_json_part(value: Any, level: int) -> bytes:
    """Encode a value as it appears at this level of indentation, to reuse it in several larger texts."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return text.replace(b"\n", b"\n" + b"  " * level)


def parse_json(text: bytes) -> Any:
    """Parse JSON; raises ValueError if it is invalid, or nested more than MAX_DEPTH levels deep."""
    value = orjson.loads(text)
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH:
        deeper = value
        for _ in range(_MAX_WRITABLE_DEPTH - MAX_DEPTH):
            deeper = [deeper]
        try:
            orjson.dumps(deeper)
        except TypeError:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    return value


def parse_json_by_entries(
    text: bytes, name: str, read: Callable[[bytes], Any] = parse_json, read_entry: Callable[[bytes], Any] | None = None
) -> Any:
    """Parse an object as `read` does, but the list of this name entry by entry, if `encode_json` wrote the text.

    Parsing ten megabytes in one call would hold the GIL, and so stop the event loop, for as long as it takes.
    `read_entry` parses one entry and may shorten it; it isn't used for a text in another form.
    """
    begin, end = text.find(b'\n  "%b": [\n    {' % name.encode()), text.rfind(b"\n  ]")
    if not 0 <= begin < end:
        return read(text)
    try:
        content = read(b'%b\n  "%b": []%b' % (text[:begin], name.encode(), text[end + len(b"\n  ]") :]))
        if content[name] == []:  # the list is indeed a member of the outermost object
            content[name] = [*map(read_entry or read, _split_entries(text, text.index(b"{", begin), end))]
            return content
    except (ValueError, KeyError, TypeError):
        pass  # another form, or invalid JSON
    return read(text)


def _split_entries(text: bytes, begin: int, end: int) -> Iterator[bytes]:
    """Yield the text of each object between two offsets; in indented JSON each ends with a line of its own."""
    last = b"\n    }"
    while (found := text.find(last + b",\n    {", begin, end)) >= 0:
        yield text[begin : found + len(last)]
        begin = found + len(last + b",\n    ")
    yield text[begin:end]


def read_json_object(path: Path) -> dict[str, Any] | None:
    """Read the JSON object in a file; None if there is no file, or no valid object in it."""
    try:
        found = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class JsonLinesFile:
    """A file of JSON objects, one per line, appended without buffering: lines survive the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def append_line(self, value: Any) -> None:
        if self._file is None:
            self._file = self._open_file()
        line = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
        if self._file.write(line) < len(line):
            self.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def read_objects(self) -> list[dict[str, Any]]:
        """Read all objects; a truncated or invalid line is skipped."""
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with suppress(orjson.JSONDecodeError):
                found.append(orjson.loads(line))
        return [value for value in found if isinstance(value, dict)]

    def clear(self) -> None:
        """Empty the file; an open file stays open, because creating files is expensive."""
        if self._file is None:
            self._path.unlink(missing_ok=True)
        else:
            self._file.truncate(0)

    def close(self) -> None:
        """Close the file, and delete it if it is empty."""
        if self._file is not None:
            is_empty = os.fstat(self._file.fileno()).st_size == 0
            self._file.close()
            self._file = None
            if is_empty:
                self.clear()

    def _open_file(self) -> BinaryIO:
        """Open the file at the start of a line: a truncated last line is ended first."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+b", buffering=0)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


class ThrottledWriter:
    """Limits how often a file that follows frequent changes is written; `flush` writes what is pending.

    The more files of one event loop are to be written, the more rarely each is.
    """

    _pending_counts: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, int]] = WeakKeyDictionary()
    """How many writes are pending, by event loop."""

    def __init__(self, save: Callable[[], None], log: JsonLogger, interval: float = WRITE_INTERVAL_SECONDS) -> None:
        self._save = save
        self._interval = interval
        self._log = log
        self._current_interval = interval
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where a write is pending."""

    def schedule_write(self, interval: float | None = None) -> None:
        """Write after the current interval, or this one, unless a write is pending."""
        if self._timer is None:
            self._loop = asyncio.get_running_loop()
            pending = self._pending_counts[self._loop] = self._pending_counts.get(self._loop, 0) + 1
            shortest = self._current_interval if interval is None else interval
            self._timer = self._loop.call_later(max(shortest, pending * SECONDS_FOR_EACH_FILE), self.flush)

    def note_written_bytes(self, size: int) -> None:
        """Lengthen the interval so that files of this size stay below MAX_WRITE_RATE."""
        self._current_interval = max(self._interval, size / MAX_WRITE_RATE)

    def cancel_write(self) -> None:
        """Cancel the pending write."""
        if self._timer is not None and self._loop is not None:
            self._timer.cancel()
            self._timer = None
            self._pending_counts[self._loop] -= 1

    def flush(self) -> None:
        if self._timer is None:
            return
        self.cancel_write()
        try:
            self._save()
        except OSError as error:
            self._log.error("write_failed", error=str(error))
