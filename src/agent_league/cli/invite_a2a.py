"""`league invite-a2a`: give an A2A agent, of which nothing but its card is known, a seat in a league."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import (
    AgentHostOption,
    AllowOriginOption,
    DialOutOption,
    ExitWhenDoneOption,
    FreePortOption,
    GamesOption,
    HomeOption,
    KeyFileOption,
    PublicUrlOption,
    SecretFileOption,
    SettingsOption,
    VersionOption,
    check_agent_version,
    check_display_name,
    open_or_create_home,
    resolve_sign_up,
)
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.a2a.agent_card import A2aAgent


def invite_a2a(
    card_url: Annotated[str, typer.Argument(metavar="CARD_URL", help="The agent's card, or the agent's address.")],
    to: Annotated[
        str | None,
        typer.Option("--manager", help="The League Manager's address, or your sign-up address.", metavar="URL"),
    ] = None,
    key_file: KeyFileOption = None,
    name: Annotated[str | None, typer.Option(help="The name to show (default: the card's).")] = None,
    version: VersionOption = None,
    secret_file: SecretFileOption = None,
    allow_origin: AllowOriginOption = None,
    game: GamesOption = None,
    port: FreePortOption = None,
    host: AgentHostOption = None,
    public_url: PublicUrlOption = None,
    dial_out: DialOutOption = False,
    home: HomeOption = None,
    settings: SettingsOption = None,
    exit_when_done: ExitWhenDoneOption = False,
) -> None:
    """Give an A2A agent a seat in a league: register it by its card, and ask it for its moves.

    It speaks A2A 1.0 or 0.3, JSON-RPC or HTTP+JSON. This command plays for it as long as it runs: each match is a
    context, each question a message with the view and the legal moves as data and as text. `league player --protocol
    a2a --card CARD_URL` is the same.
    """
    from agent_league.a2a import require_a2a_sdk
    from agent_league.http.hosts import choose_listen_host, own_endpoint
    from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
    from agent_league.launch.play_function import print_player_event, print_waiting, serve_until_interrupted
    from agent_league.launch.serving import check_ports, choose_port, run_async
    from agent_league.players.app import PlayerSettings

    with require_a2a_sdk():
        from agent_league.a2a.agent_card import build_auth_headers
        from agent_league.a2a.strategy import A2aStrategy

    check_display_name(name)
    check_agent_version(version)
    if dial_out and public_url:
        raise UserError("--dial-out needs no --public-url; leave one of them out")
    home, loader = open_or_create_home(home, settings)
    system = loader.load_system()
    agent = run_async(find_invited_agent(card_url, check_origins(allow_origin)))
    headers = build_auth_headers(agent.card, read_secret(secret_file))
    display_name = name or agent.choose_name("choose another with --name")
    manager = resolve_sign_up(to, key_file, loader)
    host = choose_listen_host(host, manager)
    port, held_socket = choose_port(port, host, system.network.default_player_port_range, dial_out=dial_out)
    identity = PlayerSettings(
        system=system,
        home=home,
        manager=manager,
        endpoint=own_endpoint(host, port, system.network.base_host, manager, public_url),
        wanted_id=f"player-{port}",
        display_name=display_name,
        version=version or agent.version,
        game_types=tuple(game or ("even_odd", "*")),
        exit_when_done=exit_when_done,
    )
    seat = PlayerPlan(
        identity, port, host, held_socket=held_socket, strategy=A2aStrategy(agent, headers), dial_out=dial_out
    )
    check_ports([seat])

    def show_ready() -> None:
        print_remark(f"{identity.display_name} is asked for its moves at {agent.interface.url} ({agent.describe()}).")
        print_waiting(identity, dials_out=dial_out)

    listeners = AgentListeners(on_player_event=print_player_event, on_remark=print_remark)
    run_async(serve_until_interrupted([seat], listeners, show_ready))


async def find_invited_agent(card_url: str, other_origins: list[str]) -> "A2aAgent":
    """Fetch the card that somebody typed; the hosts that were typed may be called, and no others."""
    from agent_league.a2a.agent_card import find_a2a_agent, parse_card_url, split_host

    card = parse_card_url(card_url)
    return await find_a2a_agent(card, [split_host(card), *map(split_host, other_origins)], other_origins)


def check_origins(origins: list[str] | None) -> list[str]:
    """Return the values of --allow-origin; raises UserError for one that is no origin."""
    from agent_league.a2a.stranger_client import find_origin

    for origin in origins or []:
        try:
            find_origin(origin)
        except ValueError as error:
            raise UserError(f"--allow-origin {origin!r}: {error}, such as https://agent.example.org") from None
    return origins or []


def read_secret(secret_file: Path | None) -> str | None:
    """Read the agent's secret from its file, else from the environment; None if there is none."""
    from agent_league.a2a.agent_card import SECRET_VARIABLE, check_secret

    if secret_file is None:
        secret = os.environ.get(SECRET_VARIABLE)
        return check_secret(secret, f"${SECRET_VARIABLE}") if secret else None
    try:
        return check_secret(secret_file.read_text(encoding="utf-8"), f"--secret-file {secret_file}")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--secret-file {secret_file} can't be read: {error}") from None
