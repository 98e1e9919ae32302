"""Match files that are yet to be written: what a referee has played, appended to a segment, one after the other.

Creating a file costs far more than appending to one, so a busy referee appends, and the files at the seeds' paths are
written when there is time. Until then a segment, `data/matches/<league_id>/.segments/<time>.<referee_id>.segment`,
holds what counts, and `read_match_bytes` and `list_match_paths` read both. A segment belongs to one life of one
referee, which holds its lock; `settle_left_segments` does what a referee that was killed has left to do.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import IO, Any

import orjson

from agent_league.storage.files import write_atomically
from agent_league.storage.lock import try_lock
from agent_league.storage.paths import match_file_name

SEGMENTS_FOLDER = ".segments"
SEGMENT_SUFFIX = ".segment"
MAX_SEGMENT_BYTES = 1024 * 1024
"""A segment of this size is deleted once its files are written; a smaller one is kept to be appended to."""
END_OF_FILE = b"\n}\n"
"""How every whole match file ends, and no part of one."""
MAX_HEAD_BYTES = 512
"""Longer than the line before any record: ids have a hundred characters at most."""
MAX_FOLDERS = 64

Decide = Callable[[str, str, bytes], bool | None]
"""Whether a match of this id, by this referee, with this content counts; None if that isn't known yet."""


@dataclass(slots=True)
class SegmentRecord:
    """Where a segment holds the file of a match, and whether its result counts; None if nobody has said so."""

    referee_id: str
    offset: int
    size: int
    counts: bool | None = None


class MatchSegment:
    """The segment that a referee appends to; what it counts on is in the segment when a call returns."""

    def __init__(self, folder: Path, referee_id: str) -> None:
        self._folder = folder
        self._path, self._file = _create_segment(folder / SEGMENTS_FOLDER, referee_id)
        self._size = 0
        self._undecided: dict[str, SegmentRecord] = {}
        self._due: dict[str, SegmentRecord] = {}

    @property
    def is_spent(self) -> bool:
        """Whether it can go: it is large, and all of its files are written."""
        return self._size >= MAX_SEGMENT_BYTES and not self._undecided and not self._due

    def add_match(self, match_id: str, referee_id: str, content: bytes) -> None:
        """Append the file of a match that was played; its result has yet to be recorded."""
        head = {"match_id": match_id, "referee_id": referee_id, "bytes": len(content)}
        self._append(orjson.dumps(head) + b"\n" + content)
        self._undecided[match_id] = SegmentRecord(referee_id, self._size - len(content), len(content))

    def decide_match(self, match_id: str, *, counts: bool) -> None:
        """Say whether the result of a match counts: its file is to be written then, else it is forgotten."""
        if record := self._undecided.pop(match_id, None):
            if counts:
                self._due[match_id] = record
            self._append(_encode_decision(match_id, counts=counts))

    @property
    def has_due_files(self) -> bool:
        """Whether files are left to write."""
        return bool(self._due)

    def write_files(self, most: int | None = None) -> None:
        """Write the files that are due, or so many of them."""
        for match_id in [*self._due][:most]:
            record = self._due[match_id]
            self._file.seek(record.offset)
            content = self._file.read(record.size)
            self._file.seek(self._size)
            _write_match_file(self._folder, match_id, content)
            del self._due[match_id]

    def close(self) -> None:
        """Close it, and delete it unless something in it is still needed."""
        self._file.close()
        if not self._undecided and not self._due:
            _delete_segment(self._path)

    def _append(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:] if written else data)
        except OSError:
            self._file.truncate(self._size)  # what follows half a record could not be read
            self._file.seek(self._size)
            raise
        self._size += len(data)


def read_match_bytes(path: Path, referee_id: str | None = None) -> bytes:
    """Read a match's file, from its place or from a segment; raises OSError.

    With `referee_id`, that of a match of this referee too whose report has yet to be acknowledged.
    """
    content: bytes | None = None
    for _ in range(2):  # it may be written, and the segment deleted, while we look
        with suppress(FileNotFoundError):
            content = path.read_bytes()
            if content.endswith(END_OF_FILE):
                return content
        found = _find_in_segments(path, referee_id)
        if found is not None:
            return found
    if content is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return content


def read_appended_match(path: Path, referee_id: str | None) -> bytes:
    """Read a match's file as this referee appended it last, else from its place; raises OSError."""
    found = _find_in_segments(path, referee_id)
    return read_match_bytes(path, referee_id) if found is None else found


def list_match_paths(folder: Path) -> list[Path]:
    """List the paths of all match files in a folder and below it, those yet to be written among them."""
    places = {path for path in folder.rglob("[!.]*.json") if path.is_file()}
    for segments in folder.rglob(SEGMENTS_FOLDER):
        matches = segments.parent
        places.update(matches / match_file_name(match_id) for match_id in _open_index(matches).list_counted())
    return sorted(places)


def find_match_size(path: Path) -> int:
    """Return the size of a match's file in bytes; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        record = _open_index(path.parent).find_record(path.stem)
        return record[1].size if record else 0


def settle_left_segments(folder: Path, decide: Decide | None = None) -> None:
    """Write the files that referees have left to write which are no more; raises OSError.

    `decide` says of matches whether they count, where the referee was killed before it knew. A file that is there
    already is left alone then.
    """
    for path in _list_segments(folder / SEGMENTS_FOLDER):
        with suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:
            if not try_lock(file):
                continue  # its referee is alive
            if _settle_segment(folder, file, decide):
                file.close()
                _delete_segment(path)


def _settle_segment(folder: Path, file: IO[bytes], decide: Decide | None) -> bool:
    """Write the files of one segment; return whether nothing in it is needed any more."""
    scan = _ScannedSegment()
    scan.read_new_records(file)
    for match_id, record in scan.records.items():
        content = _read_record(file, record)
        if record.counts:
            _write_match_file(folder, match_id, content)
        elif record.counts is None and decide:
            record.counts = decide(match_id, record.referee_id, content)
            if record.counts and not (folder / match_file_name(match_id)).exists():
                _write_match_file(folder, match_id, content)
            if record.counts is not None:
                file.seek(0, os.SEEK_END)
                file.write(_encode_decision(match_id, counts=record.counts))
    return all(record.counts is not None for record in scan.records.values())


def _write_match_file(folder: Path, match_id: str, content: bytes) -> None:
    """Write a match's file, unless it is there already, with corrections perhaps.

    The segment holds it until it is whole, so that it is created in its place.
    """
    place = f"{folder}{os.sep}{match_file_name(match_id)}"
    try:
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    except FileExistsError:
        found = Path(place).read_bytes()
        if not (found.startswith(content.removesuffix(END_OF_FILE)) and found.endswith(END_OF_FILE)):
            write_atomically(Path(place), content)
        return
    except FileNotFoundError:  # the league was put away
        write_atomically(Path(place), content)
        return
    try:
        written = 0
        while written < len(content):
            written += os.write(file, content[written:] if written else content)
    except OSError:
        Path(place).unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


def _create_segment(folder: Path, referee_id: str) -> tuple[Path, Any]:
    """Create a segment of a name that none has had before, and lock it."""
    at = time.time_ns()
    while True:
        path = folder / f"{at}.{referee_id}{SEGMENT_SUFFIX}"
        try:
            file = path.open("x+b", buffering=0)
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
            continue
        except FileExistsError:
            at += 1
            continue
        with suppress(OSError):  # somebody took it for one that was left, and deleted it
            if try_lock(file) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.seek(0)
                return path, file
        file.close()
        at += 1


def _delete_segment(path: Path) -> None:
    """Delete a segment, and the folder with the last of them."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _list_segments(folder: Path) -> list[Path]:
    """List the segments in a folder, oldest first."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SEGMENT_SUFFIX)
    except OSError:
        return []


def _encode_decision(match_id: str, *, counts: bool) -> bytes:
    return orjson.dumps({"match_id": match_id, "counts": counts}) + b"\n"


def _read_record(file: IO[bytes], record: SegmentRecord) -> bytes:
    file.seek(record.offset)
    return file.read(record.size)


@dataclass(slots=True)
class _ScannedSegment:
    """What was read of a segment so far."""

    end: int = 0
    records: dict[str, SegmentRecord] = field(default_factory=dict)

    def read_new_records(self, file: IO[bytes]) -> None:
        """Read on to the end, or to a record that isn't whole: it is being written, or its referee was killed."""
        size = file.seek(0, os.SEEK_END)
        while self.end < size:
            file.seek(self.end)
            line = file.read(MAX_HEAD_BYTES)
            head, has_end, _ = line.partition(b"\n")
            try:
                told = orjson.loads(head) if has_end else None
            except ValueError:
                told = None
            if not isinstance(told, dict):
                return
            begin = self.end + len(head) + 1
            end = begin + told.get("bytes", 0)
            if end > size:
                return
            if "bytes" in told:
                self.records[told["match_id"]] = SegmentRecord(told["referee_id"], begin, told["bytes"])
            elif record := self.records.get(told["match_id"]):
                record.counts = told["counts"]
            self.end = end


class _SegmentIndex:
    """Where the segments of one folder hold which matches; reads only what is new in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / SEGMENTS_FOLDER
        self._lock = Lock()
        self._segments: dict[Path, _ScannedSegment] = {}

    def find_record(self, match_id: str, referee_id: str | None = None) -> tuple[Path, SegmentRecord] | None:
        """Find the match that counts, else the latest of this referee that isn't decided."""
        found: tuple[Path, SegmentRecord] | None = None
        for path, scan in self._read_segments():
            record = scan.records.get(match_id)
            is_undecided = record and record.counts is None and record.referee_id == referee_id
            if record and (record.counts or (is_undecided and not (found and found[1].counts))):
                found = path, record
        return found

    def read_match(self, match_id: str, referee_id: str | None) -> bytes | None:
        if found := self.find_record(match_id, referee_id):
            path, record = found
            with suppress(FileNotFoundError), path.open("rb") as file:
                return _read_record(file, record)
        return None

    def list_counted(self) -> list[str]:
        """List the matches that count."""
        scans = self._read_segments()
        return [match_id for _, scan in scans for match_id, record in scan.records.items() if record.counts]

    def _read_segments(self) -> list[tuple[Path, _ScannedSegment]]:
        with self._lock:
            return [*self._scan_segments()]

    def _scan_segments(self) -> Iterator[tuple[Path, _ScannedSegment]]:
        before, self._segments = self._segments, {}
        for path in _list_segments(self._folder):
            scan = before.get(path) or _ScannedSegment()
            with suppress(FileNotFoundError), path.open("rb", buffering=0) as file:
                scan.read_new_records(file)
                self._segments[path] = scan
                yield path, scan


@lru_cache(maxsize=MAX_FOLDERS)
def _open_index(folder: Path) -> _SegmentIndex:
    return _SegmentIndex(folder)


def _find_in_segments(path: Path, referee_id: str | None) -> bytes | None:
    return _open_index(path.parent).read_match(path.stem, referee_id)
