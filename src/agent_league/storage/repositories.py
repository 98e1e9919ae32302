"""The repositories of seed 000: each reads and writes one kind of file of `SHARED/data`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from agent_league.storage.files import json_bytes, json_part, read_object, write_json
from agent_league.storage.paths import DataPaths

SCHEMA_VERSION = "1.0.0"
HOME = Path("SHARED")


class StandingsRepository:
    """`data/leagues/<league_id>/standings.json`; `version` counts the writes."""

    def __init__(self, league_id: str, home: Path | str = HOME) -> None:
        self.league_id = league_id
        self.path = DataPaths(Path(home)).standings(league_id)

    def load(self) -> dict[str, Any]:
        empty = {"schema_version": SCHEMA_VERSION, "league_id": self.league_id, "version": 0}
        return read_object(self.path) or {**empty, "rounds_completed": 0, "standings": []}

    def save(self, standings: Sequence[Mapping[str, Any]], rounds_completed: int, last_updated: str) -> None:
        write_json(
            self.path,
            {
                "schema_version": SCHEMA_VERSION,
                "league_id": self.league_id,
                "last_updated": last_updated,
                "version": self._version() + 1,
                "rounds_completed": rounds_completed,
                "standings": list(standings),
            },
        )

    def _version(self) -> int:
        """The version on disk; a file that somebody spoilt counts as none."""
        version = self.load().get("version")
        return version if isinstance(version, int) else 0


class RoundsRepository:
    """`data/leagues/<league_id>/rounds.json`: every round with its matches and their state."""

    def __init__(self, league_id: str, home: Path | str = HOME) -> None:
        self.league_id = league_id
        self.path = DataPaths(Path(home)).rounds(league_id)

    def load(self) -> dict[str, Any]:
        return read_object(self.path) or {
            "schema_version": SCHEMA_VERSION,
            "league_id": self.league_id,
            "rounds": [],
        }

    @staticmethod
    def written(round_: Mapping[str, Any]) -> orjson.Fragment:
        """A round as it stands in the file; whoever keeps it can save one that hasn't changed for next to nothing."""
        return json_part(round_, level=2)

    def save(self, rounds: Sequence[Mapping[str, Any] | orjson.Fragment], last_updated: str) -> int:
        """How many bytes the file has now."""
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

    def __init__(self, league_id: str, home: Path | str = HOME) -> None:
        self.league_id = league_id
        self.paths = DataPaths(Path(home))

    def load(self, match_id: str) -> dict[str, Any] | None:
        return read_object(self.paths.match(self.league_id, match_id))

    def save(self, match_id: str, match: Mapping[str, Any]) -> None:
        write_json(self.paths.match(self.league_id, match_id), self._content(match_id, match))

    def propose(self, match_id: str, match: Mapping[str, Any], referee_id: str) -> None:
        """Writes the file of a match beside its place, where it waits until its result counts."""
        content = json_bytes(self._content(match_id, match))
        path = self._proposal(match_id, referee_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes(content)
        except OSError:
            path.unlink(missing_ok=True)  # half a file is worse than none
            raise

    def accept(self, match_id: str, referee_id: str) -> None:
        """What a referee proposed is the match's file from here on; another's play of it doesn't count."""
        self._proposal(match_id, referee_id).replace(self.paths.match(self.league_id, match_id))

    def drop(self, match_id: str, referee_id: str) -> None:
        """What a referee proposed doesn't count."""
        self._proposal(match_id, referee_id).unlink(missing_ok=True)

    def list(self) -> list[str]:
        """The ids of all matches that have a file."""
        folder = self.paths.matches(self.league_id)
        return sorted(path.stem for path in folder.glob("*.json") if not path.name.startswith("."))

    def _content(self, match_id: str, match: Mapping[str, Any]) -> dict[str, Any]:
        head = {"schema_version": SCHEMA_VERSION, "league_id": self.league_id, "match_id": match_id}
        return {**head, **match}

    def _proposal(self, match_id: str, referee_id: str) -> Path:
        return self.paths.match_proposal(self.league_id, match_id, referee_id)


class PlayerHistoryRepository:
    """`data/players/<player_id>/history.json`: a player's own games and what it knows of its opponents."""

    def __init__(self, player_id: str, home: Path | str = HOME) -> None:
        self.player_id = player_id
        self.path = DataPaths(Path(home)).history(player_id)
        self.journal = DataPaths(Path(home)).history_journal(player_id)

    def load(self) -> dict[str, Any]:
        empty = {"schema_version": SCHEMA_VERSION, "player_id": self.player_id}
        return read_object(self.path) or {**empty, "stats": {}, "matches": [], "opponents": {}}

    def put_aside(self) -> None:
        """Makes room for somebody else's history; this one and its journal stay beside it."""
        number = 1
        while self._aside(self.path, number).exists() or self._aside(self.journal, number).exists():
            number += 1
        for path in (self.path, self.journal):
            if path.exists():
                path.rename(self._aside(path, number))

    @staticmethod
    def _aside(path: Path, number: int) -> Path:
        return path.with_name(path.name.replace("history", f"history-{number}", 1))

    def save(self, history: Mapping[str, Any]) -> None:
        write_json(self.path, {"schema_version": SCHEMA_VERSION, "player_id": self.player_id, **history})
