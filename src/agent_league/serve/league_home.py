"""The files of a league in the home of a server that has just claimed it: as its earlier owner had them.

Files of an earlier season are put aside, match files come from the store. Everything else is written by the manager.
"""

from datetime import UTC, datetime
from pathlib import Path

from agent_league.serve.shared_store import SharedStore
from agent_league.storage.archive import SEASON_FILE, archive_league
from agent_league.storage.base import SavedSeason
from agent_league.storage.files import read_json_object, write_json
from agent_league.storage.match_files import list_kept_matches, list_missing_files, restore_match_files
from agent_league.storage.match_segments import settle_left_segments
from agent_league.storage.paths import DataPaths, match_file_name


async def prepare_league_home(store: SharedStore, home: Path, league_id: str, saved: SavedSeason | None) -> None:
    """Make a home ready for a league's season; `saved` None: it has yet to begin. Raises StoreFailed and OSError."""
    season_id = saved.season.season_id if saved else None
    put_earlier_season_aside(home, league_id, season_id)
    if season_id is not None:
        write_json(DataPaths(home).season_marker_file(league_id), {"season_id": season_id})
        await restore_season_files(store, season_id, DataPaths(home).matches_folder(league_id))
        drop_lost_matches(DataPaths(home).matches_folder(league_id))


def put_earlier_season_aside(home: Path, league_id: str, season_id: int | None) -> None:
    """Archive the files that this home has of another season."""
    marker = read_json_object(DataPaths(home).season_marker_file(league_id)) or {}
    earlier = marker.get("season_id")
    if earlier is None or earlier == season_id:
        return
    moved = archive_league(home, league_id, datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))
    if moved:
        write_json(moved / SEASON_FILE, {"league_id": league_id, "season_id": earlier})
    DataPaths(home).season_marker_file(league_id).unlink(missing_ok=True)


async def restore_season_files(store: SharedStore, season_id: int, folder: Path) -> None:
    """Write the match files of a season that a folder lacks."""
    kept = await store.offload(list_kept_matches, store, season_id)
    for batch in list_missing_files(folder, kept):
        await store.offload(restore_match_files, store, season_id, folder, batch)  # others' commits go in between


def drop_lost_matches(folder: Path) -> None:
    """Drop what referees left here of matches that were played again elsewhere: those results never counted."""
    settle_left_segments(folder, lambda match_id, *_: False if (folder / match_file_name(match_id)).is_file() else None)
