"""Options that several commands share, the SHARED folders and leagues that they open, and output to the terminal."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.command_text import as_typed
from agent_league.config import ConfigLoader
from agent_league.config.home import FOLDER, find_home, is_home, make_home
from agent_league.config.overrides import parse_overrides
from agent_league.errors import UserError
from agent_league.model.names import printable

if TYPE_CHECKING:
    from agent_league.games import registry
    from agent_league.launch.stored_leagues import Found

Home = Annotated[
    Path | None,
    typer.Option("--home", help="The SHARED folder to use; made where there is none.", metavar="DIR"),
]
LookedAt = Annotated[Path | None, typer.Option("--home", help="The SHARED folder to look at.", metavar="DIR")]
ChosenLeague = Annotated[
    str | None, typer.Option("--league-id", help="The league (default: the one that runs, or the latest).")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Override a setting of system.json or the league file, such as timeouts.move_timeout_sec=2.",
        metavar="PATH=VALUE",
    ),
]
Game = Annotated[
    str | None,
    typer.Option(help="The game to play, see `league games` (default: the league file's).", metavar="GAME"),
]
Games = Annotated[
    list[str] | None,
    typer.Option("--game", help="A game to take part in; * is any (default: as configured). Repeatable."),
]
Param = Annotated[
    list[str] | None,
    typer.Option("--param", help="A parameter of the game, such as repeat=15. Repeatable.", metavar="NAME=VALUE"),
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to serve.")]
OptionalPort = Annotated[int | None, typer.Option(min=1, max=65535, help="The port to serve (default: system.json's).")]
FreePort = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The port to serve (default: a free one of system.json's range).")
]
FirstPort = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The first port of these (default: system.json's).")
]
Seed = Annotated[
    str | None,
    typer.Option(
        help="Makes draws and built-in players repeatable; what players learn is then neither loaded nor kept."
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        envvar="LEAGUE_STORE",
        help="The manager's database (default: SQLite in the SHARED folder's data). "
        "One with a password belongs in $LEAGUE_STORE, where no list of processes shows it.",
        metavar="URL",
    ),
]
NoWeb = Annotated[bool, typer.Option("--no-web", help="Serve no pages.")]
NoSeats = Annotated[bool, typer.Option("--no-seats", help="Let nobody play in the browser.")]
ExitWhenDone = Annotated[bool, typer.Option("--exit-when-done", help="End after LEAGUE_COMPLETED.")]


Strict = Annotated[
    bool, typer.Option("--strict", help="For grading: what isn't in the protocol's own form is an error.")
]


def parameters_of(params: list[str] | None) -> dict[str, Any]:
    """Parse the values of `--param`."""
    return parse_overrides(params or [], "--param", "NAME=VALUE, such as repeat=15")


def asked_game(loader: ConfigLoader | None, game: str, parameters: Mapping[str, Any]) -> "registry.Game":
    """Load the game of `--game` and `--param`; other parameters come from the SHARED folder, if there is one."""
    from agent_league.launch.config_checks import configured_game

    with naming_options():
        return configured_game(loader, game, parameters)


@contextmanager
def naming_options() -> Iterator[None]:
    """Turn errors about a game into UserErrors that begin with the option: `--game: ...` or `--param: ...`."""
    from agent_league.games.base import BadParameters
    from agent_league.games.registry import UnknownGame

    try:
        yield
    except UnknownGame as error:
        raise UserError(f"--game: {error}") from None
    except BadParameters as error:
        raise UserError(f"--param: {error}") from None


def legible(text: str, option: str) -> str:
    """Return the text if it is valid UTF-8, else raise UserError: a shell may hand over any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{option}: expected text in UTF-8, found {text!r}") from None
    return text


class PlayerProtocol(StrEnum):
    V1 = "v1"
    V2 = "v2"


class LeagueProtocol(StrEnum):
    V1 = "v1"
    V2 = "v2"
    MIXED = "mixed"


def with_strict(settings: list[str] | None, *, strict: bool) -> list[str]:
    """Return the values of `--set`, with the setting that `--strict` stands for."""
    return [*(settings or []), *(["tolerance.strict=true"] if strict else [])]


def say(sentence: str) -> None:
    """Print a remark for the person at the terminal to stderr; stdout is for results."""
    sys.stderr.write(printable(as_typed(sentence)) + "\n")


def say_where(endpoint: str, people: int = 0) -> None:
    """Print the address of a manager's pages, and of the page where people take their seats."""
    pages = endpoint.removesuffix("mcp")
    say(f"Watch it at {pages}")
    if people:
        awaited = "one person takes a seat" if people == 1 else f"{people} people take their seats"
        say(f"It starts once {awaited} at {pages}play")


def put_out(result: bytes) -> None:
    """Write a result and a line break to stdout, to the last byte: a pipe may take less than all of it at once."""
    rest = memoryview(result + b"\n")
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.flush()


def open_home(home: Path | None, settings: list[str] | None) -> tuple[Path, ConfigLoader]:
    """Find the SHARED folder, or create one with the default configuration; return it with its configuration."""
    home = home or find_home(Path.cwd()) or Path(FOLDER)
    if not is_home(home):
        make_home(home)
        say(f"No SHARED folder was found; wrote {home} with the default configuration.")
    return home, open_config(home, settings)


def open_existing_home(home: Path | None) -> tuple[Path, ConfigLoader]:
    """Find the SHARED folder of something that runs or ran, and its configuration; UserError if there is none."""
    found = home or find_home(Path.cwd())
    if found is None or not is_home(found):
        raise UserError(f"No SHARED folder at {found or Path.cwd()}; name the one that the manager uses with --home.")
    return found, open_config(found, None)


def config_here(home: Path | None = None) -> ConfigLoader | None:
    """Open the configuration of the SHARED folder; None if there is no folder, and none is created."""
    found = home or find_home(Path.cwd())
    return open_config(found, None) if found else None


def open_league(home: Path | None, league_id: str | None, store: str | None) -> "Found":
    """Find a league in a SHARED folder; print which one it is if `league_id` doesn't name it."""
    from agent_league.launch.stored_leagues import find_league

    folder, loader = open_existing_home(home)
    found = find_league(folder, loader, league_id, store)
    if found.remark:
        say(found.remark)
    return found


def open_config(home: Path, settings: list[str] | None) -> ConfigLoader:
    loader = ConfigLoader(home, parse_overrides(settings or []))
    loader.check_overrides()
    return loader
