"""`league join` and `league play`: an MCP host, such as Claude Desktop, or a person plays in a league."""

import getpass
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import (
    AgentHostOption,
    DialOutOption,
    HomeOption,
    PublicUrlOption,
    SettingsOption,
    check_display_name,
    choose_league_address,
    open_or_create_home,
)
from agent_league.cli.terminal import draw_standings, print_remark

if TYPE_CHECKING:
    from agent_league.launch.outside_player import OutsidePlayer

LeagueUrlArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[LEAGUE_URL]",
        help="The League Manager's address (default: that of the league that runs here, or ran last).",
        envvar="LEAGUE_SIGN_UP_URL",
        show_default=False,
    ),
]
FallbackOption = Annotated[
    str, typer.Option(help="The strategy that plays where no move comes in time.", metavar="STRATEGY")
]
OwnPortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The player's own port (default: a free one, kept for next time).")
]

TERMINAL_HINT = " A host starts this command by itself; to play at the keyboard, type {command} instead."


def join(
    name: Annotated[str, typer.Option(help="The name to show.")],
    league_url: LeagueUrlArgument = None,
    http: Annotated[
        int | None, typer.Option("--http", min=1, max=65535, help="Serve MCP over HTTP at this port.", metavar="PORT")
    ] = None,
    fallback: FallbackOption = "random",
    longest_wait: Annotated[
        float,
        typer.Option(min=1, max=50, help="How long a tool may wait, for hosts with short limits.", metavar="SECONDS"),
    ] = 50,
    port: OwnPortOption = None,
    host: AgentHostOption = None,
    public_url: PublicUrlOption = None,
    dial_out: DialOutOption = False,
    home: HomeOption = None,
    settings: SettingsOption = None,
) -> None:
    """Let an MCP host play: a gateway with tools to join a league, wait for turns and move.

    Over standard input and output unless --http is given. The league is joined when the host calls join_league.
    """
    from agent_league.gateway.hosting import serve_http, serve_stdio
    from agent_league.launch.play_function import interrupt_event
    from agent_league.launch.serving import run_async

    address = league_url or choose_league_address(home)

    async def serve() -> None:
        place = OwnAddress(port, host, public_url, dial_out)
        seat = make_outside_player(address, name, fallback, place, home, settings)
        where = f"plays as {name!r} in the league of {seat.settings.manager} once the host calls join_league"
        if http is None:
            typed = f"`league play {shlex.quote(address)} --name {shlex.quote(name)}`"
            hint = TERMINAL_HINT.format(command=typed) if sys.stdin.isatty() else ""
            print_remark(f"This gateway speaks MCP on standard input and output; it {where}. Ctrl-C ends it.{hint}")
            await serve_stdio(seat, interrupt_event(), longest_wait)
        else:
            ready = partial(print_remark, f"MCP gateway at http://localhost:{http}/mcp; it {where}.")
            await serve_http(seat, http, interrupt_event(), ready, longest_wait)

    run_async(serve())


def play(
    league_url: LeagueUrlArgument = None,
    name: Annotated[str | None, typer.Option(help="The name to show (default: yours on this machine).")] = None,
    fallback: FallbackOption = "random",
    port: OwnPortOption = None,
    host: AgentHostOption = None,
    public_url: PublicUrlOption = None,
    dial_out: DialOutOption = False,
    home: HomeOption = None,
    settings: SettingsOption = None,
) -> None:
    """Play in a league yourself, in this terminal."""
    from agent_league.gateway.terminal import TerminalPlayer, TerminalScreen
    from agent_league.launch.serving import run_async

    own_name = _get_user_name() if name is None else name
    address = league_url or choose_league_address(home)
    screen = TerminalScreen(draw_standings, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())

    async def serve() -> None:
        place = OwnAddress(port, host, public_url, dial_out)
        seat = make_outside_player(address, own_name, fallback, place, home, settings, screen.write_remark)
        try:
            await TerminalPlayer(seat, screen).run()
        finally:
            await seat.leave()

    run_async(serve())


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """How the league is to call a player, as its command was told."""

    port: int | None
    host: str | None
    public_url: str | None
    dial_out: bool


def make_outside_player(
    league_url: str,
    name: str,
    fallback: str,
    place: OwnAddress,
    home: Path | None,
    settings: list[str] | None,
    remark: Callable[[str], None] = print_remark,
) -> "OutsidePlayer":
    """Make the player for an MCP host or a person, for the league at an address; needs a running event loop."""
    from agent_league.config.home import find_home
    from agent_league.errors import UserError
    from agent_league.http.hosts import choose_listen_host, parse_manager_endpoint
    from agent_league.launch.outside_player import OutsidePlayer
    from agent_league.players.app import PlayerSettings
    from agent_league.players.strategies import load_strategy, strategy_names

    check_display_name(name)
    quick = [one for one in strategy_names() if one != "llm"]
    if fallback not in quick:
        problem = "can't answer within a second" if fallback == "llm" else "isn't installed"
        raise UserError(f"--fallback: strategy {fallback!r} {problem} (there are: {', '.join(quick)})")
    manager = parse_manager_endpoint(league_url, "LEAGUE_URL")
    # A host starts us in whatever folder it is in itself, which may not be ours to write in.
    home, loader = open_or_create_home(home or find_home(Path.cwd()) or Path.home() / ".agent-league", settings)
    defaults = loader.load_player_defaults()
    identity = PlayerSettings(
        system=loader.load_system(),
        home=home,
        manager=manager,
        endpoint="",
        wanted_id="player",
        display_name=name,
        version=defaults.version,
        game_types=defaults.game_types,
    )
    if place.dial_out and (place.port or place.host or place.public_url):
        raise UserError("--dial-out needs no address: leave --port, --host and --public-url out")
    return OutsidePlayer(
        identity,
        load_strategy(fallback, defaults, remark),
        host=choose_listen_host(place.host, manager),
        port=place.port,
        remark=remark,
        public_url=place.public_url,
        dial_out=place.dial_out,
    )


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody has a name here
        return "Somebody"
