"""The repositories of seed 000: each reads and writes one kind of file of `SHARED/data`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from agent_league.storage.files import encode_json, encode_json_fragment, read_json_object, write_atomically, write_json
from agent_league.storage.paths import DataPaths, match_file_name, proposal_file_name

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
    def encode_round(round_: Mapping[str, Any]) -> orjson.Fragment:
        """Encode a round for the file; callers may cache it to save unchanged rounds cheaply."""
        return encode_json_fragment(round_, level=2)

    def save(self, rounds: Sequence[Mapping[str, Any] | orjson.Fragment], last_updated: str) -> int:
        """Write the file; returns its size in bytes."""
        return write_json(
            self.path,
            {
                "schema_version": SCHEMA_VERSION,
                "league_id": self.league_id,
                "last_updated": last_updated,
                "rounds": list(rounds),
            },
        )


class MatchRepository:
    """`data/matches/<league_id>/<match_id>.json`: lifecycle, transcript and result of a match."""

    def __init__(self, league_id: str, home: Path | str = DEFAULT_HOME) -> None:
        self.league_id = league_id
        self.paths = DataPaths(Path(home))

    def load(self, match_id: str) -> dict[str, Any] | None:
        return read_json_object(self.paths.match_file(self.league_id, match_id))

    def save(self, match_id: str, match: Mapping[str, Any]) -> None:
        write_atomically(self.paths.match_file(self.league_id, match_id), self.encode_match(match_id, match))

    def encode_match(self, match_id: str, match: Mapping[str, Any]) -> bytes:
        """Encode the content of a match's file."""
        head = {"schema_version": SCHEMA_VERSION, "league_id": self.league_id, "match_id": match_id}
        return encode_json({**head, **match})

    def save_proposal(self, match_id: str, content: bytes, referee_id: str) -> None:
        """Write a match's file beside its place, where it waits until its result is recorded."""
        path = self._proposal_path(match_id, referee_id)
        try:
            with self._create_file(path) as file:
                while content:
                    content = content[file.write(content) :]
        except OSError:
            self.drop_proposal(match_id, referee_id)  # a partial file is worse than none
            raise

    def accept_proposal(self, match_id: str, referee_id: str) -> None:
        """Make a referee's proposal the match's file, unless it is already; those of other referees don't count."""
        place = self._matches_folder + match_file_name(match_id)
        try:
            os.replace(self._proposal_path(match_id, referee_id), place)  # noqa: PTH105 - no Path
        except FileNotFoundError:
            if not Path(place).exists():
                raise

    def drop_proposal(self, match_id: str, referee_id: str) -> None:
        """Delete a referee's proposal."""
        Path(self._proposal_path(match_id, referee_id)).unlink(missing_ok=True)

    def list_proposals(self) -> Iterator[tuple[str, str]]:
        """Yield the match and the referee of each proposal that waits."""
        for path in self.paths.matches_folder(self.league_id).glob(".*.json"):
            match_id, _, referee_id = path.stem.removeprefix(".").partition(".")
            if referee_id:
                yield match_id, referee_id

    def list(self) -> list[str]:
        """List the ids of all matches that have a file."""
        folder = self.paths.matches_folder(self.league_id)
        return sorted(path.stem for path in folder.glob("*.json") if not path.name.startswith("."))

    @cached_property
    def _matches_folder(self) -> str:
        """The folder as text: each match names two files, and Path objects would cost more than the files."""
        return f"{self.paths.matches_folder(self.league_id)}{os.sep}"

    def _proposal_path(self, match_id: str, referee_id: str) -> str:
        return self._matches_folder + proposal_file_name(match_id, referee_id)

    def _create_file(self, path: str) -> FileIO:
        """Open a new file; its folder is created if opening fails, which is once a league."""
        try:
            return FileIO(path, "w")
        except FileNotFoundError:
            Path(self._matches_folder).mkdir(parents=True, exist_ok=True)
            return FileIO(path, "w")


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
