"""Commands that run one agent of a league: `league referee` and `league player`."""

from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import (
    AgentHostOption,
    AgentLeagueOption,
    AllowOriginOption,
    AvatarOption,
    ColorOption,
    DialOutOption,
    ExitWhenDoneOption,
    FreePortOption,
    GamesOption,
    HomeOption,
    KeyFileOption,
    ManagerOption,
    PublicUrlOption,
    SeatProtocol,
    SecretFileOption,
    SeedOption,
    SettingsOption,
    StrictOption,
    VersionOption,
    add_strict_setting,
    check_agent_version,
    check_display_name,
    check_look,
    load_requested_game,
    name_options_in_errors,
    open_or_create_home,
    resolve_sign_up,
)
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError
from agent_league.model.agents import ANY_GAME
from agent_league.model.names import is_safe_name, list_known_names

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader
    from agent_league.launch.agent_plan import PlayerPlan, RefereePlan
    from agent_league.launch.model_options import ModelOptions

NameOption = Annotated[str | None, typer.Option(help="The name to show.")]
A2A_OPTIONS = ("card", "secret_file", "allow_origin")
"""What `league player` takes for --protocol a2a alone."""


def referee(
    port: FreePortOption = None,
    game: GamesOption = None,
    manager: ManagerOption = None,
    key_file: KeyFileOption = None,
    host: AgentHostOption = None,
    public_url: PublicUrlOption = None,
    dial_out: DialOutOption = False,
    referee_id: Annotated[str | None, typer.Option(help="The id to ask for, such as REF01.")] = None,
    name: NameOption = None,
    league_id: AgentLeagueOption = None,
    max_concurrent_matches: Annotated[int | None, typer.Option(min=1)] = None,
    seed: SeedOption = None,
    home: HomeOption = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    exit_when_done: ExitWhenDoneOption = False,
) -> None:
    """Run a Referee. It waits for the manager where that isn't there yet.

    With a --port and neither --referee-id nor --name it is the referee that agents_config.json has at this port.
    """
    from agent_league.http.hosts import choose_listen_host, own_endpoint
    from agent_league.launch.agent_plan import RefereePlan
    from agent_league.launch.config_checks import check_games
    from agent_league.launch.serving import choose_port
    from agent_league.referee.settings import RefereeSettings

    _check_agent_id("--referee-id", referee_id, "REF01")
    check_display_name(name)
    home, loader = open_or_create_home(home, add_strict_setting(settings, strict=strict))
    system = loader.load_system()
    entry = loader.load_agents().find_referee(referee_id, None if name else port)
    referee_id = entry.referee_id if entry else referee_id
    known = entry or loader.load_referee_defaults()
    with name_options_in_errors():
        if game:
            check_games(loader, game)
        else:
            check_games(loader, known.game_types, "agents/agents_config.json" if entry else "defaults/referee.json")
    manager = resolve_sign_up(manager, key_file, loader, league_id)
    host = choose_listen_host(host, manager)
    port, held_socket = choose_port(port, host, system.network.default_referee_port_range, dial_out=dial_out)
    identity = RefereeSettings(
        system=system,
        games=loader.load_games_registry(),
        home=home,
        manager=manager,
        endpoint=own_endpoint(host, port, system.network.base_host, manager, public_url),
        wanted_id=referee_id or f"referee-{port}",
        display_name=name or (entry.display_name if entry else f"Referee {referee_id or port}"),
        version=known.version,
        game_types=tuple(game) if game else known.game_types,
        max_concurrent_matches=max_concurrent_matches or known.max_concurrent_matches,
        league_id=league_id,
        seed=seed,
        exit_when_done=exit_when_done,
        key_file=_find_referee_key_file(home, loader, manager, league_id, game),
        player_addresses={entry.player_id: entry.default_endpoint for entry in loader.load_agents().players},
    )
    _check_dial_out(public_url, dial_out=dial_out)
    _serve_agent(RefereePlan(identity, port, host, held_socket=held_socket, dial_out=dial_out))


def player(
    context: typer.Context,
    port: FreePortOption = None,
    game: GamesOption = None,
    manager: ManagerOption = None,
    key_file: KeyFileOption = None,
    host: AgentHostOption = None,
    public_url: PublicUrlOption = None,
    dial_out: DialOutOption = False,
    name: NameOption = None,
    version: VersionOption = None,
    color: ColorOption = None,
    avatar: AvatarOption = None,
    player_id: Annotated[str | None, typer.Option(help="The id to ask for, such as P01.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How it plays: a name or a Python file (default: defaults/player.json).")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="For --strategy llm: the language model.", metavar="PROVIDER:MODEL")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="For --strategy llm: a server that speaks OpenAI's form.", metavar="URL")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(help="For --strategy llm: a template of the question, in a file of your own.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="For --strategy llm: from 0 to 2.")] = None,
    effort: Annotated[
        str | None, typer.Option(help="For --strategy llm: how much to think (minimal, low, medium, high).")
    ] = None,
    output_tokens: Annotated[int | None, typer.Option(help="For --strategy llm: tokens of one answer.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="For --strategy llm: a header whose value is in a variable.", metavar="NAME=$VARIABLE"),
    ] = None,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="For --strategy llm: keep why it plays each move in the match file.")
    ] = False,
    practice: Annotated[
        bool, typer.Option("--practice", help="Answer anybody, not only referees that the manager vouches for.")
    ] = False,
    protocol: Annotated[
        SeatProtocol, typer.Option(help="What it speaks; a2a: an A2A agent plays, as with `league invite-a2a`.")
    ] = SeatProtocol.V2,
    card: Annotated[
        str | None, typer.Option(help="For --protocol a2a: the agent's card, or the agent's address.", metavar="URL")
    ] = None,
    secret_file: SecretFileOption = None,
    allow_origin: AllowOriginOption = None,
    league_id: AgentLeagueOption = None,
    seed: SeedOption = None,
    home: HomeOption = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    exit_when_done: ExitWhenDoneOption = False,
    rejoin: Annotated[
        bool, typer.Option("--rejoin", help="After LEAGUE_COMPLETED, wait for the next league there and join it.")
    ] = False,
) -> None:
    """Run a Player. It waits for the manager where that isn't there yet.

    With a --port and neither --player-id nor --name it is the player that agents_config.json has at this port.
    """
    from agent_league.cli.invite_a2a import invite_a2a
    from agent_league.http.hosts import choose_listen_host, own_endpoint
    from agent_league.launch.agent_plan import PlayerPlan
    from agent_league.launch.config_checks import select_strategies
    from agent_league.launch.model_options import ModelOptions
    from agent_league.launch.serving import choose_port
    from agent_league.players.app import PlayerSettings

    given_options = _list_given_options(context)
    if protocol is SeatProtocol.A2A:
        if card is None:
            raise UserError("--protocol a2a needs the agent's address, such as --card http://localhost:9001")
        taken = {"protocol", "card", "manager", *signature(invite_a2a).parameters}
        _refuse_options(given_options - taken, "not for --protocol a2a: the agent plays by itself")
        invite_a2a(
            card,
            manager,
            key_file,
            name,
            version,
            secret_file,
            allow_origin,
            game,
            port,
            host,
            public_url,
            home=home,
            settings=settings,
            dial_out=dial_out,
            exit_when_done=exit_when_done,
        )
        return
    _refuse_options(given_options.intersection(A2A_OPTIONS), "for --protocol a2a")
    _check_agent_id("--player-id", player_id, "P01")
    check_display_name(name)
    check_agent_version(version)
    check_look(color, avatar)
    home, loader = open_or_create_home(home, add_strict_setting(settings, strict=strict))
    system = loader.load_system()
    entry = loader.load_agents().find_player(player_id, None if name else port)
    player_id = entry.player_id if entry else player_id
    options = ModelOptions(
        model, base_url, prompt, temperature, effort, output_tokens, tuple(header or ()), reasoning or None
    )
    defaults = options.apply(loader.load_player_defaults())
    known = entry or defaults
    chosen = select_strategies(loader, [strategy] if strategy else [], defaults)[0]
    _check_model_options(options, chosen)
    if rejoin and exit_when_done:
        raise UserError("--rejoin and --exit-when-done are opposites; leave one of them out")
    _remark_missing_games(game or ())
    manager = resolve_sign_up(manager, key_file, loader, league_id)
    host = choose_listen_host(host, manager)
    port, held_socket = choose_port(port, host, system.network.default_player_port_range, dial_out=dial_out)
    identity = PlayerSettings(
        system=system.without_caller_checks() if practice else system,
        home=home,
        manager=manager,
        endpoint=own_endpoint(host, port, system.network.base_host, manager, public_url),
        wanted_id=player_id or f"player-{port}",
        display_name=name or (entry.display_name if entry else f"Agent {player_id or port}"),
        version=version or known.version,
        color=color or (entry.color if entry else ""),
        avatar=avatar or (entry.avatar if entry else ""),
        game_types=tuple(game) if game else known.game_types,
        league_id=league_id,
        seed=seed,
        exit_when_done=exit_when_done,
        stay=rejoin,
        protocol=f"league.{protocol}",
    )
    _check_dial_out(public_url, dial_out=dial_out)
    _serve_agent(
        PlayerPlan(identity, port, host, held_socket=held_socket, strategy=chosen, defaults=defaults, dial_out=dial_out)
    )


def _list_given_options(context: typer.Context) -> set[str]:
    """Return the parameters that somebody typed."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _refuse_options(names: set[str], where: str) -> None:
    """Raise UserError if there are any; `where` says where they do or don't belong."""
    from agent_league.model.result_words import join_names

    options = sorted(f"--{name.replace('_', '-')}" for name in names)
    if options:
        raise UserError(f"{join_names(options)} {'is' if len(options) == 1 else 'are'} {where}")


def _check_model_options(options: "ModelOptions", strategy: str) -> None:
    """Raise UserError if options of a language model stand beside a strategy that isn't one, or is another."""
    from agent_league.model.result_words import join_names

    if (given := options.list_given()) and strategy.partition(":")[0] != "llm":
        raise UserError(
            f"{join_names(given)} {'is' if len(given) == 1 else 'are'} for --strategy llm, not for {strategy}"
        )
    if options.model and strategy != "llm":
        raise UserError(f"--model {options.model} and --strategy {strategy} name two models; leave one of them out")


def _remark_missing_games(games: Iterable[str]) -> None:
    """Say of which games there are no rules here; a player plays them all the same."""
    from agent_league.config.python_files import is_python_file
    from agent_league.games.registry import game_types

    installed = (*game_types(), ANY_GAME)
    for one in games:
        if is_python_file(one):
            load_requested_game(None, one, {})
        if one not in installed and ":" not in one:
            known = list_known_names(one, installed)
            print_remark(f"No game {one!r} is installed here {known}; it plays by what the referee offers.")


def _check_dial_out(public_url: str | None, *, dial_out: bool) -> None:
    if dial_out and public_url:
        raise UserError("--dial-out needs no --public-url; leave one of them out")


def _serve_agent(seat: "RefereePlan | PlayerPlan") -> None:
    from agent_league.launch.agent_plan import AgentListeners
    from agent_league.launch.play_function import print_player_event, print_waiting, serve_until_interrupted
    from agent_league.launch.serving import check_ports, run_async

    check_ports([seat])
    listeners = AgentListeners(on_player_event=print_player_event, on_remark=print_remark)
    run_async(serve_until_interrupted([seat], listeners, lambda: print_waiting(seat.settings, dials_out=seat.dial_out)))


def _find_referee_key_file(
    home: Path, loader: "ConfigLoader", manager: str, league_id: str | None, games: list[str] | None
) -> Path:
    """Return where the manager of a league of this folder writes its referees' key, if strangers can reach it.

    A league that doesn't run yet, and isn't named, is that of the only game, or the default one.
    """
    from agent_league.http.hosts import is_same_endpoint
    from agent_league.launch.league_start import find_running_leagues
    from agent_league.storage.paths import DataPaths

    here = (league for league, endpoint in find_running_leagues(home).items() if is_same_endpoint(endpoint, manager))
    only_game = games[0] if games and len(games) == 1 and games[0] != ANY_GAME else None
    found = league_id or next(here, None) or loader.load_league(None, only_game).league_id
    return DataPaths(home).referee_key_file(found)


def _check_agent_id(option: str, agent_id: str | None, example: str) -> None:
    """Raise UserError for an id that can't name files and stand in `sender`."""
    if agent_id is not None and not is_safe_name(agent_id):
        raise UserError(f"{option} {agent_id!r} can't be an id; expected one such as {example}")
