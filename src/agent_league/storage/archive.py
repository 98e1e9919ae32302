"""Making room for a new league: what an earlier one left under the same id is moved aside, never deleted."""

from collections.abc import Iterable
from pathlib import Path

from agent_league.storage.paths import DataPaths


def archive_league(home: Path, league_id: str, label: str, players: Iterable[str] = ()) -> Path | None:
    """Moves the data of an earlier league to `data/archive/<league_id>/<label>`; None where there was none.

    The histories of `players`, who start anew as well, go along.
    """
    paths = DataPaths(home)
    target = paths.archive(league_id, label)
    number = 1
    while target.exists():
        number += 1
        target = paths.archive(league_id, f"{label}-{number}")
    old = {"league": paths.league(league_id), "matches": paths.matches(league_id)}
    old |= {f"players/{player_id}": paths.history(player_id).parent for player_id in players}
    found = {name: folder for name, folder in old.items() if folder.is_dir()}
    for name, folder in found.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(place)
    return target if found else None
