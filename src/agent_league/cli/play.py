"""`league play`: a person plays in the terminal, through the same kind of player as an MCP host."""

import getpass
import sys
from typing import Annotated

import typer

from agent_league.cli.join import (
    FallbackOption,
    LeagueUrlArgument,
    OwnPortOption,
    PlayerHostOption,
    make_outside_player,
)
from agent_league.cli.options import HomeOption, SettingsOption


def play(
    league_url: LeagueUrlArgument,
    name: Annotated[str | None, typer.Option(help="The name to show (default: yours on this machine).")] = None,
    fallback: FallbackOption = "random",
    port: OwnPortOption = None,
    host: PlayerHostOption = "127.0.0.1",
    home: HomeOption = None,
    settings: SettingsOption = None,
) -> None:
    """Play in a league yourself, in this terminal."""
    from agent_league.cli.run_view import standings_table
    from agent_league.gateway.terminal import TerminalPlayer, TerminalScreen
    from agent_league.launch.serving import run_async

    own_name = _get_user_name() if name is None else name
    screen = TerminalScreen(standings_table, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())

    async def serve() -> None:
        seat = make_outside_player(league_url, own_name, fallback, port, host, home, settings, screen.write_remark)
        try:
            await TerminalPlayer(seat, screen).run()
        finally:
            await seat.leave()

    run_async(serve())


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody has a name here
        return "Somebody"
