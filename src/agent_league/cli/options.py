"""Options that several commands share, and what they open."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_league.config import ConfigLoader
from agent_league.config.home import FOLDER, find_home, is_home, make_home
from agent_league.config.overrides import parse_overrides

Home = Annotated[
    Path | None,
    typer.Option("--home", help="The SHARED folder to use; made where there is none.", metavar="DIR"),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Override a setting of system.json or the league file, such as timeouts.move_timeout_sec=2.",
        metavar="PATH=VALUE",
    ),
]
Port = Annotated[int, typer.Option(min=1, max=65535)]
OptionalPort = Annotated[int | None, typer.Option(min=1, max=65535)]
Seed = Annotated[str | None, typer.Option(help="Makes draws and built-in players repeatable.")]
ExitWhenDone = Annotated[bool, typer.Option("--exit-when-done", help="End after LEAGUE_COMPLETED.")]


def say(sentence: str) -> None:
    """A remark for the person at the terminal; stdout stays for results."""
    sys.stderr.write(sentence + "\n")


def open_home(home: Path | None, settings: list[str] | None) -> tuple[Path, ConfigLoader]:
    """The SHARED folder that counts, made where there is none, and its configuration."""
    home = home or find_home(Path.cwd()) or Path(FOLDER)
    if not is_home(home):
        make_home(home)
        say(f"No SHARED folder was found; wrote {home} with the default configuration.")
    loader = ConfigLoader(home, parse_overrides(settings or []))
    loader.check_overrides()
    return home, loader
