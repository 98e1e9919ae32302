"""Backups of a SHARED folder: one file with its configuration, its data and a whole copy of its database.

A backup is made while leagues are played: the copy of the database is that of one moment. Logs are left out. A database
on a server of its own is left to that server's tools.
"""

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from agent_league.config.home import is_home
from agent_league.errors import UserError
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
            copy = Path(space, "league.db")
            has_database = SqlStore(resolve_store_address(home, store)).copy_to_file(copy)
            unfinished.touch(mode=0o600, exist_ok=False)
            with tarfile.open(unfinished, "w:gz") as archive:
                for path in _list_files(home):
                    with suppress(FileNotFoundError):  # of a match that has ended meanwhile
                        archive.add(path, path.relative_to(home).as_posix(), recursive=False)
                if has_database:
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


def restore_backup(backup: Path, home: Path) -> None:
    """Write the home that a backup holds; raises UserError unless the folder is new or empty."""
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise UserError(f"{home} isn't empty: name a new folder with --home, or move that one away.")
    try:
        with tempfile.TemporaryDirectory(dir=home.absolute().parent, prefix=".league-restore-") as space:
            with tarfile.open(backup, "r:gz") as archive:
                archive.extractall(space, filter="data")
            if not is_home(Path(space)):
                raise UserError(f"{backup} is no backup of a SHARED folder: it has no config/system.json.")
            if home.exists():
                home.rmdir()
            os.chmod(space, 0o755)  # noqa: PTH101, S103 - as any home
            os.rename(space, home)  # noqa: PTH104 - the folder is ours
            Path(space).mkdir()  # for the context to delete
    except (tarfile.TarError, EOFError, OSError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UserError(f"{backup} can't be restored: {why}. Nothing was changed.") from None


def _list_files(home: Path) -> Iterator[Path]:
    """List the files of a backup but the database: no locks, no unfinished files, no other backups."""
    for part in ("config", "data"):
        for path in sorted((home / part).rglob("*")):
            name = path.relative_to(home).as_posix()
            is_plain = path.is_file() and not path.is_symlink()
            if is_plain and name not in LEFT_OUT and not name.endswith(".lock") and not path.name.startswith(PREFIX):
                yield path
