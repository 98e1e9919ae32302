"""`league connect`: carry an agent that nobody can call to a league's server."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import typer

from agent_league.cli.options import (
    GamesOption,
    HomeOption,
    KeyFileOption,
    VersionOption,
    check_agent_version,
    check_display_name,
    open_outside_home,
)
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError


def connect(
    agent: Annotated[str, typer.Argument(metavar="AGENT_URL", help="Your agent, as this machine calls it.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--manager", help="The League Manager's address, or your sign-up address (default: $LEAGUE_SIGN_UP_URL)."
        ),
    ] = None,
    key_file: KeyFileOption = None,
    name: Annotated[
        str | None, typer.Option(help="Register the agent under this name; for agents that don't do so by themselves.")
    ] = None,
    game: GamesOption = None,
    version: VersionOption = None,
    private: Annotated[
        bool,
        typer.Option("--private", help="Print a manager's address for your agent alone; neighbours can't interfere."),
    ] = False,
    home: HomeOption = None,
) -> None:
    """Carry any agent behind a router to a league: it dials out, and the league calls the agent through it.

    It needs no change to the agent, whatever language that is written in. Calls are posted to AGENT_URL and nowhere
    else. Start it before the agent, for one that registers by itself; then the agent may name its local address.
    """
    from agent_league.http.hosts import parse_manager_endpoint
    from agent_league.http.sign_up_address import choose_manager_address
    from agent_league.launch.connect import AgentToConnect, connect_agent
    from agent_league.launch.play_function import interrupt_event
    from agent_league.launch.serving import run_async

    check_display_name(name)
    if game and not name:
        raise UserError("--game says what the agent plays when it is registered here; it needs --name")
    if version and not name:
        raise UserError("--version says what the agent is registered as here; it needs --name")
    if private and name:
        raise UserError("--private is for an agent that registers by itself; with --name it is registered here")
    check_agent_version(version)
    address = parse_manager_endpoint(agent, "AGENT_URL")
    manager = choose_manager_address(parse_manager_endpoint(to, "--manager") if to else None, key_file, "")
    if not urlsplit(manager).netloc:
        raise UserError("--to is missing: the address of the league's manager, or your sign-up address")
    if address == manager:
        raise UserError(f"AGENT_URL and --to are both {address}; expected your agent's address, and the league's")
    games = tuple(game or ("even_odd", "*"))
    wanted = AgentToConnect(address, manager, open_outside_home(home), name, games, version or "1.0.0")
    if private:
        wanted = replace(wanted, show_manager=typer.echo)

    async def carry() -> None:
        await connect_agent(wanted, interrupt_event(), print_remark)

    run_async(carry())
