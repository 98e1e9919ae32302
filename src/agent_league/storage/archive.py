"""Archives the files of an earlier league of the same id; nothing is deleted."""

from collections.abc import Iterable
from pathlib import Path

from agent_league.storage.files import read_json_object
from agent_league.storage.paths import DataPaths

LEAGUE_FOLDER = "league"
"""Name of the folder with the league's own files inside an archive."""
SEASON_FILE = "season.json"
"""Name of the file that says which season of the store an archive belongs to."""


class ArchivedPaths(DataPaths):
    """The paths of a season whose files were archived; where it has none, there are no match files."""

    def __init__(self, home: Path, league_id: str, season_id: int) -> None:
        super().__init__(home)
        found = self.archive_folder(league_id, "any").parent.glob(f"*/{SEASON_FILE}")
        folders = [path.parent for path in found if (read_json_object(path) or {}).get("season_id") == season_id]
        self._archive = folders[0] if folders else self.archive_folder(league_id, f"season-{season_id}")

    def matches_folder(self, league_id: str) -> Path:
        return self._archive / "matches"

    def history_file(self, player_id: str) -> Path:
        return self._archive / "players" / super().history_file(player_id).parent.name / "history.json"


def archive_league(home: Path, league_id: str, label: str, players: Iterable[str] = ()) -> Path | None:
    """Move the data of an earlier league to `data/archive/<league_id>/<label>`; None if there was none to move.

    The histories of `players`, who start anew as well, are moved along.
    """
    paths = DataPaths(home)
    target = paths.archive_folder(league_id, label)
    number = 1
    while target.exists():
        number += 1
        target = paths.archive_folder(league_id, f"{label}-{number}")
    old = {f"players/{player_id}": paths.history_file(player_id).parent for player_id in players}
    if _has_league_data(paths, league_id):
        old |= {LEAGUE_FOLDER: paths.league_folder(league_id), "matches": paths.matches_folder(league_id)}
    found = {name: folder for name, folder in old.items() if folder.is_dir()}
    for name, folder in found.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(place)
    return target if found else None


def _has_league_data(paths: DataPaths, league_id: str) -> bool:
    """Whether there is anything to archive: without players a manager leaves an empty table and no match."""
    standings, matches = paths.standings_file(league_id), paths.matches_folder(league_id)
    content = read_json_object(standings) or {"standings": standings.is_file()}
    return bool(content.get("standings")) or (matches.is_dir() and any(matches.iterdir()))
