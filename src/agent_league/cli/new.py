"""`league new player DIR`: write a starter project for a player in Python or JavaScript.

A starter is a folder of files in `starters/`, which are copied; only `config.json` is changed: name and port.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from agent_league.cli.options import say
from agent_league.errors import UserError
from agent_league.model.names import is_showable

CONFIG = "config.json"
LONGEST_NAME = 100


class Kind(StrEnum):
    """Kinds of starters."""

    PLAYER = "player"


class Language(StrEnum):
    """Languages of starters: the folders of `starters/`."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"


START = {Language.PYTHON: "{python} player.py", Language.JAVASCRIPT: "node player.js"}
TEST = {Language.PYTHON: "{python} -m unittest", Language.JAVASCRIPT: "{league}node --test"}
TO_CHANGE = {Language.PYTHON: "player.py", Language.JAVASCRIPT: "player.js"}


def new(
    kind: Annotated[Kind, typer.Argument(metavar="player", help="What to begin: a player.")],  # noqa: ARG001 - the only kind
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write; it must be new or empty.")],
    language: Annotated[Language, typer.Option(help="The language to write it in.")] = Language.PYTHON,
    name: Annotated[str | None, typer.Option(help="The name to show (default: the folder's).")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to serve.")] = 8101,
) -> None:
    """Write a player to start from: its decision in one function, a configuration, and a test with `league check`."""
    chosen = folder.resolve().name if name is None else name
    if not is_showable(chosen) or not 1 <= len(chosen) <= LONGEST_NAME:
        raise UserError(f"--name {chosen!r}: expected 1 to {LONGEST_NAME} characters that people can see")
    for path in write_starter(folder, language, chosen, port):
        say(f"wrote {path}")
    say(f"1. Change `choose` in {folder / TO_CHANGE[language]}.")
    ours = {"python": _python(folder), "league": _league(folder)}
    say(f"2. Check it: cd {shlex.quote(str(folder))} && {TEST[language].format(**ours)}")
    say(f"3. Play: {START[language].format(**ours)}, once a league waits for it (see README.md there).")


def _python(folder: Path) -> str:
    """Return the command, seen from the folder, of the Python that has this package."""
    found = shutil.which("python")
    is_first = found is not None and Path(found).parent == Path(sys.executable).parent
    return "python" if is_first else _from(folder, Path(sys.executable))


def _league(folder: Path) -> str:
    """Return the variable that tells a Node test where the `league` command is; empty if it is on the PATH."""
    return "" if shutil.which("league") else f"LEAGUE={_from(folder, Path(sys.executable).with_name('league'))} "


def _from(folder: Path, program: Path) -> str:
    return shlex.quote(os.path.relpath(program, folder))


def write_starter(folder: Path, language: Language, name: str, port: int) -> Iterator[Path]:
    """Write the files of a starter one by one; UserError if the folder is not empty."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "is not empty" if folder.is_dir() else "is a file"
            raise UserError(f"{folder} {what}; name a folder that is new or empty. Nothing was written.")
        folder.mkdir(parents=True, exist_ok=True)
        for file in _files(language):
            path = folder / file.name
            content = file.read_text(encoding="utf-8")
            with path.open("x", encoding="utf-8", newline="\n") as target:
                target.write(_filled(content, name, port) if file.name == CONFIG else content)
            yield path
    except OSError as error:
        raise UserError(f"{error.filename or folder} can't be written: {error.strerror}") from None


def _files(language: Language) -> list[Traversable]:
    """List the files of a starter; folders such as `__pycache__` are skipped."""
    folder = resources.files("agent_league.cli") / "starters" / language
    return sorted((file for file in folder.iterdir() if file.is_file()), key=lambda file: file.name)


def _filled(config: str, name: str, port: int) -> str:
    return json.dumps({**json.loads(config), "name": name, "port": port}, indent=2, ensure_ascii=False) + "\n"
