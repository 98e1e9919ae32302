"""Merges the logs of all agents of a SHARED folder in the order of time.

Also turns the conversation in a match file into log lines. Logs are read in chunks and may be written meanwhile; lines
that can't be parsed are counted and skipped.
"""

import heapq
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_league.league.match_files import BadMatchFile, load_match_file
from agent_league.log import MESSAGE_EVENTS
from agent_league.model.names import is_safe_name
from agent_league.referee.transcript import in_order
from agent_league.storage.files import read_json
from agent_league.storage.paths import DataPaths

Line = Mapping[str, Any]
Key = tuple[str, int]
FileId = tuple[int, int]
"""Device and inode of a file, which stay when it is renamed."""
PIECE = 64 * 1024
LONGEST_LINE = 8 * 1024 * 1024
SUFFIX = ".log.jsonl"
OLD_SUFFIX = re.compile(r"\.log\.jsonl(\.\d{1,4})?")
"""The end of a log's file name; rotated logs have a number."""
MESSAGE_MARKS = tuple(f'"event_type":"{event}"'.encode() for event in MESSAGE_EVENTS)
HEAD_BYTES = 300
"""Bytes of a line within which its event type stands."""
SECOND = len("2025-01-15T10:30:00")
FROM_MATCH = "from_match"
"""Key that marks a line from a match file."""


class LogFile:
    """One agent's log, read on from the last offset."""

    def __init__(
        self, path: Path, league_id: str | None, file_id: FileId | None = None, *, messages: bool = True
    ) -> None:
        """`with_messages`: whether to include lines of messages, which are most of them."""
        self.path = path
        self._file_id = file_id
        self._messages = messages
        self.league_id = league_id
        """The league that its folder names, if any."""
        self.broken = 0
        self._offset = 0

    def read(self, *, to_the_end: bool) -> Iterator[tuple[Key, Line]]:
        """Yield new lines with their time keys, in the file's order. `to_the_end`: also an unterminated last line."""
        rest = b""
        while piece := self._piece():
            *whole, rest = (rest + piece).split(b"\n")
            yield from self._lines(whole)
            if len(rest) > LONGEST_LINE:
                rest, self.broken = b"", self.broken + 1
        if to_the_end:
            yield from self._lines([rest])
        else:
            self._offset -= len(rest)

    def _piece(self) -> bytes:
        """Read the next bytes. The file isn't kept open: there may be more logs than a process may open files."""
        try:
            with self.path.open("rb") as file:
                if self._file_id not in (None, _identify(os.fstat(file.fileno()))):
                    return b""  # rotated just now; it is found under its new name the next time
                if file.seek(0, 2) < self._offset:
                    self._offset = 0  # the file was truncated
                file.seek(self._offset)
                piece = file.read(PIECE)
        except OSError:
            return b""
        self._offset += len(piece)
        return piece

    def _lines(self, texts: Iterable[bytes]) -> Iterator[tuple[Key, Line]]:
        for text in texts:
            if not text.strip() or (not self._messages and _is_message(text)):
                continue
            line = _read_line(text)
            if line is None:
                self.broken += 1
            else:
                yield key_of(line), line


@dataclass(slots=True)
class Trace:
    """All logs of a folder as one stream of lines."""

    home: Path
    league_id: str | None = None
    """Only lines of this league, as far as they tell."""
    is_only_league: bool = True
    """Whether lines without a league count as this league's."""
    since: str = ""
    """Only lines of this second or later."""
    messages: bool = True
    """Whether to include lines of messages."""
    _files: dict[FileId, LogFile] = field(default_factory=dict)
    _playing: dict[str, str] = field(default_factory=dict)
    """By agent: the league it registered with last."""

    @property
    def broken(self) -> int:
        return sum(file.broken for file in self._files.values())

    def components(self) -> list[str]:
        """Return the agents that have logs."""
        self._look()
        return sorted({OLD_SUFFIX.sub("", file.path.name) for file in self._files.values()})

    def lines(self, more: Iterable[Line] = (), *, to_the_end: bool = True) -> Iterator[Line]:
        """Yield lines written since the last call, merged with `more`, in the order of time."""
        self._look()
        own = ((key_of(line), line) for line in sorted(more, key=key_of))
        streams = [_from(file, to_the_end=to_the_end) for file in self._files.values()]
        others = ((key, None, line) for key, line in own)
        for key, file, line in heapq.merge(*streams, others, key=lambda found: found[0]):
            if key[0] >= self.since and (file is None or self._concerns(file, line)):
                yield line

    def _look(self) -> None:
        """Find new logs, and update the paths of rotated ones."""
        logs = DataPaths(self.home).logs
        for path in sorted(path for path in logs.rglob(f"*{SUFFIX}*") if OLD_SUFFIX.search(path.name)):
            try:
                file_id = _identify(path.stat())
            except OSError:  # rotated just now; it is found the next time
                continue
            file = self._files.get(file_id)
            if file is None:
                folder = path.relative_to(logs).parts
                league_id = folder[1] if folder[0] == "league" and len(folder) > 2 else None
                file = self._files[file_id] = LogFile(path, league_id, file_id, messages=self.messages)
            file.path = path

    def _concerns(self, file: LogFile, line: Line) -> bool:
        """Whether a line is of the league; an agent writes one log for all leagues it plays in."""
        component, named = str(line.get("component")), line.get("league_id")
        if isinstance(named, str) and line.get("event_type") == "registered":
            self._playing[component] = named
        elif line.get("event_type") == "manager_not_there":
            self._playing.pop(component, None)  # the next manager may be another league's
        of = file.league_id or (named if isinstance(named, str) else self._playing.get(component))
        return self.league_id is None or of == self.league_id or (of is None and self.is_only_league)


def _from(file: LogFile, *, to_the_end: bool) -> Iterator[tuple[Key, LogFile | None, Line]]:
    for key, line in file.read(to_the_end=to_the_end):
        yield key, file, line


def _identify(stat: os.stat_result) -> FileId:
    return stat.st_dev, stat.st_ino


def _is_message(text: bytes) -> bool:
    """Whether a log line is of a message, by its first bytes."""
    head = text[:HEAD_BYTES]
    return any(mark in head for mark in MESSAGE_MARKS)


def key_of(line: Line) -> Key:
    """Return second and microsecond of a line; foreign logs have fractions in the timestamp itself."""
    timestamp, microsecond = str(line["timestamp"]), line.get("microsecond")
    if isinstance(microsecond, int):
        return timestamp[:SECOND], microsecond
    fraction = "".join(letter for letter in timestamp[SECOND:].partition("+")[0] if letter in "0123456789")
    return timestamp[:SECOND], int(fraction[:6].ljust(6, "0"))


def _read_line(text: bytes) -> Line | None:
    try:
        line = read_json(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("timestamp"), str) else None


def last_beginning(home: Path, league_id: str) -> str:
    """Return when a league was last started, by its manager's log; match ids repeat after each start."""
    found = ""
    for path in (DataPaths(home).logs / "league" / league_id).glob(f"league{SUFFIX}*"):
        for _, line in LogFile(path, league_id, messages=False).read(to_the_end=True):
            if line.get("event_type") == "manager_started" and line.get("phase") == "REGISTRATION":
                found = max(found, str(line["timestamp"])[:SECOND])
    return found


def logged_leagues(home: Path) -> set[str]:
    """Return the leagues whose managers have logs in this folder."""
    return {path.name for path in DataPaths(home).logs.glob("league/*/") if is_safe_name(path.name)}


def conversation(home: Path, league_id: str, match_id: str) -> list[Line]:
    """Return the conversation in a match file as log lines of its referee; empty if there is no such file."""
    try:
        file = load_match_file(DataPaths(home).match(league_id, match_id))
    except BadMatchFile:
        return []
    referee = str(file.get("referee_id"))
    return [_line(entry, referee, match_id) for entry in in_order(file) if isinstance(entry.get("at"), str)]


def _line(entry: Mapping[str, Any], referee: str, match_id: str) -> Line:
    second, microsecond = key_of({"timestamp": entry["at"]})
    head = {
        "timestamp": f"{second}Z",
        "component": referee,
        "event_type": str(entry.get("method") or entry.get("direction") or "state"),
        "level": "WARNING" if entry.get("direction") == "failed" else "INFO",
        "microsecond": microsecond,
        "match_id": match_id,
        FROM_MATCH: True,
    }
    return head | {name: value for name, value in entry.items() if name not in head and name not in ("at", "method")}
