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

from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError
from agent_league.model.names import is_displayable

CONFIG_FILE = "config.json"
MAX_NAME_LENGTH = 100


class StarterKind(StrEnum):
    """Kinds of starters."""

    PLAYER = "player"


class StarterLanguage(StrEnum):
    """Languages of starters: the folders of `starters/`."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"


START_COMMANDS = {StarterLanguage.PYTHON: "{python} player.py", StarterLanguage.JAVASCRIPT: "node player.js"}
TEST_COMMANDS = {StarterLanguage.PYTHON: "{python} -m unittest", StarterLanguage.JAVASCRIPT: "{league}node --test"}
FILE_TO_EDIT = {StarterLanguage.PYTHON: "player.py", StarterLanguage.JAVASCRIPT: "player.js"}


def new(
    kind: Annotated[StarterKind, typer.Argument(metavar="player", help="What to begin: a player.")],  # noqa: ARG001 - the only kind
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write; it must be new or empty.")],
    language: Annotated[StarterLanguage, typer.Option(help="The language to write it in.")] = StarterLanguage.PYTHON,
    name: Annotated[str | None, typer.Option(help="The name to show (default: the folder's).")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to serve.")] = 8101,
) -> None:
    """Write a player to start from: its decision in one function, a configuration, and a test with `league check`."""
    chosen = folder.resolve().name if name is None else name
    if not is_displayable(chosen) or not 1 <= len(chosen) <= MAX_NAME_LENGTH:
        raise UserError(f"--name {chosen!r}: expected 1 to {MAX_NAME_LENGTH} characters that people can see")
    for path in write_starter(folder, language, chosen, port):
        print_remark(f"wrote {path}")
    print_remark(f"1. Change `choose` in {folder / FILE_TO_EDIT[language]}.")
    ours = {"python": _python_command(folder), "league": _league_variable(folder)}
    print_remark(f"2. Check it: cd {shlex.quote(str(folder))} && {TEST_COMMANDS[language].format(**ours)}")
    print_remark(
        f"3. Play: {START_COMMANDS[language].format(**ours)}, once a league waits for it (see README.md there)."
    )


def _python_command(folder: Path) -> str:
    """Return the command, seen from the folder, of the Python that has this package."""
    found = shutil.which("python")
    is_first = found is not None and Path(found).parent == Path(sys.executable).parent
    return "python" if is_first else _relative_command(folder, Path(sys.executable))


def _league_variable(folder: Path) -> str:
    """Return the variable that tells a Node test where the `league` command is; empty if it is on the PATH."""
    return (
        ""
        if shutil.which("league")
        else f"LEAGUE={_relative_command(folder, Path(sys.executable).with_name('league'))} "
    )


def _relative_command(folder: Path, program: Path) -> str:
    return shlex.quote(os.path.relpath(program, folder))


def write_starter(folder: Path, language: StarterLanguage, name: str, port: int) -> Iterator[Path]:
    """Write the files of a starter one by one; UserError if the folder is not empty."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "is not empty" if folder.is_dir() else "is a file"
            raise UserError(f"{folder} {what}; name a folder that is new or empty. Nothing was written.")
        folder.mkdir(parents=True, exist_ok=True)
        for file in _starter_files(language):
            path = folder / file.name
            content = file.read_text(encoding="utf-8")
            with path.open("x", encoding="utf-8", newline="\n") as target:
                target.write(_fill_config(content, name, port) if file.name == CONFIG_FILE else content)
            yield path
    except OSError as error:
        raise UserError(f"{error.filename or folder} can't be written: {error.strerror}") from None


def _starter_files(language: StarterLanguage) -> list[Traversable]:
    """List the files of a starter; folders such as `__pycache__` are skipped."""
    folder = resources.files("agent_league.cli") / "starters" / language
    return sorted((file for file in folder.iterdir() if file.is_file()), key=lambda file: file.name)


def _fill_config(config: str, name: str, port: int) -> str:
    return json.dumps({**json.loads(config), "name": name, "port": port}, indent=2, ensure_ascii=False) + "\n"
