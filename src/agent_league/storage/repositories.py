"""The repositories of seed 000: each reads and writes one kind of file of `SHARED/data`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_league.storage.files import (
    encode_json,
    encode_json_part,
    parse_json,
    read_json_object,
    write_atomically,
    write_json,
)
from agent_league.storage.match_segments import list_match_paths, read_match_bytes
from agent_league.storage.paths import DataPaths

SCHEMA_VERSION = "1.0.0"
DEFAULT_HOME = Path("SHARED")


class StandingsRepository:
    """`data/leagues/<league_id>/standings.json`; `version` counts the writes."""

    def __init__(self, league_id: str, home: Path | str = DEFAULT_HOME) -> None:
        self.league_id = league_id
        self.path = DataPaths(Path(home)).standings_file(league_id)

    def load(self) -> dict[str, Any]:
        empty = {"schema_version": SCHEMA_VERSION, "league_id": self.league_id, "version": 0}
        return read_json_object(self.path) or {**empty, "rounds_completed": 0, "standings": []}

    def save(self, standings: Sequence[Mapping[str, Any]], rounds_completed: int, last_updated: str) -> None:
        write_json(
            self.path,
            {
                "schema_version": SCHEMA_VERSION,
                "league_id": self.league_id,
                "last_updated": last_updated,
                "version": self._read_version() + 1,
                "rounds_completed": rounds_completed,
                "standings": list(standings),
            },
        )

    def _read_version(self) -> int:
        """Read the version on disk; 0 if there is no valid one."""
        version = self.load().get("version")
        return version if isinstance(version, int) else 0


class RoundsRepository:
    """`data/leagues/<league_id>/rounds.json`: every round with its matches and their state."""

    def __init__(self, league_id: str, home: Path | str = DEFAULT_HOME) -> None:
        self.league_id = league_id
        self.path = DataPaths(Path(home)).rounds_file(league_id)

    def load(self) -> dict[str, Any]:
        return read_json_object(self.path) or {
            "schema_version": SCHEMA_VERSION,
            "league_id": self.league_id,
            "rounds": [],
        }

    @staticmethod
    def encode_round(round_: Mapping[str, Any]) -> bytes:
        """Encode a round for the file; callers may cache it to save unchanged rounds cheaply."""
        return encode_json_part(round_, level=2)

    def save(self, rounds: Sequence[Mapping[str, Any] | bytes], last_updated: str) -> int:
        """Write the file piece by piece, as its whole text may take megabytes; returns its size in bytes."""
        head = {"schema_version": SCHEMA_VERSION, "league_id": self.league_id, "last_updated": last_updated}
        if not rounds:
            return write_json(self.path, {**head, "rounds": []})
        begin, _, end = encode_json({**head, "rounds": [None]}).rpartition(b"null")
        pieces = [begin]
        for round_ in rounds:
            pieces += (round_ if isinstance(round_, bytes) else self.encode_round(round_), b",\n    ")
        pieces[-1] = end
        write_atomically(self.path, *pieces)
        return sum(map(len, pieces))


class MatchRepository:
    """`data/matches/<league_id>/<match_id>.json`: lifecycle, transcript and result of a match."""

    def __init__(self, league_id: str, home: Path | str = DEFAULT_HOME) -> None:
        self.league_id = league_id
        self.paths = DataPaths(Path(home))

    def load(self, match_id: str) -> dict[str, Any] | None:
        try:
            found = parse_json(read_match_bytes(self.paths.match_file(self.league_id, match_id)))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def save(self, match_id: str, match: Mapping[str, Any]) -> None:
        content = encode_match(self.league_id, match_id, match)
        write_atomically(self.paths.match_file(self.league_id, match_id), content)

    def list(self) -> list[str]:
        """List the ids of all matches that have a file, written or yet to be written."""
        return [path.stem for path in list_match_paths(self.paths.matches_folder(self.league_id))]


def encode_match(league_id: str, match_id: str, match: Mapping[str, Any]) -> bytes:
    """Encode the content of a match's file."""
    head = {"schema_version": SCHEMA_VERSION, "league_id": league_id, "match_id": match_id}
    return encode_json({**head, **match})


class PlayerHistoryRepository:
    """`data/players/<player_id>/history.json`: a player's own games and what it knows of its opponents."""

    def __init__(self, player_id: str, home: Path | str = DEFAULT_HOME) -> None:
        self.player_id = player_id
        self.path = DataPaths(Path(home)).history_file(player_id)
        self.journal_path = DataPaths(Path(home)).history_journal_file(player_id)

    def load(self) -> dict[str, Any]:
        empty = {"schema_version": SCHEMA_VERSION, "player_id": self.player_id}
        return read_json_object(self.path) or {**empty, "stats": {}, "matches": [], "opponents": {}}

    def move_aside(self) -> None:
        """Rename the history and its journal to numbered names, to make room for another player's."""
        number = 1
        while self._aside_path(self.path, number).exists() or self._aside_path(self.journal_path, number).exists():
            number += 1
        for path in (self.path, self.journal_path):
            if path.exists():
                path.rename(self._aside_path(path, number))

    @staticmethod
    def _aside_path(path: Path, number: int) -> Path:
        return path.with_name(path.name.replace("history", f"history-{number}", 1))

    def save(self, history: Mapping[str, Any]) -> None:
        write_json(self.path, {"schema_version": SCHEMA_VERSION, "player_id": self.player_id, **history})
