"""`league evaluate`: play one player in a private league and write a report on it."""

import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    CallTimeoutOption,
    JsonOption,
    ParamOption,
    PlayerProtocol,
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
    make_rich_table,
    print_lines,
    print_remark,
    write_to_stdout,
)
from agent_league.errors import UserError
from agent_league.text import to_printable

if TYPE_CHECKING:
    from agent_league.lab.evaluation.model import Evaluation
    from agent_league.lab.experiment.experiment import Experiment
    from agent_league.model.tables import DataTable

REPORTS_FOLDER = Path("evaluations")
VERDICT_STYLES = {"PASS": "green", "FAIL": "bold red", "not judged": "yellow"}


def evaluate(
    player: Annotated[
        str,
        typer.Argument(metavar="PLAYER", help="A running player's address, a strategy, llm:MODEL, or a Python file."),
    ],
    game: Annotated[str, typer.Option(help="The game to play, see `league games`.", metavar="GAME")] = "even_odd",
    param: ParamOption = None,
    games: Annotated[
        int, typer.Option(min=1, max=10_000, help="Games against each opponent, sides alternating.")
    ] = 100,
    earlier: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="Its own earlier version: an address or a strategy.")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same draws and the same opponents.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the report goes (default: a new folder in evaluations/).")
    ] = None,
    json: JsonOption = False,
    protocol: Annotated[
        PlayerProtocol | None, typer.Option(help="What the player speaks (default: found out).")
    ] = None,
    timeout: CallTimeoutOption = None,
    wait: Annotated[
        float, typer.Option(min=0, max=600, metavar="SECONDS", help="Time for the player to appear and to register.")
    ] = 5.0,
    minutes: Annotated[float, typer.Option(min=0.01, max=1440, help="All games together may take so long.")] = 30.0,
    manager_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where we play the manager (default: 8000 where that is free)."),
    ] = None,
) -> None:
    """Play a player against random, deterministic and mirror agents and its earlier version, and report on it.

    The report judges messages, timeouts, wins and what becomes of bad input; as Markdown, HTML with plots, and JSON. A
    running player registers with us, as with any manager, or is started with --practice. Five failures in a row end a
    series. Exit code 0: nothing failed that could be judged. 1: a criterion failed. 2: nothing could be evaluated.
    130: interrupted; what there was is in the report.
    """
    from agent_league.cli.experiment import show_game_progress
    from agent_league.config.models import PlayerDefaults, TimeoutConfig
    from agent_league.lab.evaluation.evaluator import EvaluationRequest, Evaluator
    from agent_league.lab.evaluation.report import check_report_folder, choose_report_folder
    from agent_league.lab.experiment.folder import remove_experiment

    try:
        check_report_folder(out or REPORTS_FOLDER)
    except UserError as error:
        raise UserError(f"--out {error}") from None
    loader = find_config()
    request = EvaluationRequest(
        player=player,
        game=load_requested_game(loader, game, parse_game_parameters(param)),
        seed=require_utf8(seed, "--seed") if seed is not None else secrets.token_hex(16),  # unpredictable opponents
        games=games,
        earlier=earlier,
        protocol=f"league.{protocol.value}" if protocol else None,
        timeout=timeout,
        timeouts=loader.load_system().timeouts if loader else TimeoutConfig(),
        wait_seconds=wait,
        manager_port=manager_port,
        max_seconds=minutes * 60,
        defaults=loader.load_player_defaults() if loader else PlayerDefaults(),
    )
    with divert_prints():
        evaluator = Evaluator(request, print_remark)
    folder = out or choose_report_folder(player, evaluator.started_at, REPORTS_FOLDER)
    try:
        with divert_prints(), interrupt_on_sigterm(), show_game_progress(quiet=json) as watch:
            evaluation = evaluator.run(folder, watch)
    except KeyboardInterrupt:
        evaluation = evaluator.current_evaluation(interrupted=True)
    finally:
        if not evaluator.current_evaluation().games:
            remove_experiment(folder)
            with suppress(OSError):  # there are others
                REPORTS_FOLDER.rmdir()
    if code := _finish_report(evaluation, evaluator.experiment, folder, as_json=json):
        raise typer.Exit(code)


def _finish_report(evaluation: "Evaluation", experiment: "Experiment", folder: Path, *, as_json: bool) -> int:
    """Write the report, print its results and return the exit code."""
    from agent_league.lab.evaluation import findings, report
    from agent_league.lab.evaluation.criteria import judge_criteria
    from agent_league.lab.experiment.experiment import ExperimentResults

    if evaluation.interrupted and not evaluation.games:
        print_remark("Interrupted before the first game was over; there is nothing to report.")
        return EXIT_INTERRUPTED
    report.write_report(evaluation, folder)
    ExperimentResults(folder, experiment.resolved).write_report()
    if as_json:
        write_to_stdout(report.render_json(evaluation).rstrip().encode())
    else:
        _print_evaluation(evaluation)
    print_remark(
        f"The report is in {folder}: evaluation.html and evaluation.md with plots, evaluation.json with all numbers."
    )
    print_remark("Beside it, its games as an experiment: games.sqlite, report.html and experiment.toml.")
    if evaluation.interrupted:
        print_remark(f"Interrupted: it tells of {findings.games_text(len(evaluation.games))}.")
        return EXIT_INTERRUPTED
    return EXIT_FAILED if findings.has_failed(judge_criteria(evaluation)) else 0


def _print_evaluation(evaluation: "Evaluation") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from agent_league.lab.evaluation import findings
    from agent_league.lab.evaluation.criteria import judge_criteria

    console = Console(highlight=False)

    def print_table(table: "DataTable", title: str) -> None:
        look: dict[str, Any] = {"box": SIMPLE_HEAD, "collapse_padding": True, "pad_edge": False}
        console.print(make_rich_table(replace(table, title=title), **look))

    print_table(findings.results_table(evaluation), f"{evaluation.player}: {evaluation.title}")
    console.print(Text(to_printable(findings.describe_opponents(evaluation)) + "\n"))
    if ratings := findings.find_ratings(evaluation):
        print_table(ratings.tabulate(), "Ratings")
        print_lines(console, [*ratings.describe(), ""])
    print_table(findings.times_table(evaluation), "Response times")
    if evaluation.faults_by_frequency:
        print_table(findings.faults_table(evaluation), "Messages that are not valid")
    for one in judge_criteria(evaluation):
        console.print(Text(f"{one.verdict.value:12}{one.name}", style=VERDICT_STYLES[one.verdict.value]))
        for line in filter(None, (one.found, one.note)):
            console.print(Padding(Text(to_printable(line)), (0, 0, 0, 12)))
    for remark in findings.list_remarks(evaluation):
        console.print(Text(to_printable(remark)))
    console.print(Text(findings.summary_sentence(evaluation)))
