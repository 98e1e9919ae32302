"""`league compare`: is one player better than another? Games until a sequential test is sure."""

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    CallTimeoutOption,
    JsonOption,
    ParamOption,
    find_config,
    interrupt_on_sigterm,
    load_requested_game,
    parse_game_parameters,
    require_utf8,
)
from agent_league.cli.terminal import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    divert_prints,
    make_stdout_console,
    print_json,
    print_lines,
    print_remark,
    show_progress_bar,
)
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader
    from agent_league.games.registry import Game
    from agent_league.lab.comparison import Comparison
    from agent_league.ratings.sequential_test import SequentialTest

    PairListener = Callable[[Comparison], None]

EXIT_OPEN = 3
"""The games don't decide it."""
RULES_LIMIT = 20_000
CALLS_LIMIT = 1_000
"""Most games of players that are called: they take their time, and those of a language model cost money."""
FIRST_REPORTED_PAIRS = 8
"""Without a terminal, progress is told after so many pairs, and then whenever there are twice as many."""
REDRAW_SECONDS = 0.1
PLAYER_HELP = "A strategy, a Python file with one, llm:MODEL, or a running player's address."


def compare(
    player: Annotated[str, typer.Argument(metavar="A", help=PLAYER_HELP)],
    opponent: Annotated[str, typer.Argument(metavar="B", help=PLAYER_HELP)],
    game: Annotated[str, typer.Option(help="The game to play, see `league games`.", metavar="GAME")] = "even_odd",
    param: ParamOption = None,
    elo0: Annotated[float, typer.Option(help="A is not better if it is so much better, or less.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="A is better if it is so much better, or more.")] = 20.0,
    alpha: Annotated[float, typer.Option(help="How often to be wrong in saying that A is better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong in saying that it isn't.")] = 0.05,
    limit: Annotated[
        int | None,
        typer.Option(min=2, metavar="GAMES", help="Most games to play (default: 20000; 1000 if players are called)."),
    ] = None,
    warm_up: Annotated[
        int,
        typer.Option(min=0, max=100_000, metavar="GAMES", help="Games that strategies play before each that counts."),
    ] = 0,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same games, whatever --jobs is.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use, for strategies.")] = 1,
    json: JsonOption = False,
    timeout: CallTimeoutOption = None,
    wait: Annotated[
        float, typer.Option(min=0, max=600, metavar="SECONDS", help="Time for a running player to appear and register.")
    ] = 5.0,
    manager_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where we play the manager (default: 8000 where that is free)."),
    ] = None,
) -> None:
    """Play two players against each other until it is clear whether A is better than B.

    Games come in pairs with swapped sides. After each pair a sequential test (SPRT on pentanomial counts) compares how
    likely the results are with a difference of --elo1 and of --elo0, and ends when that is clear enough. Strategies
    play by the rules alone, every game afresh, both games of a pair with the same draws; running players register with
    us, play over HTTP, and keep what they learn. Exit code 0: A is better. 1: it isn't. 3: the games don't decide it.
    2: nothing could be compared. 130: interrupted; what is known so far is told.
    """
    from agent_league.lab.comparison import Comparison, label_players, plays_by_rules
    from agent_league.players.strategies import can_learn, find_game_mismatch
    from agent_league.ratings.sequential_test import Verdict

    loader = find_config()
    chosen = load_requested_game(loader, game, parse_game_parameters(param))
    seed = require_utf8(seed, "--seed") if seed is not None else str(secrets.randbelow(10**9))
    players = (player, opponent)
    with divert_prints():
        by_rules = plays_by_rules(players)
    _check_options(by_rules=by_rules, jobs=jobs, warm_up=warm_up)
    for name in dict.fromkeys(players) if by_rules else ():
        if mismatch := find_game_mismatch(name, chosen.game_type):
            print_remark(mismatch)
        if can_learn(name) and not warm_up:
            print_remark(f"{name} learns, but every game begins afresh; --warm-up 100 lets it learn before each.")
    most = limit or (RULES_LIMIT if by_rules else CALLS_LIMIT)
    comparison = Comparison(label_players(players), _make_test(elo0, elo1, alpha, beta), max_pairs=most // 2)
    started = time.perf_counter()
    with divert_prints(), _show_progress(quiet=json) as watch:
        if by_rules:
            is_interrupted = not _compare_strategies(comparison, chosen, players, seed, warm_up, jobs, watch)
        else:
            connection = {"timeout": timeout, "wait_seconds": wait, "manager_port": manager_port}
            is_interrupted = not _compare_running(comparison, chosen, players, seed, loader, connection, watch)
    seconds = time.perf_counter() - started
    if json:
        told = {"game": chosen.game_type, "parameters": dict(chosen.parameters), "seed": seed}
        times = {"interrupted": is_interrupted, "seconds": round(seconds, 3)}
        print_json(told | comparison.to_json() | times)
    else:
        print_lines(make_stdout_console(), comparison.describe())
        print_remark(f"{comparison.describe_progress()}; {seconds:.1f} s, seed {seed}.")
        if not by_rules:
            print_remark(
                "Running players may learn from game to game; the error rates are those of players that don't."
            )
    if is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    codes = {Verdict.BETTER: 0, Verdict.NOT_BETTER: EXIT_FAILED, Verdict.UNDECIDED: EXIT_OPEN}
    raise typer.Exit(codes[comparison.verdict])


def _check_options(*, by_rules: bool, jobs: int, warm_up: int) -> None:
    """Raise UserError for options that would have no effect."""
    for option, is_set in (("--warm-up", warm_up > 0), ("--jobs", jobs > 1)):
        if is_set and not by_rules:
            raise UserError(f"{option}: only strategies that play by the rules alone have that; leave it out")


def _make_test(elo0: float, elo1: float, alpha: float, beta: float) -> "SequentialTest":
    from agent_league.ratings.sequential_test import SequentialTest

    try:
        return SequentialTest(elo0, elo1, alpha, beta)
    except ValueError as error:
        raise UserError(re.sub(r"\b(elo[01]|alpha|beta)\b", r"--\1", str(error))) from None


def _compare_strategies(
    comparison: "Comparison",
    game: "Game",
    players: tuple[str, str],
    seed: str,
    warm_up: int,
    jobs: int,
    watch: "PairListener",
) -> bool:
    """Play by the rules alone; False if interrupted."""
    from agent_league.lab.comparison import count_pairs, plan_pairs
    from agent_league.lab.workers import run_all

    work = plan_pairs(game, players, seed, warm_up, comparison.max_pairs)
    try:
        with (
            interrupt_on_sigterm(),
            closing(run_all(work, jobs, preload=("agent_league.lab.comparison",))) as pairs,
        ):
            count_pairs(comparison, pairs, watch)
    except KeyboardInterrupt:
        return False
    return True


def _compare_running(
    comparison: "Comparison",
    game: "Game",
    players: tuple[str, str],
    seed: str,
    loader: "ConfigLoader | None",
    connection: dict[str, Any],
    watch: "PairListener",
) -> bool:
    """Play over the network, and with strategies that wait for others; False if interrupted."""
    import asyncio

    from agent_league.agent.tasks import run_beside
    from agent_league.config.models import PlayerDefaults, TimeoutConfig
    from agent_league.lab.comparison import RunningComparison
    from agent_league.lab.experiment.calls import CallSettings
    from agent_league.launch.play_function import interrupt_event

    calls = CallSettings(timeouts=loader.load_system().timeouts if loader else TimeoutConfig(), **connection)
    defaults = loader.load_player_defaults() if loader else PlayerDefaults()
    running = RunningComparison(players, game, seed, calls, defaults, print_remark)

    async def run() -> bool:
        async with run_beside(running.run(comparison, watch), interrupt_event().wait()) as tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return not tasks[0].cancelled()

    return asyncio.run(run())


@contextmanager
def _show_progress(*, quiet: bool) -> "Iterator[PairListener]":
    """Show the running ratio: on a terminal in a line that changes, else in a line now and then."""
    with show_progress_bar(quiet=quiet, has_end=False) as progress:
        task = progress.add_task("")
        drawn = 0.0
        reported = FIRST_REPORTED_PAIRS

        def watch(comparison: "Comparison") -> None:
            nonlocal drawn, reported
            played = comparison.counts.pairs
            if progress.disable:
                if not quiet and played >= reported and not comparison.is_over:
                    print_remark(comparison.describe_progress())
                    reported = 2 * played
            elif time.perf_counter() - drawn > REDRAW_SECONDS:
                progress.update(task, description=comparison.describe_progress())
                drawn = time.perf_counter()

        yield watch
