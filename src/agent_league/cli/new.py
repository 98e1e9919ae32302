"""`league new`: write a starter project for a player in Python or JavaScript, or the file of a league.

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

from agent_league.cli.options import (
    FormatOption,
    GameOption,
    HomeOption,
    ParamOption,
    StoreOption,
    parse_game_parameters,
)
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError
from agent_league.model.names import is_displayable

CONFIG_FILE = "config.json"
MAX_NAME_LENGTH = 100


class NewKind(StrEnum):
    """What can be begun."""

    PLAYER = "player"
    LEAGUE = "league"
    SEASON = "season"


PLAYER_OPTIONS = ("language", "name", "port")
LEAGUE_OPTIONS = ("title", "game", "param", "format_", "players", "rounds", "home")
SEASON_OPTIONS = ("home", "store", "force")
OPTIONS_OF_KIND = {
    NewKind.PLAYER: PLAYER_OPTIONS,
    NewKind.LEAGUE: LEAGUE_OPTIONS,
    NewKind.SEASON: SEASON_OPTIONS,
}


class StarterLanguage(StrEnum):
    """Languages of starters: the folders of `starters/`."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"


START_COMMANDS = {StarterLanguage.PYTHON: "{python} player.py", StarterLanguage.JAVASCRIPT: "node player.js"}
TEST_COMMANDS = {StarterLanguage.PYTHON: "{python} -m unittest", StarterLanguage.JAVASCRIPT: "{league}node --test"}
FILE_TO_EDIT = {StarterLanguage.PYTHON: "player.py", StarterLanguage.JAVASCRIPT: "player.js"}


def new(
    context: typer.Context,
    kind: Annotated[
        NewKind,
        typer.Argument(
            metavar="player|league|season",
            help="What to begin: a player's project, a league, or another season of a league.",
        ),
    ],
    what: Annotated[
        str,
        typer.Argument(metavar="DIR|NAME", help="The player's folder, new or empty; or the league's name."),
    ],
    language: Annotated[StarterLanguage, typer.Option(help="The language to write it in.")] = StarterLanguage.PYTHON,
    name: Annotated[str | None, typer.Option(help="The name to show (default: the folder's).")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to serve.")] = 8101,
    title: Annotated[str | None, typer.Option(help="The league's title on its pages (default: by its game).")] = None,
    game: GameOption = None,
    param: ParamOption = None,
    format_: FormatOption = None,
    players: Annotated[
        int | None, typer.Option(min=2, help="So many take part, and it starts with the last (default: on command).")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="How many rounds (default: as the format needs).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Put a season aside that isn't over.")] = False,
    store: StoreOption = None,
    home: HomeOption = None,
) -> None:
    """Write a player to start from, with a test by `league check`; or a league for `league serve`, or its next season.

    `league new player DIR` takes --language, --name and --port; `league new league NAME` takes --title, --game,
    --param, --format, --players, --rounds and --home; `league new season NAME` puts the season of a league aside, with
    its data, and begins another.
    """
    _check_options(context, kind)
    if kind is NewKind.LEAGUE:
        from agent_league.cli.new_league import new_league

        new_league(what, home, title, game, parse_game_parameters(param), format_, players, rounds)
    elif kind is NewKind.SEASON:
        from agent_league.cli.new_league import new_season

        new_season(what, home, store, force=force)
    else:
        _new_player(Path(what), language, name, port)


def _check_options(context: typer.Context, kind: NewKind) -> None:
    """Raise UserError for an option of something else."""
    allowed = ("kind", "what", *OPTIONS_OF_KIND[kind])
    for option in context.params:
        source = context.get_parameter_source(option)
        if option not in allowed and source is not None and source.name == "COMMANDLINE":
            raise UserError(f"league new {kind} takes no --{option.rstrip('_')}")


def _new_player(folder: Path, language: StarterLanguage, name: str | None, port: int) -> None:
    """Write a starter and say what to do with it."""
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
    """List the files of a starter; folders such as `__pycache__` are skipped, and tokens of one that was run there."""
    folder = resources.files("agent_league.cli") / "starters" / language
    files = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith("credentials-"))
    return sorted(files, key=lambda file: file.name)


def _fill_config(config: str, name: str, port: int) -> str:
    return json.dumps({**json.loads(config), "name": name, "port": port}, indent=2, ensure_ascii=False) + "\n"
