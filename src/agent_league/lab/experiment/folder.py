"""The folder of an experiment: whose it is, who may write to it, and the files in it."""

import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agent_league.errors import UserError
from agent_league.lab.experiment.plan import Shard
from agent_league.lab.experiment.resolution import RESOLVED_NAME, ResolvedExperiment, read_resolved_experiment
from agent_league.lab.experiment.row_store import DATABASE_NAME, RowStore
from agent_league.lab.experiment.rows import write_csv
from agent_league.lab.experiment.toml_text import format_toml
from agent_league.storage.files import write_atomically
from agent_league.storage.lock import LockHeld, hold_lock

CSV_NAME = "games.csv"
LOCK_NAME = ".lock"
SHARD_FACT = "shard"
WHOLE = "1/1"
OWN_NAMES = (RESOLVED_NAME, DATABASE_NAME, CSV_NAME, "report.md", "report.html")
BEGUN_NAMES = (DATABASE_NAME, RESOLVED_NAME)
"""What is there before the first game."""
DEFAULT_ROOT = Path("experiments")
UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
COMPARED_SETTINGS = ("games", "players", "seeds", "rounds", "pairs", "full", "messages", "stop")


def choose_folder(name: str, shard: Shard | None) -> Path:
    """Choose the folder of an experiment that names none: always the same, so that a killed one goes on."""
    safe = UNSAFE_IN_NAMES.sub("-", name).strip("-") or "experiment"
    return DEFAULT_ROOT / (f"{safe}-shard-{shard.index}-of-{shard.count}" if shard else safe)


@contextmanager
def open_folder(resolved: ResolvedExperiment, folder: Path, shard: Shard | None = None) -> Iterator[RowStore]:
    """Open the folder of an experiment, alone, and make it if there is none; raises UserError if it is another's."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: expected a folder, found a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / LOCK_NAME, f"process {os.getpid()}"):
            _check_owner(resolved, folder)
            _write_resolved(resolved, folder)
            with RowStore.open(folder / DATABASE_NAME, resolved.plan) as store:
                _claim_store(store, resolved, folder, shard)
                yield store
    except LockHeld as holder:
        raise UserError(f"{folder}: another experiment is being written there, by {holder}") from None
    except OSError as error:
        raise UserError(f"{folder}: nothing can be written there: {error.strerror}") from None


def remove_experiment(folder: Path) -> None:
    """Remove an experiment without games, and its folder if there is nothing else in it."""
    for name in (*BEGUN_NAMES, LOCK_NAME):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def read_resolved(folder: Path) -> dict[str, Any]:
    """Read the resolved file of a folder as plain data; raises UserError."""
    path = folder / RESOLVED_NAME
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder} holds no experiment: there is no {RESOLVED_NAME} in it") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} can't be read: {error}") from None


def read_folder(folder: Path) -> ResolvedExperiment:
    """Return the experiment that a folder holds, without looking for its players; raises UserError."""
    return read_resolved_experiment(read_resolved(folder), folder.absolute())


def get_hash(content: dict[str, Any]) -> str:
    """Return the hash in a resolved file; empty if there is none."""
    resolved = content.get("resolved")
    return str(resolved.get("hash", "")) if isinstance(resolved, dict) else ""


def write_games_csv(store: RowStore, folder: Path) -> Path:
    """Write `games.csv`, row by row; a reader sees the old file or the new one."""
    path, beside = folder / CSV_NAME, folder / f".{CSV_NAME}.{os.getpid()}.tmp"
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            write_csv(store.read_rows(), file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def _check_owner(resolved: ResolvedExperiment, folder: Path) -> None:
    """Raise UserError if the folder holds another experiment, or files that would be replaced."""
    if not (folder / RESOLVED_NAME).exists():
        there = [name for name in OWN_NAMES if (folder / name).exists()]
        if there:
            raise UserError(f"{folder}: {', '.join(there)} is there, but no {RESOLVED_NAME}; name another folder")
        return
    content = read_resolved(folder)
    if get_hash(content) == resolved.content_hash:
        return
    if get_hash(content) and _is_unplayed(resolved, folder):
        for name in BEGUN_NAMES:
            (folder / name).unlink()
        return
    own = tomllib.loads(resolved.to_toml(folder))
    differing = [name for name in COMPARED_SETTINGS if content.get(name) != own.get(name)]
    before, now = (_get_resolved(one) for one in (content, own))
    if before.get("files") != now.get("files") and "players" not in differing:
        differing.append("the content of a player's Python file")
    if before.get("versions", {}).get("agent-league") != now["versions"]["agent-league"]:
        differing.append("the version of agent-league")
    what = ", ".join(differing) or "its hash"
    raise UserError(
        f"{folder} holds another experiment, {content.get('name')!r}. What differs: {what}."
        " Name another folder with --out, or go on with the file that it was begun with"
    )


def _is_unplayed(resolved: ResolvedExperiment, folder: Path) -> bool:
    """Whether an experiment was begun in the folder, but no game was played: perhaps a player's address was wrong."""
    path = folder / DATABASE_NAME
    if not path.is_file():
        return False
    with RowStore.open(path, resolved.plan) as store:
        return store.count_games() == 0


def _write_resolved(resolved: ResolvedExperiment, folder: Path) -> None:
    """Write the resolved file; one that is there is written anew if its name, ranking or budgets have changed since."""
    path, own = folder / RESOLVED_NAME, tomllib.loads(resolved.to_toml(folder))
    before = read_resolved(folder) if path.exists() else {}
    content = {**own, "resolved": before.get("resolved", own["resolved"])}  # the versions that it was begun with
    if content != before:
        write_atomically(path, format_toml(content).encode())


def _get_resolved(content: dict[str, Any]) -> dict[str, Any]:
    found = content.get("resolved")
    return found if isinstance(found, dict) else {}


def _claim_store(store: RowStore, resolved: ResolvedExperiment, folder: Path, shard: Shard | None) -> None:
    """Write whose the database is, or raise UserError if it is another's."""
    known, part = store.read_fact("hash"), store.read_fact(SHARD_FACT)
    if known is None:
        with store:
            store.write_fact("hash", resolved.content_hash)
            store.write_fact(SHARD_FACT, str(shard or WHOLE))
        return
    if known != resolved.content_hash:
        raise UserError(f"{folder / DATABASE_NAME} belongs to another experiment than {RESOLVED_NAME} beside it")
    if part != str(shard or WHOLE):
        has = "the whole experiment" if part == WHOLE else f"shard {part}"
        raise UserError(f"{folder} holds {has}; {f'shard {shard}' if shard else 'the whole one'} needs another folder")
