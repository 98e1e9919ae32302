"""Commands that run one agent: `league manager`, `league referee` and `league player`."""

from typing import Annotated

import typer

from agent_league.cli.command_text import format_home_option, format_options
from agent_league.cli.options import (
    ExitWhenDoneOption,
    FreePortOption,
    GameOption,
    GamesOption,
    HomeOption,
    NoSeatsOption,
    NoWebOption,
    OptionalPortOption,
    ParamOption,
    PlayerProtocol,
    SeedOption,
    SettingsOption,
    StoreOption,
    StrictOption,
    add_strict_setting,
    name_options_in_errors,
    open_or_create_home,
    parse_game_parameters,
    print_pages_address,
    print_remark,
)
from agent_league.config import ConfigLoader
from agent_league.model.agents import ANY_GAME
from agent_league.model.names import list_known_names
from agent_league.model.result_words import format_count

HostOption = Annotated[str, typer.Option(help="The address to listen on.")]
ManagerOption = Annotated[str | None, typer.Option(help="The League Manager's address.", metavar="URL")]
LeagueIdOption = Annotated[str | None, typer.Option(help="The league (default: default_league_id of system.json).")]


def manager(
    port: OptionalPortOption = None,
    host: HostOption = "127.0.0.1",
    league_id: LeagueIdOption = None,
    game: GameOption = None,
    param: ParamOption = None,
    players: Annotated[int | None, typer.Option(min=2, help="Start once so many players are there.")] = None,
    referees: Annotated[int | None, typer.Option(min=1, help="Start once so many referees are there.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new league where an unfinished one is there.")] = False,
    store: StoreOption = None,
    home: HomeOption = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    exit_when_done: ExitWhenDoneOption = False,
    no_web: NoWebOption = False,
    no_seats: NoSeatsOption = False,
) -> None:
    """Run a League Manager.

    It starts the league once --players and --referees have registered (default: the players that agents_config.json has
    active, and one referee), or on `league start`; referees may come at any time. An unfinished league of this SHARED
    folder is continued where it stopped. Every round has all its pairs, unless --set scheduling.matches_per_round=K or
    the file of a league that you name splits it. A league of --game GAME has an id and data of its own, league_GAME,
    unless --league-id names another.
    """
    from agent_league.cli.manager_output import ManagerEventPrinter
    from agent_league.http.hosts import own_endpoint
    from agent_league.launch.agent_plan import AgentListeners, ManagerPlan
    from agent_league.launch.config_checks import adapt_league_to_protocols, check_player_count, choose_league_config
    from agent_league.launch.league_start import (
        describe_lost_league,
        describe_moved,
        describe_progress,
        find_running_leagues,
        load_unfinished,
        lock_league,
        record_endpoint,
        start_new_league,
    )
    from agent_league.launch.play_function import serve_until_interrupted
    from agent_league.launch.serving import check_ports, run_async
    from agent_league.league.settings import ManagerSettings
    from agent_league.storage.paths import DataPaths

    home, loader = open_or_create_home(home, add_strict_setting(settings, strict=strict))
    system = loader.load_system()
    with name_options_in_errors():
        league = choose_league_config(
            loader, loader.load_games_registry(), league_id, game, parse_game_parameters(param)
        )
    agents = loader.load_agents()
    players = len(agents.active_players) if players is None else players
    referees = min(1, len(agents.active_referees)) if referees is None else referees
    if players:
        check_player_count(loader, league, players)
    port = port or system.network.default_league_manager_port
    seat = ManagerPlan(
        ManagerSettings(
            system,
            league,
            home,
            players,
            referees,
            exit_when_done,
            store,
            serves_pages=not no_web,
            offers_seats=not no_seats,
            configs_by_protocol=adapt_league_to_protocols(loader, league, game, parse_game_parameters(param)),
        ),
        port,
        host,
    )
    check_ports([seat])
    endpoint = own_endpoint(host, port, system.network.base_host)
    with lock_league(home, league.league_id, endpoint):
        saved = None if new else load_unfinished(home, league.league_id, store)
        if saved:
            print_remark(
                f"Going on with the league that was left unfinished: {describe_progress(saved)}. (--new begins "
                "another.)"
            )
        else:
            if not new and (lost := describe_lost_league(home, league.league_id, store)):
                print_remark(lost)
            if moved := start_new_league(home, league.league_id, store):
                print_remark(describe_moved(moved))
        if (earlier := record_endpoint(home, league.league_id, endpoint)) and saved:
            print_remark(
                f"It was conducted at {earlier}. Agents of this package find it at {endpoint}; tell others to go there."
            )
        per_round, full = league.scheduling.matches_per_round, players // 2
        if per_round is not None and per_round < full:
            print_remark(
                f"Rounds are split: scheduling.matches_per_round is {per_round}, a full round has {full} matches."
            )
        awaited = f"{players} players and {format_count(referees, 'referee')}, or " if players and referees else ""

        def ready() -> None:
            print_remark(f"League Manager of {league.league_id} at {endpoint}; the game is {league.game_type}.")
            if not no_web:
                print_pages_address(endpoint)
            if not (saved and saved.matches):
                is_alone = set(find_running_leagues(home)) <= {league.league_id}
                which = format_options({"--league-id": None if is_alone else league.league_id}) + format_home_option(
                    home
                )
                print_remark(f"Waiting for {awaited}`league start{which}`.")
            print_remark(f"The admin token is in {DataPaths(home).admin_token_file(league.league_id)}.")

        stays = "The manager stays until Ctrl-C." if no_web else "The manager and its pages stay until Ctrl-C."
        terminal = ManagerEventPrinter(endpoint, players, referees, "" if exit_when_done else stays)
        run_async(serve_until_interrupted([seat], AgentListeners(on_league_event=terminal.handle_event), ready))


def referee(
    port: FreePortOption = None,
    game: GamesOption = None,
    manager: ManagerOption = None,
    host: HostOption = "127.0.0.1",
    referee_id: Annotated[str | None, typer.Option(help="The id to ask for, such as REF01.")] = None,
    name: Annotated[str | None, typer.Option(help="The name to show.")] = None,
    league_id: LeagueIdOption = None,
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
    from agent_league.http.hosts import own_endpoint
    from agent_league.launch.agent_plan import AgentListeners, RefereePlan
    from agent_league.launch.config_checks import check_games
    from agent_league.launch.play_function import print_waiting, serve_until_interrupted
    from agent_league.launch.serving import check_ports, find_free_port, run_async
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
    port = port or find_free_port(host, system.network.default_referee_port_range)
    identity = RefereeSettings(
        system=system,
        games=loader.load_games_registry(),
        home=home,
        manager=resolve_manager(manager, loader),
        endpoint=own_endpoint(host, port, system.network.base_host),
        wanted_id=referee_id or f"referee-{port}",
        display_name=name or (entry.display_name if entry else f"Referee {referee_id or port}"),
        version=known.version,
        game_types=tuple(game) if game else known.game_types,
        max_concurrent_matches=max_concurrent_matches or known.max_concurrent_matches,
        league_id=league_id,
        seed=seed,
        exit_when_done=exit_when_done,
        player_addresses={entry.player_id: entry.default_endpoint for entry in loader.load_agents().players},
    )
    seat = RefereePlan(identity, port, host)
    check_ports([seat])
    run_async(serve_until_interrupted([seat], AgentListeners(on_remark=print_remark), lambda: print_waiting(identity)))


def player(
    port: FreePortOption = None,
    game: GamesOption = None,
    manager: ManagerOption = None,
    host: HostOption = "127.0.0.1",
    name: Annotated[str | None, typer.Option(help="The name to show.")] = None,
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
    practice: Annotated[
        bool, typer.Option("--practice", help="Answer anybody, not only referees that the manager vouches for.")
    ] = False,
    protocol: Annotated[PlayerProtocol, typer.Option(help="What it speaks.")] = PlayerProtocol.V2,
    league_id: LeagueIdOption = None,
    seed: SeedOption = None,
    home: HomeOption = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    exit_when_done: ExitWhenDoneOption = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="After LEAGUE_COMPLETED, wait for the next league there and join it.")
    ] = False,
) -> None:
    """Run a Player. It waits for the manager where that isn't there yet.

    With a --port and neither --player-id nor --name it is the player that agents_config.json has at this port.
    """
    from agent_league.errors import UserError
    from agent_league.games.registry import game_types
    from agent_league.http.hosts import own_endpoint
    from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
    from agent_league.launch.config_checks import apply_model_options, select_strategies
    from agent_league.launch.play_function import print_player_event, print_waiting, serve_until_interrupted
    from agent_league.launch.serving import check_ports, find_free_port, run_async
    from agent_league.players.app import PlayerSettings

    _check_agent_id("--player-id", player_id, "P01")
    check_display_name(name)
    home, loader = open_or_create_home(home, add_strict_setting(settings, strict=strict))
    system = loader.load_system()
    entry = loader.load_agents().find_player(player_id, None if name else port)
    player_id = entry.player_id if entry else player_id
    defaults = apply_model_options(loader.load_player_defaults(), model, base_url)
    known = entry or defaults
    chosen = select_strategies(loader, [strategy] if strategy else [], defaults)[0]
    if (model or base_url) and chosen != "llm":
        raise UserError(f"--model and --base-url are for --strategy llm, not for {chosen}")
    if stay and exit_when_done:
        raise UserError("--stay and --exit-when-done are opposites; leave one of them out")
    installed = (*game_types(), ANY_GAME)
    for one in (one for one in game or () if one not in installed and ":" not in one):
        print_remark(
            f"No game {one!r} is installed here {list_known_names(one, installed)}; it plays by what the referee "
            "offers."
        )
    port = port or find_free_port(host, system.network.default_player_port_range)
    identity = PlayerSettings(
        system=system.without_caller_checks() if practice else system,
        home=home,
        manager=resolve_manager(manager, loader),
        endpoint=own_endpoint(host, port, system.network.base_host),
        wanted_id=player_id or f"player-{port}",
        display_name=name or (entry.display_name if entry else f"Agent {player_id or port}"),
        version=known.version,
        game_types=tuple(game) if game else known.game_types,
        league_id=league_id,
        seed=seed,
        exit_when_done=exit_when_done,
        stay=stay,
        protocol=f"league.{protocol}",
    )
    seat = PlayerPlan(identity, port, host, strategy=chosen, defaults=defaults)
    check_ports([seat])
    run_async(
        serve_until_interrupted(
            [seat],
            AgentListeners(on_player_event=print_player_event, on_remark=print_remark),
            lambda: print_waiting(identity),
        )
    )


def resolve_manager(address: str | None, loader: ConfigLoader) -> str:
    """Return the manager's endpoint: the address that was typed, else that of agents_config.json."""
    from agent_league.http.hosts import parse_manager_endpoint

    return parse_manager_endpoint(address) if address else loader.load_agents().league_manager.endpoint


def check_display_name(name: str | None) -> None:
    """Raise UserError for a display name that a manager would refuse."""
    from agent_league.errors import UserError
    from agent_league.model.names import MAX_NAME_LENGTH, is_displayable

    if name is not None and not (is_displayable(name) and len(name) <= MAX_NAME_LENGTH):
        expected = f"expected 1 to {MAX_NAME_LENGTH} characters that people can see"
        raise UserError(f"--name {name!r}: {expected}; no control, formatting or invisible ones")


def _check_agent_id(option: str, agent_id: str | None, example: str) -> None:
    """Raise UserError for an id that can't name files and stand in `sender`."""
    from agent_league.errors import UserError
    from agent_league.model.names import is_safe_name

    if agent_id is not None and not is_safe_name(agent_id):
        raise UserError(f"{option} {agent_id!r} can't be an id; expected one such as {example}")
