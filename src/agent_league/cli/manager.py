"""`league manager`: run a League Manager, or continue an unfinished league."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import (
    ExitWhenDoneOption,
    FormatOption,
    GameOption,
    HomeOption,
    HostOption,
    LeagueIdOption,
    NoSeatsOption,
    NoWebOption,
    OptionalPortOption,
    ParamOption,
    SettingsOption,
    StoreOption,
    StrictOption,
    add_strict_setting,
    begin_league,
    format_home_option,
    list_format_settings,
    name_options_in_errors,
    open_or_create_home,
    parse_game_parameters,
    print_pages_address,
)
from agent_league.cli.terminal import format_options, print_remark
from agent_league.errors import UserError
from agent_league.model.result_words import format_count

if TYPE_CHECKING:
    from agent_league.config import LeagueConfig
    from agent_league.league.ladder_conductor import PlayerChecker
    from agent_league.storage.base import SavedSeason


def manager(
    port: OptionalPortOption = None,
    host: HostOption = "127.0.0.1",
    league_id: LeagueIdOption = None,
    game: GameOption = None,
    param: ParamOption = None,
    players: Annotated[int | None, typer.Option(min=2, help="Start once so many players are there.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="How many rounds (default: as the format needs).")] = None,
    format_: FormatOption = None,
    referees: Annotated[int | None, typer.Option(min=1, help="Start once so many referees are there.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new league where an unfinished one is there.")] = False,
    reopen: Annotated[
        bool, typer.Option("--reopen", help="Serve the league that is over once more, to correct its results.")
    ] = False,
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
    active, and one referee), or on `league admin start`; referees may come at any time. An unfinished league of this
    SHARED folder is continued where it stopped. Every round has all its pairs, unless --set
    scheduling.matches_per_round=K or the file of a league that you name splits it. A league of --game GAME has an id
    and data of its own, league_GAME, unless --league-id names another.
    """
    from agent_league.cli.league_view import ManagerEventPrinter
    from agent_league.http.hosts import own_endpoint
    from agent_league.launch.agent_plan import AgentListeners, ManagerPlan
    from agent_league.launch.config_checks import adapt_league_to_protocols, check_player_count, choose_league_config
    from agent_league.launch.league_start import lock_league
    from agent_league.launch.play_function import serve_until_interrupted
    from agent_league.launch.serving import check_ports, run_async
    from agent_league.league.settings import ManagerSettings
    from agent_league.storage.paths import DataPaths

    home, loader = open_or_create_home(
        home, list_format_settings(format_, rounds, has_end=False) + add_strict_setting(settings, strict=strict)
    )
    system = loader.load_system()
    with name_options_in_errors():
        league = choose_league_config(
            loader, loader.load_games_registry(), league_id, game, parse_game_parameters(param)
        )
    agents = loader.load_agents()
    players = len(agents.active_players) if players is None else players
    referees = min(1, len(agents.active_referees)) if referees is None else referees
    if league.ladder:
        players = referees = 0  # it is open from the first moment on
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
        check_player=_find_player_checker(league),
    )
    check_ports([seat])
    endpoint = own_endpoint(host, port, system.network.base_host)
    with lock_league(home, league.league_id, endpoint):
        saved = _continue_or_begin(home, league.league_id, store, endpoint, new=new, reopen=reopen)
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
            if league.ladder:
                print_remark(_describe_ladder(league))
            elif not (saved and saved.matches):
                _print_times(league)
                awaits = "its time, or " if league.times.start else awaited
                print_remark(f"Waiting for {awaits}`league admin start{_start_options(home, league.league_id)}`.")
            print_remark(f"The admin token is in {DataPaths(home).admin_token_file(league.league_id)}.")

        stays = "The manager stays until Ctrl-C." if no_web else "The manager and its pages stay until Ctrl-C."
        terminal = ManagerEventPrinter(endpoint, players, referees, "" if exit_when_done else stays)
        run_async(serve_until_interrupted([seat], AgentListeners(on_league_event=terminal.handle_event), ready))


def _find_player_checker(league: "LeagueConfig") -> "PlayerChecker | None":
    """Load the checks only for a league that needs them."""
    if league.ladder is None or not league.ladder.check:
        return None
    from agent_league.check.quick_check import check_ladder_player

    return check_ladder_player


def _describe_ladder(league: "LeagueConfig") -> str:
    ladder = league.ladder
    if ladder is None:
        return ""
    bots = f"; house bots: {', '.join(ladder.house_bots)}" if ladder.house_bots else ""
    return f"A practice ladder: always open, everybody who is free is paired every {ladder.interval_sec:g} s{bots}."


def _continue_or_begin(
    home: Path, league_id: str, store: str | None, endpoint: str, *, new: bool, reopen: bool
) -> "SavedSeason | None":
    """Print how an unfinished league goes on here and return it; else, or with `new`, make room for a new one.

    `reopen` goes on with one that is over.
    """
    from agent_league.launch.league_start import (
        describe_progress,
        load_unfinished,
        read_saved_season,
        record_endpoint,
    )

    if new and reopen:
        raise UserError("--new begins another league and --reopen goes on with the last one: choose one of them")
    saved = None if new else load_unfinished(home, league_id, store)
    if reopen and saved is None:
        saved = read_saved_season(home, league_id, store)
        if saved is None or not saved.matches:
            raise UserError(f"--reopen: {home} has no {league_id} that was played")
        print_remark(
            f"{league_id} is over: {describe_progress(saved)}. `league admin rerun`, `void`, `award` and `withdraw` "
            "correct it; agents that are to play start again."
        )
    elif saved:
        progress = describe_progress(saved)
        print_remark(f"Going on with the league that was left unfinished: {progress}. (--new begins another.)")
    else:
        begin_league(home, league_id, store, new=new)
    if (earlier := record_endpoint(home, league_id, endpoint)) and saved:
        print_remark(
            f"It was conducted at {earlier}. Agents of this package find it at {endpoint}; tell others to go there."
        )
    return saved


def _print_times(league: "LeagueConfig") -> None:
    """Print what is due when, in a league that has not started."""
    from agent_league.clock import SystemClock
    from agent_league.league.times_view import view_coming_league

    for sentence in view_coming_league(league.times.plan, SystemClock().now()).list_sentences():
        print_remark(f"{sentence}.")


def _start_options(home: Path, league_id: str) -> str:
    """Format the options with which `league admin start` finds this league."""
    from agent_league.launch.league_start import find_running_leagues

    is_alone = set(find_running_leagues(home)) <= {league_id}
    return format_options({"--league-id": None if is_alone else league_id}) + format_home_option(home)
