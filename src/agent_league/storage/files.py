"""Files that are whole or not there: written beside their place, then moved into it."""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from agent_league.log import JsonLogger

WRITE_INTERVAL_SECONDS = 0.5
WRITE_RATE = 2 * 1024 * 1024
"""Bytes per second of one projection at the most: a large file is written the more rarely."""
DEEPEST = 150
"""Levels of what is read; messages have far fewer, and JSON that is nested deeper can't be written everywhere."""
_DEEPEST_WRITTEN = 254


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replaces a file in one step: a reader sees the old content or the new, never a part."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(_created(beside, mode), "wb") as file:
            file.write(content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _created(path: Path, mode: int) -> int:
    """A new file; its folder is made where it isn't there, which is rarely so."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        return os.open(path, flags, mode)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, mode)


def write_json(path: Path, value: Any) -> int:
    """How many bytes it has become."""
    content = json_bytes(value)
    write_whole(path, content)
    return len(content)


def json_bytes(value: Any) -> bytes:
    """JSON as people read it."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)


def json_part(value: Any, level: int) -> orjson.Fragment:
    """What stands so deep inside of a larger text of that kind, written once for many such texts."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return orjson.Fragment(text.replace(b"\n", b"\n" + b"  " * level))


def read_json(text: bytes) -> Any:
    """What JSON says; a ValueError where it is none, or nested deeper than anybody's program goes."""
    value = orjson.loads(text)
    if text.count(b"[") + text.count(b"{") > DEEPEST:
        deeper = value
        for _ in range(_DEEPEST_WRITTEN - DEEPEST):
            deeper = [deeper]
        try:
            orjson.dumps(deeper)
        except TypeError:
            raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    return value


def read_by_entries(
    text: bytes, name: str, read: Callable[[bytes], Any] = read_json, read_entry: Callable[[bytes], Any] | None = None
) -> Any:
    """As `read` reads the whole, but an object that `json_bytes` wrote entry by entry of the list of this name.

    One call for ten megabytes keeps all other threads waiting for as long as it takes, the event loop among them.
    `read_entry` may keep less of an entry than `read` does; it isn't used for what somebody wrote in another form.
    """
    begin, end = text.find(b'\n  "%b": [\n    {' % name.encode()), text.rfind(b"\n  ]")
    if not 0 <= begin < end:
        return read(text)
    try:
        content = read(b'%b\n  "%b": []%b' % (text[:begin], name.encode(), text[end + len(b"\n  ]") :]))
        if content[name] == []:  # it stands where it seemed to stand: in the outermost object
            content[name] = [*map(read_entry or read, _list_entries(text, text.index(b"{", begin), end))]
            return content
    except (ValueError, KeyError, TypeError):
        pass  # another form, or no JSON at all
    return read(text)


def _list_entries(text: bytes, begin: int, end: int) -> Iterator[bytes]:
    """The objects between two places, each of which ends with a line of its own."""
    last = b"\n    }"
    while (found := text.find(last + b",\n    {", begin, end)) >= 0:
        yield text[begin : found + len(last)]
        begin = found + len(last + b",\n    ")
    yield text[begin:end]


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is no file or it holds nothing of the kind."""
    try:
        found = read_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class LineFile:
    """A file of JSON objects, a line each, added to at once: what was written survives the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def append(self, value: Any) -> None:
        if self._file is None:
            self._file = self._opened()
        line = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)
        if self._file.write(line) < len(line):
            self.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def read(self) -> list[dict[str, Any]]:
        """The objects; a line that was cut off, or that somebody spoilt, is left out."""
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
        """Empties the file; one that is open stays so, because making files costs more than it seems."""
        if self._file is None:
            self._path.unlink(missing_ok=True)
        else:
            self._file.truncate(0)

    def close(self) -> None:
        """Lets go of the file; an empty one is nothing to keep."""
        if self._file is not None:
            is_empty = os.fstat(self._file.fileno()).st_size == 0
            self._file.close()
            self._file = None
            if is_empty:
                self.clear()

    def _opened(self) -> BinaryIO:
        """The file, ready for a new line: one that was cut off must not take the next along."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+b", buffering=0)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


class Projection:
    """A file that follows something that changes often: written at most a few times a second, and at the end."""

    def __init__(self, save: Callable[[], None], log: JsonLogger, interval: float = WRITE_INTERVAL_SECONDS) -> None:
        self._save = save
        self._interval = interval
        self._log = log
        self._pause = interval
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, within: float | None = None) -> None:
        """It is written within the interval, or within as many seconds as are named."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause if within is None else within, self.flush)

    def wrote(self, size: int) -> None:
        """How much the last write was: the next one waits the longer for it."""
        self._pause = max(self._interval, size / WRITE_RATE)

    def drop(self) -> None:
        """Forgets what has changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def flush(self) -> None:
        if self._timer is None:
            return
        self.drop()
        try:
            self._save()
        except OSError as error:
            self._log.error("write_failed", error=str(error))
