"""Backups of a SHARED folder: one file with its configuration, its data and a whole copy of its database.

A backup is made while leagues are played: the copy of the database is that of one moment, and SQLite, whatever it was.
Logs are left out.
"""

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from agent_league.config.home import is_home
from agent_league.errors import UserError
from agent_league.storage.database_copy import copy_database
from agent_league.storage.match_files import restore_present_files
from agent_league.storage.match_segments import SEGMENT_SUFFIX
from agent_league.storage.sql import SqlStore, resolve_store_address

PREFIX, SUFFIX = "league-backup-", ".tar.gz"
DATABASE = "data/league.db"
LEFT_OUT = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "data/serve/server.lock")


def write_backup(home: Path, folder: Path, store: str | None = None) -> Path:
    """Write a backup of a home into a folder and return its file, which only its owner can read; raises UserError."""
    label = datetime.now(UTC).strftime("%Y%m%dT%H%M%S_%fZ")
    target = folder / f"{PREFIX}{label}{SUFFIX}"
    unfinished = folder / f".{target.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".league-backup-") as space:
            source, copy = SqlStore(resolve_store_address(home, store)), Path(space, "league.db")
            has_database = source.copy_to_file(copy)
            unfinished.touch(mode=0o600, exist_ok=False)
            with tarfile.open(unfinished, "w:gz") as archive:
                for path in _list_files(home):
                    with suppress(FileNotFoundError):  # of a match that has ended meanwhile
                        archive.add(path, path.relative_to(home).as_posix(), recursive=False)
                if source.is_on_server:  # last, as it has the match files too: none of the folder's may be newer
                    with closing(SqlStore(f"sqlite:///{copy.absolute()}")) as written:
                        copy_database(source, written)
                if has_database or source.is_on_server:
                    copy.chmod(0o600)
                    archive.add(copy, DATABASE)
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(f"{error.filename or folder} can't be written: {error.strerror}. No backup was made.") from None
    return target


def delete_old_backups(folder: Path, keep: int) -> list[Path]:
    """Delete all but the latest backups in a folder; returns those deleted."""
    old = sorted(folder.glob(f"{PREFIX}*{SUFFIX}"))[:-keep]
    for path in old:
        path.unlink(missing_ok=True)
    return old


def restore_backup(backup: Path, home: Path, store: str | None = None) -> None:
    """Write the home that a backup holds, and its database into `store`, if that isn't to be a file of the home.

    Raises UserError unless both are new or empty.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise UserError(f"{home} isn't empty: name a new folder with --home, or move that one away.")
    try:
        with tempfile.TemporaryDirectory(dir=home.absolute().parent, prefix=".league-restore-") as space:
            with tarfile.open(backup, "r:gz") as archive:
                _extract_files(archive, space)
            if not is_home(Path(space)):
                raise UserError(f"{backup} is no backup of a SHARED folder: it has no config/system.json.")
            _restore_database(Path(space), store)
            if home.exists():
                home.rmdir()
            os.chmod(space, 0o755)  # noqa: PTH101, S103 - as any home
            os.rename(space, home)  # noqa: PTH104 - the folder is ours
            Path(space).mkdir()  # for the context to delete
    except (tarfile.TarError, EOFError, OSError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UserError(f"{backup} can't be restored: {why}. Nothing was changed.") from None


def _extract_files(archive: tarfile.TarFile, folder: str) -> None:
    """Write the files of a backup below a folder; raises TarError for what no backup holds.

    The check is our own because Python before 3.11.4 has no `data_filter`.
    """
    for member in archive.getmembers():
        path = PurePosixPath(member.name)
        if not (member.isfile() or member.isdir()) or path.is_absolute() or ".." in path.parts:
            raise tarfile.TarError(f"it holds {member.name!r}, which isn't a file below the folder")
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    archive.extractall(folder)  # noqa: S202 - each member has been checked


def _restore_database(home: Path, store: str | None) -> None:
    """Move the database of a restored home into a store; one that stays there leaves its match files beside it."""
    file = home / DATABASE
    if not file.is_file():
        return
    with closing(SqlStore(resolve_store_address(home))) as source:
        source.bring_up_to_date()
        if store is None:
            restore_present_files(source, home)
            return
        with closing(SqlStore(store)) as target:
            copy_database(source, target)
    file.unlink()


def _list_files(home: Path) -> Iterator[Path]:
    """List the files of a backup but the database: no locks, no unfinished files, no other backups.

    Segments come before the rest is looked for: a match that is gone from there has its file by then.
    """
    for part, pattern in (("config", "*"), ("data", f"*{SEGMENT_SUFFIX}"), ("data", "*")):
        for path in sorted((home / part).rglob(pattern)):
            name = path.relative_to(home).as_posix()
            is_plain = path.is_file() and not path.is_symlink() and (path.suffix != SEGMENT_SUFFIX or pattern != "*")
            if is_plain and name not in LEFT_OUT and not name.endswith(".lock") and not path.name.startswith(PREFIX):
                yield path
