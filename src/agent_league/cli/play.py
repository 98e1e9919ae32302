"""`league play`: a person plays in the terminal, through the same kind of player as an MCP host."""

import getpass
import sys
from typing import Annotated

import typer

from agent_league.cli.join import Fallback, Host, LeagueUrl, OwnPort, make_seat
from agent_league.cli.options import Home, Set


def play(
    league_url: LeagueUrl,
    name: Annotated[str | None, typer.Option(help="The name to show (default: yours on this machine).")] = None,
    fallback: Fallback = "random",
    port: OwnPort = None,
    host: Host = "127.0.0.1",
    home: Home = None,
    settings: Set = None,
) -> None:
    """Play in a league yourself, in this terminal."""
    from agent_league.cli.run_view import standings_table
    from agent_league.gateway.screen import Screen
    from agent_league.gateway.terminal_player import Sitting
    from agent_league.launch.serving import run_async

    own_name = _own_name() if name is None else name
    screen = Screen(standings_table, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())

    async def serve() -> None:
        seat = make_seat(league_url, own_name, fallback, port, host, home, settings, screen.remark)
        try:
            await Sitting(seat, screen).run()
        finally:
            await seat.leave()

    run_async(serve())


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody has a name here
        return "Somebody"
