"""Options that several commands share, and the SHARED folders, leagues and games that they open."""

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent_league.cli.terminal import format_options, print_remark
from agent_league.errors import ConfigError, UserError
from agent_league.model.looks import COLOR_EXPECTED, SIGN_EXPECTED, is_color, is_sign
from agent_league.model.names import MAX_NAME_LENGTH, VERSION_EXPECTED, is_agent_version, is_displayable

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader
    from agent_league.games import registry
    from agent_league.launch.agent_plan import AgentPlan
    from agent_league.launch.stored_leagues import StoredLeague

USUAL_ADDRESS = "http://localhost:8000"
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="The SHARED folder to use; made where there is none.", metavar="DIR"),
]
ExistingHomeOption = Annotated[Path | None, typer.Option("--home", help="The SHARED folder to look at.", metavar="DIR")]
StoredLeagueOption = Annotated[
    str | None, typer.Option("--league-id", help="The league (default: the one that runs, or the latest).")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Override a setting of system.json or the league file, such as timeouts.move_timeout_sec=2.",
        metavar="PATH=VALUE",
    ),
]
GameOption = Annotated[
    str | None,
    typer.Option(help="The game to play, see `league games` (default: the league file's).", metavar="GAME"),
]
GamesOption = Annotated[
    list[str] | None,
    typer.Option("--game", help="A game to take part in; * is any (default: as configured). Repeatable."),
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--param", help="A parameter of the game, such as repeat=15. Repeatable.", metavar="NAME=VALUE"),
]
PortOption = Annotated[int, typer.Option(min=1, max=65535, help="The port to serve.")]
OptionalPortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The port to serve (default: system.json's).")
]
FreePortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The port to serve (default: a free one of system.json's range).")
]
FirstPortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The first port of these (default: system.json's).")
]
SeedOption = Annotated[
    str | None,
    typer.Option(
        help="Makes draws and built-in players repeatable; what players learn is then neither loaded nor kept."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="The tournament format, such as swiss or knockout (default: as the league file says).",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        envvar="LEAGUE_STORE",
        help="The manager's database (default: SQLite in the SHARED folder's data). "
        "One with a password belongs in $LEAGUE_STORE, where no list of processes shows it.",
        metavar="URL",
    ),
]
NoWebOption = Annotated[bool, typer.Option("--no-web", help="Serve no pages.")]
NoSeatsOption = Annotated[bool, typer.Option("--no-seats", help="Let nobody play in the browser.")]
ExitWhenDoneOption = Annotated[bool, typer.Option("--exit-when-done", help="End after LEAGUE_COMPLETED.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
CallTimeoutOption = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="No call may take longer than this.")
]
HostOption = Annotated[str, typer.Option(help="The address to listen on.")]
AgentHostOption = Annotated[
    str | None, typer.Option(help="The address to listen on (default: the one by which the manager is reached).")
]
PublicUrlOption = Annotated[
    str | None,
    typer.Option(help="The address by which the league calls it, if that is another one.", metavar="URL"),
]
VersionOption = Annotated[
    str | None,
    typer.Option("--version", help="The version to register as; a practice ladder rates each one apart.", metavar="V"),
]
ColorOption = Annotated[str | None, typer.Option(help="Its colour on pages, such as #c0392b.", metavar="#RRGGBB")]
AvatarOption = Annotated[
    str | None, typer.Option(help="Its sign on pages, in place of a face: an emoji or initials.", metavar="SIGN")
]
DialOutOption = Annotated[
    bool, typer.Option("--dial-out", help="Need no address: keep a connection to the manager, as behind a router.")
]
LeagueIdOption = Annotated[str | None, typer.Option(help="The league (default: default_league_id of system.json).")]
AgentLeagueOption = Annotated[
    str | None, typer.Option(help="The league (default: the one that runs here, else the manager's).")
]
ManagerOption = Annotated[str | None, typer.Option(help="The League Manager's address.", metavar="URL")]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        help="A file with the sign-up address to register at, or with its key (also: $LEAGUE_SIGN_UP_URL).",
        metavar="FILE",
    ),
]
SecretFileOption = Annotated[
    Path | None,
    typer.Option(
        help="A file with the secret that the agent wants to see, by the scheme of its card "
        "(also: $LEAGUE_A2A_SECRET).",
        metavar="FILE",
    ),
]
AllowOriginOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Where the card may say that the agent is, beside the card's own origin. Repeatable.", metavar="URL"
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="For grading: what isn't in the protocol's own form is an error.")
]


def parse_game_parameters(params: list[str] | None) -> dict[str, Any]:
    """Parse the values of `--param`."""
    from agent_league.config.loader import parse_overrides

    return parse_overrides(params or [], "--param", "NAME=VALUE, such as repeat=15")


def load_requested_game(loader: "ConfigLoader | None", game: str, parameters: Mapping[str, Any]) -> "registry.Game":
    """Load the game of `--game` and `--param`; other parameters come from the SHARED folder, if there is one."""
    from agent_league.launch.config_checks import load_configured_game

    with name_options_in_errors():
        return load_configured_game(loader, game, parameters)


@contextmanager
def name_options_in_errors() -> Iterator[None]:
    """Turn errors about a game into UserErrors that begin with the option: `--game: ...` or `--param: ...`."""
    from agent_league.games.base import BadParameters
    from agent_league.games.registry import UnknownGame

    try:
        yield
    except UnknownGame as error:
        raise UserError(f"--game: {error}") from None
    except BadParameters as error:
        raise UserError(f"--param: {error}") from None


def require_utf8(text: str, option: str) -> str:
    """Return the text if it is valid UTF-8, else raise UserError: a shell may hand over any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{option}: expected text in UTF-8, found {text!r}") from None
    return text


class PlayerProtocol(StrEnum):
    V1 = "v1"
    V2 = "v2"


class SeatProtocol(StrEnum):
    V1 = "v1"
    V2 = "v2"
    A2A = "a2a"


class LeagueProtocol(StrEnum):
    V1 = "v1"
    V2 = "v2"
    MIXED = "mixed"


def parse_league_protocol(text: str) -> LeagueProtocol:
    """Return what our own players of a league speak; whoever asks for A2A is told how such an agent takes a seat."""
    if text == SeatProtocol.A2A.value:
        raise typer.BadParameter(
            "the players that `league run` starts are our own. An A2A agent comes to a league that waits for it:"
            " `league manager`, then `league player --protocol a2a --card URL`"
        )
    try:
        return LeagueProtocol(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, map(str, LeagueProtocol)))}") from None


def check_display_name(name: str | None) -> None:
    """Raise UserError for a display name that a manager would refuse."""
    if name is not None and not (is_displayable(name) and len(name) <= MAX_NAME_LENGTH):
        expected = f"expected 1 to {MAX_NAME_LENGTH} characters that people can see"
        raise UserError(f"--name {name!r}: {expected}; no control, formatting or invisible ones")


def check_agent_version(version: str | None) -> None:
    """Raise UserError for a version that a manager would refuse."""
    if version is not None and not is_agent_version(version):
        raise UserError(f"--version {version!r}: {VERSION_EXPECTED}")


def check_look(color: str | None, avatar: str | None) -> None:
    """Raise UserError for a colour or a sign that a manager would leave out."""
    if color and not is_color(color):
        raise UserError(f"--color {color!r}: expected {COLOR_EXPECTED}")
    if avatar and not is_sign(avatar):
        raise UserError(f"--avatar {avatar!r}: expected {SIGN_EXPECTED}")


def add_strict_setting(settings: list[str] | None, *, strict: bool) -> list[str]:
    """Return the values of `--set`, with the setting that `--strict` stands for."""
    return [*(settings or []), *(["tolerance.strict=true"] if strict else [])]


def list_format_settings(format_name: str | None, rounds: int | None, *, has_end: bool = True) -> list[str]:
    """Return the settings that `--format` and `--rounds` stand for, as `--set` has them; raises UserError.

    A command whose league has an end takes no practice ladder.
    """
    from agent_league.config.models import LADDER_FORMAT, SWISS_TIEBREAKERS
    from agent_league.formats.registry import FORMATS
    from agent_league.launch.config_checks import check_format_name

    if format_name:
        check_format_name(format_name, takes_ladder=not has_end)
    if format_name == LADDER_FORMAT:
        if rounds:
            raise UserError("--rounds: a practice ladder has no rounds and no end; leave it out")
        return ["ladder.check=true"]
    try:
        if format_name:
            FORMATS.load_class(format_name)
    except ConfigError as error:
        raise UserError(f"--format: {str(error).removeprefix('format: ')}") from None
    chosen = [f"scheduling.format={format_name}", "scheduling.stages=[]"] if format_name else []
    tiebreakers = [f"scoring.tiebreakers={json.dumps(SWISS_TIEBREAKERS)}"] if format_name == "swiss" else []
    return [*chosen, *tiebreakers, *([f"scheduling.rounds={rounds}"] if rounds else [])]


def print_pages_address(endpoint: str, people: int = 0, guests: int = 0) -> None:
    """Print the address of a manager's pages, and how people and MCP hosts that it waits for come in."""
    pages = endpoint.removesuffix("mcp")
    print_remark(f"Watch it at {pages}")
    if people:
        awaited = "one person takes a seat" if people == 1 else f"{people} people take their seats"
        print_remark(f"It starts once {awaited} at {pages}play")
    if guests:
        awaited = "one guest has" if guests == 1 else f"{guests} guests have"
        host = f"`league join {pages.rstrip('/')} --name NAME`"
        print_remark(f"It waits until {awaited} registered: an MCP host by {host}, any other agent at {endpoint}")


def open_or_create_home(home: Path | None, settings: list[str] | None) -> "tuple[Path, ConfigLoader]":
    """Find the SHARED folder, or create one with the default configuration; return it with its configuration."""
    from agent_league.config.home import HOME_FOLDER, find_home, is_home, make_home

    home = home or find_home(Path.cwd()) or Path(HOME_FOLDER)
    if not is_home(home):
        make_home(home)
        print_remark(f"No SHARED folder was found; wrote {home} with the default configuration.")
    return home, open_config(home, settings)


def open_existing_home(home: Path | None) -> "tuple[Path, ConfigLoader]":
    """Find the SHARED folder of something that runs or ran, and its configuration; UserError if there is none."""
    from agent_league.config.home import find_home, is_home

    found = home or find_home(Path.cwd())
    if found is None or not is_home(found):
        raise UserError(
            f"No SHARED folder at {found or Path.cwd()}: no league was played there. `league run` plays one; a folder "
            "that a manager uses is named with --home."
        )
    return found, open_config(found, None)


def find_config(home: Path | None = None) -> "ConfigLoader | None":
    """Open the configuration of the SHARED folder; None if there is no folder, and none is created."""
    from agent_league.config.home import find_home

    found = home or find_home(Path.cwd())
    return open_config(found, None) if found else None


def open_league(home: Path | None, league_id: str | None, store: str | None) -> "StoredLeague":
    """Find a league in a SHARED folder; print which one it is if `league_id` doesn't name it."""
    from agent_league.launch.stored_leagues import find_league

    folder, loader = open_existing_home(home)
    found = find_league(folder, loader, league_id, store)
    if found.remark:
        print_remark(found.remark)
    return found


def choose_league_address(home: Path | None = None) -> str:
    """Return the address of the league that runs in the given or nearest SHARED folder, and print which one of several;
    if none runs there, where the latest ran, else the usual address on this machine, and print that."""
    from agent_league.config.home import find_home
    from agent_league.launch.league_start import find_running_leagues, read_last_endpoint
    from agent_league.launch.stored_leagues import choose_league, list_leagues

    home = home or find_home(Path.cwd())
    running = find_running_leagues(home) if home else {}
    known = list(running) if running or home is None else list_leagues(home)
    choice = choose_league(home, None, known) if home and known else None
    if choice and running:
        if choice.remark:
            print_remark(choice.remark.replace("--league-id chooses another", "its address leads to another"))
        return running[choice.league_id]
    last = read_last_endpoint(home, choice.league_id) if home and choice else None
    where = f"{last}, where {choice.league_id} was last" if last and choice else f"{USUAL_ADDRESS}, the usual address"
    print_remark(f"No league runs {f'in {home}' if home else 'here'}; trying {where}. Another's address can be given.")
    return last or USUAL_ADDRESS


def choose_stored_league(home: Path, loader: "ConfigLoader", league_id: str | None) -> str:
    """Return the league that is asked for, else the one that runs, else the latest, and print which; if none was ever
    begun there, the configured one."""
    from agent_league.launch.stored_leagues import choose_league, list_leagues

    if league_id is None and not list_leagues(home):
        return loader.load_system().default_league_id
    choice = choose_league(home, league_id)
    if choice.remark:
        print_remark(choice.remark)
    return choice.league_id


def begin_league(
    home: Path, league_id: str, store: str | None, agents: "Sequence[AgentPlan]" = (), *, new: bool
) -> None:
    """Put an earlier league aside, with what `agents` kept of it; print what was moved or, without `new`, lost."""
    from agent_league.launch.league_start import describe_lost_league, describe_moved, start_new_league

    if not new and (lost := describe_lost_league(home, league_id, store)):
        print_remark(lost)
    if moved := start_new_league(home, league_id, store, agents):
        print_remark(describe_moved(moved))


def open_config(home: Path, settings: list[str] | None) -> "ConfigLoader":
    from agent_league.config import ConfigLoader
    from agent_league.config.loader import parse_overrides

    loader = ConfigLoader(home, parse_overrides(settings or []))
    loader.check_overrides()
    return loader


def open_outside_home(home: Path | None) -> Path:
    """The folder of a command that needs no configuration: the given or nearest SHARED folder, else one of the user."""
    from agent_league.config.home import find_home

    return home or find_home(Path.cwd()) or Path.home() / ".agent-league"


def resolve_manager(address: str | None, loader: "ConfigLoader") -> str:
    """Return the manager's endpoint: the address that was typed, else that of agents_config.json."""
    from agent_league.http.hosts import parse_manager_endpoint

    return parse_manager_endpoint(address) if address else loader.load_agents().league_manager.endpoint


def resolve_sign_up(
    address: str | None, key_file: Path | None, loader: "ConfigLoader", league_id: str | None = None
) -> str:
    """Return the address that an agent registers at: as typed, of a file or the environment; else the configured one,
    unless no league of its folder runs there and another does: then that one's, and which of several is printed."""
    from agent_league.http.hosts import is_same_endpoint
    from agent_league.http.sign_up_address import choose_manager_address
    from agent_league.launch.league_start import find_running_leagues
    from agent_league.launch.stored_leagues import choose_league

    default, remark = loader.load_agents().league_manager.endpoint, ""
    running = find_running_leagues(loader.root)
    is_configured = league_id is None and any(is_same_endpoint(default, endpoint) for endpoint in running.values())
    if running and not is_configured and league_id in (None, *running):
        choice = choose_league(loader.root, league_id, list(running))
        default, remark = running[choice.league_id], choice.remark
    chosen = choose_manager_address(address, key_file, default)
    if remark and address is None and chosen == default:
        print_remark(remark)
    return chosen


def format_home_option(home: Path) -> str:
    """Format `--home`; empty if a command that runs here finds this folder by itself."""
    from agent_league.config.home import find_home

    found = find_home(Path.cwd())
    is_found = found is not None and found.resolve() == home.resolve()
    return format_options({"--home": None if is_found else home})


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C inside this context: both raise KeyboardInterrupt."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
