"""One trace out of many logs: the lines of all agents of a SHARED folder in the order of their time.

Also what a match's file has of its conversation, in the form of log lines. Logs are read a piece at a time and may be
written meanwhile; a line that can't be read is counted and left out.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_league.league.match_files import BadMatchFile, load_match_file
from agent_league.model.names import is_safe_name
from agent_league.referee.transcript import in_order
from agent_league.storage.files import read_json
from agent_league.storage.paths import DataPaths

Line = Mapping[str, Any]
Key = tuple[str, int]
PIECE = 64 * 1024
LONGEST_LINE = 8 * 1024 * 1024
SUFFIX = ".log.jsonl"
SECOND = len("2025-01-15T10:30:00")
FROM_MATCH = "from_match"
"""Marks a line that stems from a match's file."""


class LogFile:
    """One agent's log, from where it was read to last."""

    def __init__(self, path: Path, league_id: str | None) -> None:
        self.path = path
        self.league_id = league_id
        """Whose it is, where its folder says so."""
        self.broken = 0
        self._offset = 0

    def read(self, *, to_the_end: bool) -> Iterator[tuple[Key, Line]]:
        """New lines; their order is the file's, even where a clock was set back. `to_the_end`: one not ended too."""
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
        """The next bytes; the file is not kept open, as there may be more agents than a process may open files."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._offset:
                    self._offset = 0  # somebody has begun it anew
                file.seek(self._offset)
                piece = file.read(PIECE)
        except OSError:
            return b""
        self._offset += len(piece)
        return piece

    def _lines(self, texts: Iterable[bytes]) -> Iterator[tuple[Key, Line]]:
        for text in texts:
            if not text.strip():
                continue
            line = _read_line(text)
            if line is None:
                self.broken += 1
            else:
                yield key_of(line), line


@dataclass(slots=True)
class Trace:
    """All logs of a folder."""

    home: Path
    league_id: str | None = None
    """Only lines of this league, as far as one can tell."""
    is_only_league: bool = True
    """Whether lines that name no league must be of this one."""
    since: str = ""
    """Only lines of this second or later."""
    _files: dict[Path, LogFile] = field(default_factory=dict)
    _playing: dict[str, str] = field(default_factory=dict)
    """The league that each agent registered with last."""

    @property
    def broken(self) -> int:
        return sum(file.broken for file in self._files.values())

    def components(self) -> list[str]:
        """Whose logs there are."""
        self._look()
        return sorted({path.name.removesuffix(SUFFIX) for path in self._files})

    def lines(self, more: Iterable[Line] = (), *, to_the_end: bool = True) -> Iterator[Line]:
        """What was written since this was asked last, with `more`, in the order of time."""
        self._look()
        own = ((key_of(line), line) for line in sorted(more, key=key_of))
        streams = [_from(file, to_the_end=to_the_end) for file in self._files.values()]
        others = ((key, None, line) for key, line in own)
        for key, file, line in heapq.merge(*streams, others, key=lambda found: found[0]):
            if key[0] >= self.since and (file is None or self._concerns(file, line)):
                yield line

    def _look(self) -> None:
        logs = DataPaths(self.home).logs
        for path in sorted(logs.rglob(f"*{SUFFIX}")):
            if path not in self._files:
                folder = path.relative_to(logs).parts
                self._files[path] = LogFile(path, folder[1] if folder[0] == "league" and len(folder) > 2 else None)

    def _concerns(self, file: LogFile, line: Line) -> bool:
        """Whether a line is of the league; agents write one log through all leagues that they play in."""
        component, named = str(line.get("component")), line.get("league_id")
        if isinstance(named, str) and line.get("event_type") == "registered":
            self._playing[component] = named
        elif line.get("event_type") == "manager_not_there":
            self._playing.pop(component, None)  # it may be another league's manager that answers next
        of = file.league_id or (named if isinstance(named, str) else self._playing.get(component))
        return self.league_id is None or of == self.league_id or (of is None and self.is_only_league)


def _from(file: LogFile, *, to_the_end: bool) -> Iterator[tuple[Key, LogFile | None, Line]]:
    for key, line in file.read(to_the_end=to_the_end):
        yield key, file, line


def key_of(line: Line) -> Key:
    """When it was written; a fraction of the second may stand in the timestamp itself, as others write it."""
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
    """When the latest season of a league began, as its manager's log says: match ids come again in every season."""
    log = LogFile(DataPaths(home).logs / "league" / league_id / f"league{SUFFIX}", league_id)
    found = ""
    for _, line in log.read(to_the_end=True):
        if line.get("event_type") == "manager_started" and line.get("phase") == "REGISTRATION":
            found = str(line["timestamp"])[:SECOND]
    return found


def logged_leagues(home: Path) -> set[str]:
    """The leagues whose managers have written logs in this folder."""
    return {path.name for path in DataPaths(home).logs.glob("league/*/") if is_safe_name(path.name)}


def conversation(home: Path, league_id: str, match_id: str) -> list[Line]:
    """What a match's file has of it, as log lines of its referee; none where there is no such file here."""
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
