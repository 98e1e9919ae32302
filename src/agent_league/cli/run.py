"""`league run`: plan, start, show and end a whole league in one command."""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import orjson
import typer

from agent_league.cli.command_text import home_option, write_options
from agent_league.cli.options import (
    FirstPort,
    Game,
    Home,
    LeagueProtocol,
    NoWeb,
    OptionalPort,
    Param,
    Seed,
    Set,
    Store,
    Strict,
    naming_options,
    open_home,
    parameters_of,
    put_out,
    say,
    say_where,
    with_strict,
)
from agent_league.cli.tables import while_somebody_reads
from agent_league.errors import AgentLeagueError, LeagueFailed, UserError
from agent_league.model.events import LeagueCompleted

if TYPE_CHECKING:
    from agent_league.cli.run_view import LeagueView, Silence
    from agent_league.launch.plan import LeaguePlan
    from agent_league.launch.processes import Fleet

TICK_SECONDS = 0.25
MOST_PEOPLE = 8
"""The manager gives at most so many seats to one address."""


def run(
    game: Game = None,
    param: Param = None,
    players: Annotated[int | None, typer.Option(min=1, help="How many players (default: those configured).")] = None,
    people: Annotated[
        int, typer.Option(min=0, max=MOST_PEOPLE, help="How many people play as well, in the browser.")
    ] = 0,
    referees: Annotated[int | None, typer.Option(min=1, help="How many referees (default: those configured).")] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="How many rounds, the first of the schedule (default: as configured).")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="Strategies of the players, dealt out in turn.", metavar="NAME[,NAME...]")
    ] = "",
    seed: Seed = None,
    league_id: Annotated[str | None, typer.Option(help="Which league file to play.")] = None,
    home: Home = None,
    manager_port: OptionalPort = None,
    referee_port: FirstPort = None,
    player_port: FirstPort = None,
    protocol: Annotated[
        LeagueProtocol | None,
        typer.Option(help="What the players speak; mixed: both, in turn (default: as the league file says, or v2)."),
    ] = None,
    strict: Strict = False,
    settings: Set = None,
    store: Store = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run, as it was started.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Put an unfinished league aside and begin another.")] = False,
    no_web: NoWeb = False,
    stay: Annotated[
        bool | None,
        typer.Option(
            help="After the last result, keep the manager and its pages until Ctrl-C (default: with --people).",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Start a manager, referees and players, play the league, show it live, print the table.

    Every round has all its pairs, unless --set scheduling.matches_per_round=K or the file of a league that you name
    splits it. A league of --game GAME has an id and data of its own, league_GAME, unless --league-id names another.
    """
    from agent_league.launch.addresses import own_endpoint
    from agent_league.launch.league_start import (
        alone,
        begin_anew,
        check_nobody_else_plays,
        describe_moved,
        keep_request,
        lost_league,
        progress,
        resumed,
        unfinished,
    )
    from agent_league.launch.plan import LeagueRequest, make_plan
    from agent_league.launch.serving import check_ports
    from agent_league.players.strategies import unsuited

    started = time.perf_counter()
    chosen = [*with_strict(settings, strict=strict), *([f"scheduling.rounds={rounds}"] if rounds else [])]
    home, loader = open_home(home, chosen)
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
        parameters=parameters_of(param),
        people=people,
    )
    if people and no_web:
        raise UserError("--people play on the manager's pages, which --no-web turns off; give one of the two.")
    shown_store = store if store and "@" not in store else None  # a password is never printed
    which = write_options({"--game": game, "--league-id": league_id, "--store": shown_store}) + home_option(home)
    if resume:
        loader, request = resumed(loader, request)
    with naming_options():
        plan = make_plan(loader, request)
    if stay is None:  # people who have played look at the table and at their matches
        stay = plan.people > 0 and not json
    plan = plan.shown(web=not no_web, stay=stay)
    for name in dict.fromkeys(plan.strategies.values()):
        if remark := unsuited(name, plan.league.game_type):
            say(remark)
    check_ports(plan.seats)
    endpoint = own_endpoint(plan.manager.host, plan.manager.port, plan.system.network.base_host)
    with alone(home, plan.league.league_id, endpoint):
        check_nobody_else_plays(home, plan.league.league_id)
        if not resume:
            if not new and (left := unfinished(home, plan.league.league_id, store)):
                raise UserError(
                    f"{home} holds an unfinished league ({progress(left)}). Continue it with"
                    f" `league run --resume{which}` or `league manager{which}`, put it aside with --new, or play"
                    " elsewhere with --home."
                )
            if not new and (lost := lost_league(home, plan.league.league_id, store)):
                say(lost)
            if moved := begin_anew(home, plan.league.league_id, store, plan.seats):
                say(describe_moved(moved))
            keep_request(replace(request, store=None), plan.league.league_id, loader.overrides)
        if not no_web and not json:
            say_where(endpoint, plan.people)
        how = _How(*_view(plan, as_json=json), stay, f"league run --resume{which}", started)
        completed = _play(plan, request.seed, how)
    if completed is not None:
        _require_champion(completed)


@dataclass(frozen=True, slots=True)
class _How:
    """How a league is shown, and what happens after it."""

    view: "LeagueView | Silence"
    finish: Callable[[LeagueCompleted, float], None]
    """Called with the completed league and its duration in seconds."""
    stay: bool
    again: str
    """The command that continues it."""
    started: float


def _play(plan: "LeaguePlan", seed: str | None, how: _How) -> LeagueCompleted | None:
    """Start the processes, follow the league and print its summary; None if the manager ended without a result."""
    from agent_league.launch.orchestrator_log import orchestrator_log
    from agent_league.launch.processes import Fleet
    from agent_league.launch.steady_output import steady_output

    league_id = plan.league.league_id
    log = orchestrator_log(plan.home, plan.system)
    log.info("league_run_started", league_id=league_id, agents=len(plan.seats), seed=seed)
    signal.signal(signal.SIGTERM, _end)
    try:
        with steady_output(), Fleet(plan.processes()) as fleet:
            log.info("processes_started", league_id=league_id, pids=fleet.pids)
            completed = _follow(fleet, how.view, stay=how.stay)
            seconds = time.perf_counter() - how.started
            if how.stay and completed:
                how.finish(completed, seconds)
                _stay(fleet)
    except KeyboardInterrupt:
        log.warning("league_run_interrupted", league_id=league_id)
        say(f"Interrupted; everything that was started has ended. `{how.again}` continues it.")
        raise
    except AgentLeagueError as error:
        log.error("league_run_failed", league_id=league_id, error=str(error))
        raise
    log.info("league_run_completed", league_id=league_id, seconds=round(seconds, 3))
    log.close()
    if completed and not how.stay:
        with while_somebody_reads():
            how.finish(completed, seconds)
    return completed


def _follow(fleet: "Fleet", view: "LeagueView | Silence", *, stay: bool) -> LeagueCompleted | None:
    """Show events until the manager ends, or with `stay` until the league is completed."""
    completed = None
    with view:
        for event in fleet.events(TICK_SECONDS, view.remark):
            view.show(event)
            if isinstance(event, LeagueCompleted):
                completed = event
                if stay:
                    break
    return completed


def _stay(fleet: "Fleet") -> None:
    say("The manager and its pages stay until Ctrl-C.")
    with suppress(KeyboardInterrupt):
        for _ in fleet.events(TICK_SECONDS, say):
            pass


def _require_champion(completed: LeagueCompleted) -> None:
    """Raise LeagueFailed if every match was aborted."""
    if completed.is_void:
        raise LeagueFailed(
            "every match was broken off, so there is no champion; check_game of agent_league.testing.game_contract"
            " tests a game"
        )


def _view(
    plan: "LeaguePlan", *, as_json: bool
) -> "tuple[LeagueView | Silence, Callable[[LeagueCompleted, float], None]]":
    """Choose the view, and the function that prints the summary."""
    from agent_league.cli.run_view import LeagueView, Silence

    if as_json:
        return Silence(), lambda completed, seconds: put_out(
            orjson.dumps(_summary(completed, plan.strategies, seconds))
        )
    view = LeagueView(plan)
    return view, view.finish


def _summary(completed: LeagueCompleted, strategies: Mapping[str, str], seconds: float) -> dict[str, Any]:
    champion = completed.standings[0]
    return {
        "league_id": completed.league_id,
        "rounds": completed.rounds,
        "matches": completed.matches,
        "champion": None
        if completed.is_void
        else {
            "player_id": champion.player_id,
            "display_name": champion.display_name,
            "points": champion.points,
        },
        "standings": [row.as_dict() for row in completed.standings],
        "strategies": dict(strategies),
        "tolerated": {agent_id: list(noted) for agent_id, noted in completed.tolerated.items()},
        "broken_off": dict(completed.broken_off),
        "seconds": round(seconds, 3),
    }


def _end(*_: object) -> NoReturn:
    """Handle SIGTERM as Ctrl-C, which ends all processes."""
    raise KeyboardInterrupt
