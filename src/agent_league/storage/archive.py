"""Making room for a new league: what an earlier one left under the same id is moved aside, never deleted."""

import shutil
from pathlib import Path

from agent_league.storage.paths import DataPaths


def archive_league(home: Path, league_id: str, label: str, *, with_players: bool) -> Path | None:
    """Moves the data of an earlier league to `data/archive/<league_id>/<label>`; None where there was none.

    The players' own histories go along only where the players start anew as well; the agents' credentials are good for
    nothing then, and end.
    """
    paths = DataPaths(home)
    target = paths.archive(league_id, label)
    number = 1
    while target.exists():
        number += 1
        target = paths.archive(league_id, f"{label}-{number}")
    old = {"league": paths.league(league_id), "matches": paths.matches(league_id)}
    if with_players:
        old["players"] = paths.players
        shutil.rmtree(paths.credentials, ignore_errors=True)
    found = {name: folder for name, folder in old.items() if folder.is_dir()}
    for name, folder in found.items():
        target.mkdir(parents=True, exist_ok=True)
        folder.rename(target / name)
    return target if found else None
