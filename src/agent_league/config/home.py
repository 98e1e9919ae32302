"""The home folder (`SHARED`) that a command works in: finding it and creating it."""

import os
import shutil
from importlib import resources
from pathlib import Path

from agent_league.errors import ConfigError

HOME_FOLDER = "SHARED"
SYSTEM_FILE = Path("config", "system.json")


def find_home(start: Path) -> Path | None:
    """Find the SHARED folder: `$LEAGUE_HOME`, in `start` or a folder above it, then in the checkout."""
    if named := os.environ.get("LEAGUE_HOME"):
        return Path(named)
    places = [*(folder / HOME_FOLDER for folder in (start, *start.parents))]
    places += [folder for folder in (start, *start.parents) if folder.name == HOME_FOLDER]
    if root := os.environ.get("AGENT_LEAGUE_ROOT"):
        places.append(Path(root, HOME_FOLDER))
    return next((place for place in places if (place / SYSTEM_FILE).is_file()), None)


def is_home(home: Path) -> bool:
    return (home / SYSTEM_FILE).is_file()


def make_home(home: Path) -> list[Path]:
    """Write the shipped configuration files that are missing; return their paths. Raises ConfigError."""
    if home.exists() and not home.is_dir():
        raise ConfigError(home, "", "is a file; a folder for config, data and logs was expected")
    try:
        with resources.as_file(resources.files("agent_league.config") / "shipped") as shipped:
            return _copy_missing_files(shipped, home / "config")
    except OSError as error:
        raise ConfigError(home, "", f"can't be written: {error.strerror}") from None


def _copy_missing_files(source_folder: Path, target_folder: Path) -> list[Path]:
    written: list[Path] = []
    for source in sorted(source_folder.rglob("*.json")):
        target = target_folder / source.relative_to(source_folder)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copyfile(source, unfinished)
            unfinished.replace(target)  # agents that are started together must not read half a file
            written.append(target)
    return written
