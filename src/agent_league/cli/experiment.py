"""`league experiment`: play every pair of players in every game with every seed, from a file, and write a folder."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import CallTimeoutOption, interrupt_on_sigterm
from agent_league.cli.terminal import (
    EXIT_INTERRUPTED,
    divert_prints,
    format_options,
    make_rich_table,
    print_lines,
    print_remark,
    show_progress_bar,
    spell_command,
)
from agent_league.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from agent_league.lab.experiment.experiment import Experiment, ExperimentResults
    from agent_league.lab.experiment.running import ProgressListener, RunProgress
    from agent_league.lab.experiment.summary import ExperimentSummary, ScoreSummary

MERGE = "merge"
PROCESSES = "processes"
REPORT_SECONDS = 10.0
"""Without a terminal, progress is told so often."""
REDRAW_SECONDS = 0.1


def experiment(
    what: Annotated[
        list[str],
        typer.Argument(metavar="FILE.toml | merge DIR...", help="The experiment's file; or the folders of all shards."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where everything is written (default: experiments/, named as the file)."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use; they change no row.")] = 1,
    on: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="Where to play: processes (of this machine), ray or ray=ADDRESS (a cluster).",
        ),
    ] = "processes",
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Play only part I of N, from 1, for one of N machines.")
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Every meeting is a whole league over HTTP: manager, referee and both players."),
    ] = False,
    csv: Annotated[
        bool, typer.Option("--games-csv", help="Also write games.csv, without times: equal bytes for equal files.")
    ] = False,
    timeout: CallTimeoutOption = None,
    wait: Annotated[
        float, typer.Option(min=0, max=600, metavar="SECONDS", help="Time for a running player to appear and register.")
    ] = 5.0,
    manager_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where we play the manager (default: 8000 where that is free)."),
    ] = None,
) -> None:
    """Play every pair of players in every game with every seed, as a file says, and report on it.

    The folder holds every game as a row (games.sqlite), the resolved file with versions and a hash (experiment.toml)
    and a report with plots. Killed and started again it goes on; the same file gives the same rows, whatever --jobs,
    --on and --shard are. `league experiment merge DIR... --out DIR` makes one of all shards. Exit code 0: all is
    played. 2: the file or folder is wrong. 130: interrupted; the same command goes on.
    """
    if what[0] == MERGE:
        _merge(what[1:], out, csv=csv, has_other_options=jobs > 1 or on != PROCESSES or full or shard is not None)
        return
    if len(what) > 1:
        raise UserError(f"expected one file, found {len(what)}: {', '.join(what)}")
    from agent_league.lab.experiment.calls import CallSettings
    from agent_league.lab.experiment.engine_choice import parse_place
    from agent_league.lab.experiment.experiment import Experiment
    from agent_league.lab.experiment.folder import choose_folder
    from agent_league.lab.experiment.plan import Shard

    try:
        part = Shard.parse(shard) if shard is not None else None
    except UserError as error:
        raise UserError(f"--shard: {error}") from None
    parse_place(on)
    path = Path(what[0])
    with divert_prints():
        planned = Experiment.from_file(path, full=full)
    for remark in planned.resolved.remarks:
        print_remark(remark)
    folder = out or choose_folder(path.stem, part)
    if out is None:
        print_remark(f"Everything is written to {folder}.")
    options = {"--out": out, "--jobs": jobs if jobs > 1 else None, "--on": on if on != PROCESSES else None}
    options["--shard"] = shard
    flags = "".join(flag for flag, is_given in ((" --full", full), (" --games-csv", csv)) if is_given)
    again = spell_command(f"experiment {path}{format_options(options)}{flags}")
    calls = CallSettings(timeout, wait, manager_port)
    results = play_experiment(planned, folder, again, jobs=jobs, on=on, shard=part, calls=calls)
    if part:
        print_remark(f"Shard {part} is finished in {folder}; `league experiment merge` makes one of all shards.")
        return
    finish_experiment(results, csv=csv)


def play_experiment(
    planned: "Experiment", folder: Path, again: str, *, quiet: bool = False, **settings: Any
) -> "ExperimentResults":
    """Play an experiment with its progress, unless `quiet`; if it is interrupted, `again` tells how to go on."""
    try:
        with divert_prints(), interrupt_on_sigterm(), show_game_progress(quiet=quiet) as watch:
            return planned.run(folder, watch=watch, remark=print_remark, **settings)
    except KeyboardInterrupt:
        print_remark(f"Interrupted: what is finished is in {folder}. To go on: {again}")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _merge(folders: list[str], out: Path | None, *, csv: bool, has_other_options: bool) -> None:
    from agent_league.lab.experiment.merge import merge_shards

    if has_other_options:
        raise UserError("merge plays nothing: leave --jobs, --on, --full and --shard out")
    if not folders or out is None:
        raise UserError("expected the folders of all shards and --out DIR: league experiment merge DIR... --out DIR")
    finish_experiment(merge_shards([Path(folder) for folder in folders], out), csv=csv)


def finish_experiment(results: "ExperimentResults", *, csv: bool) -> None:
    """Write the report and print what it says."""
    write_files(results, csv=csv)
    _print_summary(results.summary)


def write_files(results: "ExperimentResults", *, csv: bool) -> None:
    """Write the report, and with `csv` the rows, and say where they are."""
    from agent_league.ratings.numpy_import import import_numpy

    import_numpy()
    if csv:
        results.write_csv()
    results.write_report()
    files = "report.html and report.md with plots, games.sqlite with every game" + (", games.csv" if csv else "")
    print_remark(f"All of it is in {results.folder}: {files}, pairs.csv with who scored what against whom.")


@contextmanager
def show_game_progress(*, quiet: bool) -> "Iterator[ProgressListener]":
    """Show a bar and the time left on a terminal, else a line now and then; nothing if `quiet`."""
    latest: RunProgress | None = None
    drawn = reported = told = time.monotonic()

    def describe_time_left() -> str:
        """Count down from what was told last: the next piece may take a while."""
        if latest is None or latest.seconds_left is None:
            return ""
        return replace(latest, seconds_left=max(0.0, latest.seconds_left - (time.monotonic() - told))).time_left

    with show_progress_bar(quiet=quiet, describe_end=describe_time_left) as progress:
        task = progress.add_task("Games", total=None)

        def watch(now: "RunProgress") -> None:
            nonlocal drawn, reported, told, latest
            latest, told = now, time.monotonic()
            if progress.disable:
                if not quiet and told - reported >= REPORT_SECONDS:
                    reported = told
                    print_remark(f"{', '.join(filter(None, (f'{now.games} of {now.total} games', now.time_left)))}.")
            elif told - drawn >= REDRAW_SECONDS:
                drawn = told
                progress.update(task, completed=now.games, total=now.total)

        yield watch


def _print_summary(summary: "ExperimentSummary") -> None:
    """Print the tables of the only game, or of all together; those of each game are in the report."""
    from rich.console import Console

    from agent_league.lab.experiment.report import describe_summary, make_game_table

    console = Console(highlight=False)
    whole = summary.games[0] if len(summary.games) == 1 else summary.overall
    if len(summary.games) > 1 and (table := make_game_table(summary, console.width)):
        console.print(make_rich_table(table, title_style="table.title"))
    _print_game(console, whole)
    print_lines(console, describe_summary(summary))


def _print_game(console: "Console", part: "ScoreSummary") -> None:
    from agent_league.lab.experiment.report import describe_ratings
    from agent_league.lab.score_tables import RATING_SPARE, fit_names, make_cross_table, make_score_table

    width = console.width
    title = f"{part.game.label}: {part.board.games} games"
    tables = [make_score_table(part.board, part.rows, title, width)]
    if len(part.rows) > 2 and (cross := make_cross_table(part.board, part.rows, width)):
        tables.append(cross)
    if part.ratings:
        tables.append(fit_names(part.ratings.tabulate(), width, RATING_SPARE))
    for table in tables:
        console.print(make_rich_table(table, title_style="table.title"))
    print_lines(console, describe_ratings(part))
