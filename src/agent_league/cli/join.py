"""`league join`: a gateway through which an MCP host, such as Claude Desktop, plays in a league."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.agents import check_name
from agent_league.cli.options import Home, Set, open_home, say

if TYPE_CHECKING:
    from agent_league.launch.outside_player import HostSeat

LeagueUrl = Annotated[str, typer.Argument(metavar="LEAGUE_URL", help="The League Manager's address.")]
Fallback = Annotated[str, typer.Option(help="The strategy that plays where no move comes in time.", metavar="STRATEGY")]
OwnPort = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The player's own port (default: a free one, kept for next time).")
]
Host = Annotated[str, typer.Option(help="The address at which the league calls the player.")]

AT_A_TERMINAL = " A host starts this command by itself; to play at the keyboard, type {command} instead."


def join(
    league_url: LeagueUrl,
    name: Annotated[str, typer.Option(help="The name to show.")],
    http: Annotated[
        int | None, typer.Option("--http", min=1, max=65535, help="Serve MCP over HTTP at this port.", metavar="PORT")
    ] = None,
    fallback: Fallback = "random",
    port: OwnPort = None,
    host: Host = "127.0.0.1",
    home: Home = None,
    settings: Set = None,
) -> None:
    """Let an MCP host play: a gateway with tools to join a league, wait for turns and move.

    Over standard input and output unless --http is given. The league is joined when the host calls join_league.
    """
    from agent_league.gateway.hosting import serve_http, serve_stdio
    from agent_league.launch.play_function import interruption
    from agent_league.launch.serving import run_async

    async def serve() -> None:
        seat = make_seat(league_url, name, fallback, port, host, home, settings)
        where = f"plays as {name!r} in the league of {seat.settings.manager} once the host calls join_league"
        if http is None:
            typed = f"`league play {shlex.quote(league_url)} --name {shlex.quote(name)}`"
            hint = AT_A_TERMINAL.format(command=typed) if sys.stdin.isatty() else ""
            say(f"This gateway speaks MCP on standard input and output; it {where}. Ctrl-C ends it.{hint}")
            await serve_stdio(seat, interruption())
        else:
            address = f"http://localhost:{http}/mcp"
            await serve_http(seat, http, interruption(), lambda: say(f"MCP gateway at {address}; it {where}."))

    run_async(serve())


def make_seat(
    league_url: str,
    name: str,
    fallback: str,
    port: int | None,
    host: str,
    home: Path | None,
    settings: list[str] | None,
    remark: Callable[[str], None] = say,
) -> "HostSeat":
    """Make the player for an MCP host or a person, for the league at an address; needs a running event loop."""
    from agent_league.config.home import find_home
    from agent_league.errors import UserError
    from agent_league.launch.addresses import manager_endpoint
    from agent_league.launch.outside_player import HostSeat
    from agent_league.players.app import PlayerSettings
    from agent_league.players.strategies import load_strategy, strategy_names

    check_name(name)
    quick = [one for one in strategy_names() if one != "llm"]
    if fallback not in quick:
        problem = "can't answer within a second" if fallback == "llm" else "isn't installed"
        raise UserError(f"--fallback: strategy {fallback!r} {problem} (there are: {', '.join(quick)})")
    manager = manager_endpoint(league_url, "LEAGUE_URL")
    # A host starts us in whatever folder it is in itself, which may not be ours to write in.
    home, loader = open_home(home or find_home(Path.cwd()) or Path.home() / ".agent-league", settings)
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
    return HostSeat(identity, load_strategy(fallback, defaults, remark), host=host, port=port, remark=remark)
