"""Which files of a user go to workers on other machines: those of an experiment's folder, but for what may be secret.

They are copied to a folder of their own, so that what is sent can be looked at, and is as large as it is said to be.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_league.errors import UserError
from agent_league.games.registry import FILES_VARIABLE
from agent_league.lab.experiment.contestants import PlayerKind, PlayerSpec
from agent_league.lab.experiment.row_store import DATABASE_NAME

MAX_BYTES = 100 * 1024**2
MAX_FILES = 2000
HIDDEN = ".*"
SKIPPED_NAMES = (
    *(HIDDEN, "__pycache__", "*.pyc", "node_modules", "*.pem", "*.key", "*.p12", "*.pfx"),
    *("*secret*", "*token*", "*password*", "*credential*"),
)
"""Names of files and folders that stay at home."""
SKIPPED_MARKS = ("pyvenv.cfg", DATABASE_NAME, "config/system.json")
"""A folder with one of these stays at home: an environment, an experiment's results, a league's SHARED folder."""
GAMES_FOLDER = "games_of_files"


@dataclass(frozen=True, slots=True)
class SentFiles:
    """What a worker gets: a folder, which will be its current one, and environment variables."""

    folder: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def to_runtime_env(self) -> dict[str, Any]:
        """Return it as Ray's `runtime_env`; empty: a worker needs nothing from here."""
        return {"working_dir": str(self.folder), "env_vars": self.variables} if self.folder else {}


@contextmanager
def collect_files(players: Iterable[PlayerSpec]) -> Iterator[SentFiles]:
    """Copy what the players in files need, and the games in files; raises UserError if it is too much or elsewhere."""
    own = [player for player in players if player.kind is PlayerKind.FILE]
    games = [Path(name) for name in filter(None, os.environ.get(FILES_VARIABLE, "").split(os.pathsep))]
    if not own and not games:
        yield SentFiles()
        return
    with TemporaryDirectory(prefix="league-sent-") as place:
        folder = Path(place)
        budget = _Budget()
        for home in {Path(player.home) for player in own}:
            _copy_files(_list_files(home), home, folder, budget)
        for player in own:
            _check_sent(player, folder)
        variables = {}
        if games:
            variables[FILES_VARIABLE] = os.pathsep.join(_copy_games(games, folder, budget))
        yield SentFiles(folder, variables)


@dataclass(slots=True)
class _Budget:
    files: int = 0
    size: int = 0

    def spend(self, path: Path, home: Path) -> None:
        """Count a file; raises UserError if there are too many."""
        self.files += 1
        self.size += path.stat().st_size
        if self.files > MAX_FILES or self.size > MAX_BYTES:
            raise UserError(
                f"{home} has more than {MAX_FILES} files or {MAX_BYTES // 1024**2} MiB, and all of it would be sent to"
                " the workers: put the experiment's file and its players into a folder of their own"
            )


def _copy_files(paths: Iterable[Path], home: Path, folder: Path, budget: _Budget) -> None:
    for path in paths:
        budget.spend(path, home)
        target = folder / path.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise UserError(f"{path} can't be sent to the workers: {error.strerror}") from None


def _list_files(home: Path) -> Iterator[Path]:
    """Yield the files below a folder that may be sent; links to elsewhere are none of them."""
    for place, folders, names in os.walk(home):
        here = Path(place)
        folders[:] = [name for name in folders if not _is_skipped(name) and not _is_marked(here / name)]
        for name in sorted(names):
            path = here / name
            if not _is_skipped(name) and path.is_file() and path.resolve().is_relative_to(home.resolve()):
                yield path


def _is_skipped(name: str) -> bool:
    return any(fnmatch(name.lower(), pattern) for pattern in SKIPPED_NAMES)


def _is_marked(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in SKIPPED_MARKS)


def _check_sent(player: PlayerSpec, folder: Path) -> None:
    name = player.file_name
    if Path(name).is_absolute() or not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise UserError(
            f"{player.label}: {name} isn't below {player.home}, and only the folder of the experiment's file is sent to"
            " the workers"
        )
    if not (folder / name).is_file():
        raise UserError(f"{player.label}: {name} isn't sent to the workers, because of its name or that of its folder")


def _copy_games(games: Iterable[Path], folder: Path, budget: _Budget) -> Iterator[str]:
    """Copy files of games with the Python files beside them; yield their new places, relative to the folder."""
    for number, game in enumerate(games):
        target = folder / GAMES_FOLDER / str(number)
        beside = [path for path in sorted(game.absolute().parent.glob("*.py")) if not _is_skipped(path.name)]
        _copy_files(beside, game.absolute().parent, target, budget)
        yield str(Path(GAMES_FOLDER, str(number), game.name))
