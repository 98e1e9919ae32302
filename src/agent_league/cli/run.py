"""`league run`: plan, start, show and end a whole league in one command."""

import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.child_processes import start_fork_server
from agent_league.cli.keys import PageKeys, can_read_keys, read_page_keys
from agent_league.cli.options import (
    FirstPortOption,
    FormatOption,
    GameOption,
    HomeOption,
    JsonOption,
    LeagueProtocol,
    NoWebOption,
    OptionalPortOption,
    ParamOption,
    SeedOption,
    SettingsOption,
    StoreOption,
    StrictOption,
    add_strict_setting,
    begin_league,
    format_home_option,
    interrupt_on_sigterm,
    list_format_settings,
    name_options_in_errors,
    open_league,
    open_or_create_home,
    parse_game_parameters,
    parse_league_protocol,
    print_pages_address,
)
from agent_league.cli.terminal import format_options, print_remark, tolerate_closed_stdout
from agent_league.errors import AgentLeagueError, LeagueFailed, UserError
from agent_league.launch import LEAGUE_MODULES
from agent_league.model.events import LeagueCompleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_league.cli.league_view import QuietView
    from agent_league.lab.ray_league import RayLeague
    from agent_league.launch.plan import LeaguePlan
    from agent_league.launch.processes import LeagueProcesses

PROCESSES = "processes"
TICK_SECONDS = 0.25
NEXT_STEP = "Next: `league demo`, a cup worth watching; `league new player my_agent`, a player of your own."
MAX_PEOPLE = 8
"""The manager gives at most so many seats to one address."""


def run(
    game: GameOption = None,
    param: ParamOption = None,
    players: Annotated[int | None, typer.Option(min=1, help="How many players (default: those configured).")] = None,
    people: Annotated[
        int, typer.Option(min=0, max=MAX_PEOPLE, help="How many people play as well, in the browser.")
    ] = 0,
    guests: Annotated[
        int, typer.Option(min=0, help="How many MCP hosts, or other agents, play as well; each comes by itself.")
    ] = 0,
    referees: Annotated[int | None, typer.Option(min=1, help="How many referees (default: those configured).")] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="How many rounds (default: as configured, or as the format needs).")
    ] = None,
    format_: FormatOption = None,
    strategy: Annotated[
        str, typer.Option(help="Strategies of the players, dealt out in turn.", metavar="NAME[,NAME...]")
    ] = "",
    seed: SeedOption = None,
    league_id: Annotated[str | None, typer.Option(help="Which league file to play.")] = None,
    home: HomeOption = None,
    manager_port: OptionalPortOption = None,
    referee_port: FirstPortOption = None,
    player_port: FirstPortOption = None,
    protocol: Annotated[
        LeagueProtocol | None,
        typer.Option(
            parser=parse_league_protocol,
            metavar=f"<{'|'.join(LeagueProtocol)}>",
            help="What the players speak; mixed: both, in turn (default: as the league file says, or v2).",
        ),
    ] = None,
    strict: StrictOption = False,
    settings: SettingsOption = None,
    store: StoreOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run, as it was started.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Put an unfinished league aside and begin another.")] = False,
    no_web: NoWebOption = False,
    stay: Annotated[
        bool | None,
        typer.Option(
            help="After the last result, keep the manager and its pages until a key is pressed or Ctrl-C (default: in "
            "a terminal, and with --people or --guests).",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Where referees and players run: processes (of this machine), ray or ray=ADDRESS (a cluster).",
        ),
    ] = "processes",
    json: JsonOption = False,
) -> None:
    """Start a manager, referees and players, play the league, show it live, print the table.

    Every round has all its pairs, unless --set scheduling.matches_per_round=K or the file of a league that you name
    splits it. A league of --game GAME has an id and data of its own, league_GAME, unless --league-id names another.
    """
    started = time.perf_counter()
    if on == PROCESSES:
        start_fork_server(*LEAGUE_MODULES)
    from agent_league.cli.league_view import LeagueView, QuietView
    from agent_league.http.hosts import own_endpoint
    from agent_league.launch.league_start import (
        check_no_other_league,
        describe_progress,
        load_interrupted_run,
        load_unfinished,
        lock_league,
        save_request,
    )
    from agent_league.launch.plan import LeagueRequest, make_league_plan
    from agent_league.launch.serving import check_ports
    from agent_league.players.strategies import find_game_mismatch

    chosen = list_format_settings(format_, rounds) + add_strict_setting(settings, strict=strict)
    home, loader = open_or_create_home(home, chosen)
    request = LeagueRequest(
        home=home,
        league_id=league_id,
        players=players,
        referees=referees,
        seed=seed,
        manager_port=manager_port,
        referee_port=referee_port,
        player_port=player_port,
        strategies=tuple(name.strip() for name in strategy.split(",") if name.strip()),
        store=store,
        protocol=protocol and protocol.value,
        game=game,
        parameters=parse_game_parameters(param),
        people=people,
        guests=guests,
    )
    if people and no_web:
        raise UserError("--people play on the manager's pages, which --no-web turns off; give one of the two.")
    shown_store = store if store and "@" not in store else None  # a password is never printed
    which = format_options({"--game": game, "--league-id": league_id, "--store": shown_store}) + format_home_option(
        home
    )
    if resume:
        loader, request = load_interrupted_run(loader, request)
    with name_options_in_errors():
        plan = make_league_plan(loader, request)
    if stay is None:  # people who watch or have played look at the table and at the matches
        stay = (plan.people > 0 or plan.guests > 0 or can_read_keys()) and not json and not no_web
    plan = plan.with_manager_options(web=not no_web, stay=stay)
    for name in dict.fromkeys(plan.strategies.values()):
        if remark := find_game_mismatch(name, plan.league.game_type):
            print_remark(remark)
    with _open_fleet(plan, on) as (plan, fleet):
        check_ports(plan.agent_plans if on == PROCESSES else [plan.manager])
        endpoint = own_endpoint(plan.manager.host, plan.manager.port, plan.system.network.base_host)
        with lock_league(home, plan.league.league_id, endpoint):
            check_no_other_league(home, plan.league.league_id)
            if not resume:
                if not new and (left := load_unfinished(home, plan.league.league_id, store)):
                    raise UserError(
                        f"{home} holds an unfinished league ({describe_progress(left)}). Continue it with"
                        f" `league run --resume{which}` or `league manager{which}`, put it aside with --new, or play"
                        " elsewhere with --home."
                    )
                begin_league(home, plan.league.league_id, store, plan.agent_plans, new=new)
                save_request(replace(request, store=None), plan.league.league_id, loader.overrides)
            if not no_web and not json:
                print_pages_address(endpoint, plan.people, plan.guests)
            view = QuietView(plan, lambda: _rate_players(plan, store)) if json else LeagueView(plan)
            pages = "" if no_web or json else endpoint.removesuffix("mcp")
            try:
                with read_page_keys(pages, print_remark) as keys:
                    completed = _play_league(plan, fleet, request.seed, view, started, keys, stay=stay)
            except KeyboardInterrupt:
                place = format_options({"--on": on if on != PROCESSES else None})
                continued = f"`league run --resume{which}{place}` continues it."
                print_remark(f"Interrupted; everything that was started has ended. {continued}")
                raise
    if completed is not None:
        _require_champion(completed)


def _rate_players(plan: "LeaguePlan", store: str | None) -> dict[str, Any] | None:
    """Rate the players by what the manager has stored."""
    reader = open_league(plan.home, plan.league.league_id, store).make_reader()
    report = reader.rate_players()
    return report.to_json(reader.player_names) if report else None


@contextmanager
def _open_fleet(plan: "LeaguePlan", on: str) -> "Iterator[tuple[LeaguePlan, LeagueProcesses | RayLeague]]":
    """Yield the plan, as it is there, and what will start its agents."""
    if on == PROCESSES:
        from agent_league.launch.processes import LeagueProcesses

        yield plan, LeagueProcesses(plan.group_by_process())
        return
    from agent_league.lab.experiment.engine_choice import parse_place
    from agent_league.lab.ray_league import spread_league

    _, address = parse_place(on)
    with spread_league(plan, address, print_remark) as league:
        yield league.plan, league


def _play_league(
    plan: "LeaguePlan",
    processes: "LeagueProcesses | RayLeague",
    seed: str | None,
    view: "QuietView",
    started: float,
    keys: PageKeys,
    *,
    stay: bool,
) -> LeagueCompleted | None:
    """Start the processes, follow the league and print its summary; None if the manager ended without a result."""
    from agent_league.launch.play_function import open_orchestrator_log
    from agent_league.launch.steady_output import nonblocking_output

    league_id = plan.league.league_id
    log = open_orchestrator_log(plan.home, plan.system)
    log.info("league_run_started", league_id=league_id, agents=len(plan.agent_plans), seed=seed)
    try:
        with interrupt_on_sigterm(), nonblocking_output(), processes as fleet:
            log.info("processes_started", league_id=league_id, pids=fleet.pids)
            completed = _follow_league(fleet, view, keys, stay=stay)
            seconds = time.perf_counter() - started
            if stay and completed:
                view.print_summary(completed, seconds)
                _keep_serving(fleet, keys)
    except KeyboardInterrupt:
        log.warning("league_run_interrupted", league_id=league_id)
        raise
    except AgentLeagueError as error:
        log.error("league_run_failed", league_id=league_id, error=str(error))
        raise
    else:
        log.info("league_run_completed", league_id=league_id, seconds=round(seconds, 3))
    finally:
        log.close()
    if completed and not stay:
        with tolerate_closed_stdout():
            view.print_summary(completed, seconds)
    return completed


def _follow_league(
    fleet: "LeagueProcesses | RayLeague", view: "QuietView", keys: PageKeys, *, stay: bool
) -> LeagueCompleted | None:
    """Show events until the manager ends, or with `stay` until the league is completed."""
    completed = None
    with view:
        for event in fleet.iter_events(TICK_SECONDS, view.show_remark):
            view.show_event(event)
            keys.handle_pressed()
            if isinstance(event, LeagueCompleted):
                completed = event
                if stay:
                    break
    return completed


def _keep_serving(fleet: "LeagueProcesses | RayLeague", keys: PageKeys) -> None:
    """Serve until a key is pressed, or Ctrl-C; the keys that were pressed before don't count."""
    from agent_league.launch.steady_output import drain_stdout

    keys.handle_pressed()
    drain_stdout()
    print_remark(f"The manager and its pages stay until {keys.describe_end()}.")
    if keys.are_there:
        print_remark(NEXT_STEP)
    with suppress(KeyboardInterrupt):
        for _ in fleet.iter_events(TICK_SECONDS, print_remark):
            if keys.handle_pressed():
                break


def _require_champion(completed: LeagueCompleted) -> None:
    """Raise LeagueFailed if every match was aborted."""
    if completed.is_void:
        raise LeagueFailed(
            "every match was aborted, so there is no champion; check_game of agent_league.testing.game_contract"
            " tests a game"
        )
