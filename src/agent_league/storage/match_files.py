"""Match files in the database, for servers that share it: a transcript is committed together with its result.

The files in a server's own folder are copies of them. Calls block; they raise StoreFailed.
"""

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from agent_league.storage.base import MatchRow, RemovedRow, StoredRow
from agent_league.storage.match_segments import read_appended_match
from agent_league.storage.paths import DataPaths, match_file_name
from agent_league.storage.sql import SqlStore

COMPRESSION = 1
"""The fastest: a transcript becomes a sixth of itself."""
BATCH = 100
"""Files that are read at once."""
WRITE = sa.text(
    "INSERT INTO match_files (season_id, match_id, content) VALUES (:season, :match, :content)"
    " ON CONFLICT (season_id, match_id) DO UPDATE SET content = excluded.content"
)
DELETE = sa.text("DELETE FROM match_files WHERE season_id = :season AND match_id = :match")
LIST = sa.text("SELECT match_id FROM match_files WHERE season_id = :season ORDER BY match_id")
LIST_PRESENT = sa.text(
    "SELECT DISTINCT season_id, league_id FROM match_files JOIN seasons USING (season_id) WHERE NOT put_aside"
)
READ = sa.text(
    "SELECT match_id, content FROM match_files WHERE season_id = :season AND match_id IN :matches"
).bindparams(sa.bindparam("matches", expanding=True))


def find_match_files(home: Path, league_id: str, rows: Sequence[StoredRow]) -> dict[str, bytes]:
    """Read the files of matches that have a result now, as their referees in this folder left them."""
    paths, found = DataPaths(home), {}
    for row in rows:
        if not isinstance(row, MatchRow) or row.result is None or row.referee_id is None:
            continue
        with suppress(OSError):  # its referee is elsewhere, and keeps it there
            found[row.match_id] = read_appended_match(paths.match_file(league_id, row.match_id), row.referee_id)
    return found


def keep_match_files(
    connection: Any, season_id: int, files: Mapping[str, bytes], rows: Sequence[StoredRow] = ()
) -> None:
    """Write files in a transaction of a store, and delete those of matches that `rows` remove."""
    removed = [row.key for row in rows if isinstance(row, RemovedRow) and row.kind is MatchRow]
    if removed:
        connection.execute(DELETE, [{"season": season_id, "match": match_id} for match_id in removed])
    if files:
        values = [
            {"season": season_id, "match": match_id, "content": zlib.compress(content, COMPRESSION)}
            for match_id, content in files.items()
        ]
        connection.execute(WRITE, values)


def list_kept_matches(store: SqlStore, season_id: int) -> list[str]:
    """List the matches of a season whose files are in the store."""
    with store.read_transaction("match_files") as connection:
        return [*connection.scalars(LIST, {"season": season_id})] if connection else []


def restore_match_files(store: SqlStore, season_id: int, folder: Path, match_ids: Sequence[str]) -> None:
    """Write files of the store to a folder; a power cut may lose them there, and never in the store."""
    with store.read_transaction("match_files") as connection:
        wanted = {"season": season_id, "matches": list(match_ids)}
        found = connection.execute(READ, wanted).all() if connection and match_ids else []
    folder.mkdir(parents=True, exist_ok=True)
    for match_id, content in found:
        unfinished = folder / f".{match_id}.restored"
        unfinished.write_bytes(zlib.decompress(content))
        unfinished.replace(folder / match_file_name(match_id))


def list_missing_files(folder: Path, kept: Sequence[str]) -> list[list[str]]:
    """List the matches whose files a folder lacks, of those that are kept, as many at once as may be read at once."""
    missing = [match_id for match_id in kept if not (folder / match_file_name(match_id)).is_file()]
    return [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]


def restore_present_files(store: SqlStore, home: Path) -> None:
    """Write the match files of the present seasons of all leagues that a home lacks."""
    with store.read_transaction("match_files") as connection:
        seasons = connection.execute(LIST_PRESENT).all() if connection else []
    for season_id, league_id in seasons:
        folder = DataPaths(home).matches_folder(league_id)
        for batch in list_missing_files(folder, list_kept_matches(store, season_id)):
            restore_match_files(store, season_id, folder, batch)
