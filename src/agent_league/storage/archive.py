"""Making room for a new league: what an earlier one left under the same id is moved aside, never deleted."""

from collections.abc import Iterable
from pathlib import Path

from agent_league.storage.files import read_object
from agent_league.storage.paths import DataPaths

LEAGUE = "league"
"""The folder of the league's own files inside that of an archived one."""


def archive_league(home: Path, league_id: str, label: str, players: Iterable[str] = ()) -> Path | None:
    """Moves the data of an earlier league to `data/archive/<league_id>/<label>`; None where there was none to move.

    The histories of `players`, who start anew as well, go along.
    """
    paths = DataPaths(home)
    target = paths.archive(league_id, label)
    number = 1
    while target.exists():
        number += 1
        target = paths.archive(league_id, f"{label}-{number}")
    old = {f"players/{player_id}": paths.history(player_id).parent for player_id in players}
    if _was_played(paths, league_id):
        old |= {LEAGUE: paths.league(league_id), "matches": paths.matches(league_id)}
    found = {name: folder for name, folder in old.items() if folder.is_dir()}
    for name, folder in found.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(place)
    return target if found else None


def _was_played(paths: DataPaths, league_id: str) -> bool:
    """Whether anybody came: a manager that waited in vain leaves a table without rows and no match."""
    standings, matches = paths.standings(league_id), paths.matches(league_id)
    content = read_object(standings) or {"standings": standings.is_file()}
    return bool(content.get("standings")) or (matches.is_dir() and any(matches.iterdir()))
