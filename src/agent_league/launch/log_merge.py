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

from agent_league.league.match_file_reader import BadMatchFile, load_match_file
from agent_league.log import MESSAGE_EVENTS
from agent_league.model.names import is_safe_name
from agent_league.referee.transcript import merge_lifecycle
from agent_league.storage.files import parse_json
from agent_league.storage.paths import DataPaths

LogLine = Mapping[str, Any]
TimeKey = tuple[str, int]
FileId = tuple[int, int]
"""Device and inode of a file, which stay when it is renamed."""
CHUNK_BYTES = 64 * 1024
MAX_LINE_BYTES = 8 * 1024 * 1024
SUFFIX = ".log.jsonl"
LOG_NAME_END = re.compile(r"\.log\.jsonl(\.\d{1,4})?")
"""The end of a log's file name; rotated logs have a number."""
MESSAGE_MARKS = tuple(f'"event_type":"{event}"'.encode() for event in MESSAGE_EVENTS)
HEAD_BYTES = 300
"""Bytes of a line within which its event type stands."""
SECOND_LENGTH = len("2025-01-15T10:30:00")
FROM_MATCH = "from_match"
"""Key that marks a line from a match file."""


class LogFile:
    """One agent's log, read on from the last offset."""

    def __init__(
        self, path: Path, league_id: str | None, file_id: FileId | None = None, *, with_messages: bool = True
    ) -> None:
        """`with_messages`: whether to include lines of messages, which are most of them."""
        self.path = path
        self._file_id = file_id
        self._with_messages = with_messages
        self.league_id = league_id
        """The league that its folder names, if any."""
        self.broken_lines = 0
        self._offset = 0

    def read_new_lines(self, *, to_the_end: bool) -> Iterator[tuple[TimeKey, LogLine]]:
        """Yield new lines with their time keys, in the file's order. `to_the_end`: also an unterminated last line."""
        rest = b""
        while piece := self._read_chunk():
            *whole, rest = (rest + piece).split(b"\n")
            yield from self._parse_lines(whole)
            if len(rest) > MAX_LINE_BYTES:
                rest, self.broken_lines = b"", self.broken_lines + 1
        if to_the_end:
            yield from self._parse_lines([rest])
        else:
            self._offset -= len(rest)

    def _read_chunk(self) -> bytes:
        """Read the next bytes. The file isn't kept open: there may be more logs than a process may open files."""
        try:
            with self.path.open("rb") as file:
                if self._file_id not in (None, _identify_file(os.fstat(file.fileno()))):
                    return b""  # rotated just now; it is found under its new name the next time
                if file.seek(0, 2) < self._offset:
                    self._offset = 0  # the file was truncated
                file.seek(self._offset)
                piece = file.read(CHUNK_BYTES)
        except OSError:
            return b""
        self._offset += len(piece)
        return piece

    def _parse_lines(self, texts: Iterable[bytes]) -> Iterator[tuple[TimeKey, LogLine]]:
        for text in texts:
            if not text.strip() or (not self._with_messages and _is_message_line(text)):
                continue
            line = _parse_line(text)
            if line is None:
                self.broken_lines += 1
            else:
                yield time_key(line), line


@dataclass(slots=True)
class MergedLog:
    """All logs of a folder as one stream of lines."""

    home: Path
    league_id: str | None = None
    """Only lines of this league, as far as they tell."""
    is_only_league: bool = True
    """Whether lines without a league count as this league's."""
    since: str = ""
    """Only lines of this second or later."""
    with_messages: bool = True
    """Whether to include lines of messages."""
    _files: dict[FileId, LogFile] = field(default_factory=dict)
    _league_by_agent: dict[str, str] = field(default_factory=dict)
    """By agent: the league it registered with last."""

    @property
    def broken_lines(self) -> int:
        return sum(file.broken_lines for file in self._files.values())

    def list_components(self) -> list[str]:
        """Return the agents that have logs."""
        self._find_files()
        return sorted({LOG_NAME_END.sub("", file.path.name) for file in self._files.values()})

    def iter_lines(self, more: Iterable[LogLine] = (), *, to_the_end: bool = True) -> Iterator[LogLine]:
        """Yield lines written since the last call, merged with `more`, in the order of time."""
        self._find_files()
        own = ((time_key(line), line) for line in sorted(more, key=time_key))
        streams = [_read_with_file(file, to_the_end=to_the_end) for file in self._files.values()]
        others = ((key, None, line) for key, line in own)
        for key, file, line in heapq.merge(*streams, others, key=lambda found: found[0]):
            if key[0] >= self.since and (file is None or self._belongs_to_league(file, line)):
                yield line

    def _find_files(self) -> None:
        """Find new logs, and update the paths of rotated ones."""
        logs = DataPaths(self.home).logs_folder
        for path in sorted(path for path in logs.rglob(f"*{SUFFIX}*") if LOG_NAME_END.search(path.name)):
            try:
                file_id = _identify_file(path.stat())
            except OSError:  # rotated just now; it is found the next time
                continue
            file = self._files.get(file_id)
            if file is None:
                folder = path.relative_to(logs).parts
                league_id = folder[1] if folder[0] == "league" and len(folder) > 2 else None
                file = self._files[file_id] = LogFile(path, league_id, file_id, with_messages=self.with_messages)
            file.path = path

    def _belongs_to_league(self, file: LogFile, line: LogLine) -> bool:
        """Whether a line is of the league; an agent writes one log for all leagues it plays in."""
        component, named = str(line.get("component")), line.get("league_id")
        if isinstance(named, str) and line.get("event_type") == "registered":
            self._league_by_agent[component] = named
        elif line.get("event_type") == "manager_not_there":
            self._league_by_agent.pop(component, None)  # the next manager may be another league's
        of = file.league_id or (named if isinstance(named, str) else self._league_by_agent.get(component))
        return self.league_id is None or of == self.league_id or (of is None and self.is_only_league)


def _read_with_file(file: LogFile, *, to_the_end: bool) -> Iterator[tuple[TimeKey, LogFile | None, LogLine]]:
    for key, line in file.read_new_lines(to_the_end=to_the_end):
        yield key, file, line


def _identify_file(stat: os.stat_result) -> FileId:
    return stat.st_dev, stat.st_ino


def _is_message_line(text: bytes) -> bool:
    """Whether a log line is of a message, by its first bytes."""
    head = text[:HEAD_BYTES]
    return any(mark in head for mark in MESSAGE_MARKS)


def time_key(line: LogLine) -> TimeKey:
    """Return second and microsecond of a line; foreign logs have fractions in the timestamp itself."""
    timestamp, microsecond = str(line["timestamp"]), line.get("microsecond")
    if isinstance(microsecond, int):
        return timestamp[:SECOND_LENGTH], microsecond
    fraction = "".join(letter for letter in timestamp[SECOND_LENGTH:].partition("+")[0] if letter in "0123456789")
    return timestamp[:SECOND_LENGTH], int(fraction[:6].ljust(6, "0"))


def _parse_line(text: bytes) -> LogLine | None:
    try:
        line = parse_json(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("timestamp"), str) else None


def find_last_start(home: Path, league_id: str) -> str:
    """Return when a league was last started, by its manager's log; match ids repeat after each start."""
    found = ""
    for path in (DataPaths(home).logs_folder / "league" / league_id).glob(f"league{SUFFIX}*"):
        for _, line in LogFile(path, league_id, with_messages=False).read_new_lines(to_the_end=True):
            if line.get("event_type") == "manager_started" and line.get("phase") == "REGISTRATION":
                found = max(found, str(line["timestamp"])[:SECOND_LENGTH])
    return found


def find_logged_leagues(home: Path) -> set[str]:
    """Return the leagues whose managers have logs in this folder."""
    return {path.name for path in DataPaths(home).logs_folder.glob("league/*/") if is_safe_name(path.name)}


def read_match_conversation(home: Path, league_id: str, match_id: str) -> list[LogLine]:
    """Return the conversation in a match file as log lines of its referee; empty if there is no such file."""
    try:
        file = load_match_file(DataPaths(home).match_file(league_id, match_id))
    except BadMatchFile:
        return []
    referee = str(file.get("referee_id"))
    return [
        _to_log_line(entry, referee, match_id) for entry in merge_lifecycle(file) if isinstance(entry.get("at"), str)
    ]


def _to_log_line(entry: Mapping[str, Any], referee: str, match_id: str) -> LogLine:
    second, microsecond = time_key({"timestamp": entry["at"]})
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
