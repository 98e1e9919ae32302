"""`league simulate`: play strategies against each other many times; print a table with confidence intervals."""

import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    JsonOption,
    ParamOption,
    find_config,
    interrupt_on_sigterm,
    load_requested_game,
    parse_game_parameters,
    require_utf8,
)
from agent_league.cli.terminal import (
    EXIT_INTERRUPTED,
    divert_prints,
    format_options,
    make_rich_table,
    print_json,
    print_remark,
    show_progress_bar,
    write_output,
)
from agent_league.errors import UserError
from agent_league.ratings.tables import RankMethod
from agent_league.text import to_printable

if TYPE_CHECKING:
    from agent_league.lab.scoreboard import PairTallies, Scoreboard
    from agent_league.lab.tournament import Tournament
    from agent_league.lab.tournament_ratings import TournamentRatings
    from agent_league.lab.workers import WorkItem


def simulate(
    players: Annotated[
        str,
        typer.Option(
            "--strategy",
            help="The strategies that play, see `league strategies`; one may be named twice.",
            metavar="A,B...",
        ),
    ],
    game: Annotated[str, typer.Option(help="The game to play, see `league games`.", metavar="GAME")] = "even_odd",
    param: ParamOption = None,
    rounds: Annotated[
        int, typer.Option("--games", min=1, help="Games that each pair plays, sides alternating.")
    ] = 1000,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same table, whatever --jobs is.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
    series: Annotated[
        int | None, typer.Option(min=1, help="Games after which a pair starts afresh (default: as makes 20 series).")
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Every series is a whole league over HTTP: manager, referee and both players."),
    ] = False,
    rank: Annotated[
        RankMethod,
        typer.Option(help="How to rank beside the points; the last two are for games that go in circles."),
    ] = RankMethod.ELO,
    csv: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write who scored what against whom; - is stdout.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write every game and a report there, as `league experiment` does."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Play strategies against each other, by the rules alone, and say who is better and how sure that is.

    A player remembers all games with an opponent in a series, and nothing of others; both start each series afresh, and
    series are spread over the processes. With --full every series is a league of the two over HTTP, and every match
    file is verified. A strategy that fails or breaks the rules gets a random move, which is counted as a fault. 95%
    intervals are Student's over series, since games of one series hang together; those of win rates are never narrower
    than Wilson's over games. Ratings in Elo are one fit of all games, with intervals over series as well; by who had
    more, where amounts count.
    """
    from agent_league.lab.tournament import Tournament

    chosen = load_requested_game(find_config(), game, parse_game_parameters(param))
    tournament = Tournament(
        game_type=chosen.game_type,
        strategies=tuple(name.strip() for name in players.split(",") if name.strip()),
        rounds=rounds,
        seed=require_utf8(seed, "--seed") if seed is not None else str(secrets.randbelow(10**9)),
        parameters=dict(chosen.parameters),
        series=series,
        full=full,
    )
    try:
        with divert_prints():
            remarks = tournament.check_players()
    except UserError as error:
        raise UserError(f"--{error}" if str(error).startswith("series: ") else f"--strategy: {error}") from None
    for remark in remarks:
        print_remark(remark)
    started = time.perf_counter()
    if out:
        board, interrupted = _write_games(tournament, out, jobs, rank, quiet=json), False
    else:
        board = tournament.make_scoreboard()
        with divert_prints():
            interrupted = not _play_games(tournament.plan_series(), jobs, board, tournament.games, quiet=json)
    seconds = time.perf_counter() - started
    ratings = _rate_players(tournament, board, rank) if board.games else None
    if json:
        told = {"full": full, "interrupted": interrupted, "seconds": round(seconds, 3)}
        rated = ratings.to_json() if ratings else {}
        print_json(_summary_json(tournament, board) | rated | told | {"games_per_second": round(board.games / seconds)})
    elif ratings:
        _print_scoreboard(tournament, board, ratings)
        print_remark(f"{_games_text(board.games)} in {seconds:.2f} s: {board.games / seconds:.0f} games a second.")
    if csv:
        from agent_league.lab.score_tables import make_pair_table

        write_output(csv, make_pair_table(board, board.rows()).to_csv().encode())
    if interrupted:
        print_remark(f"Interrupted: {board.games} of {tournament.games} games were counted.")
        raise typer.Exit(EXIT_INTERRUPTED)


def _write_games(tournament: "Tournament", out: Path, jobs: int, rank: RankMethod, *, quiet: bool) -> "Scoreboard":
    """Play the same games as an experiment, which writes every one down, and return what its rows add up to."""
    from agent_league.cli.experiment import play_experiment, write_files
    from agent_league.lab.experiment.experiment import Experiment

    settings = tournament.to_experiment()
    name = f"{tournament.game_type}, seed {tournament.seed}"
    with divert_prints():
        planned = Experiment(**settings, name=name, ranking=str(rank))
    again = f"the same command, with{format_options({'--seed': tournament.seed})}"
    results = play_experiment(planned, out, again, quiet=quiet, jobs=jobs)
    write_files(results, csv=True)
    return results.summary.games[0].board


def _play_games(
    work: "Iterable[WorkItem[PairTallies]]", jobs: int, board: "Scoreboard", games: int, *, quiet: bool
) -> bool:
    """Play all games and count them on the board; False if interrupted before the last."""
    from agent_league.lab.workers import run_all

    try:
        with (
            interrupt_on_sigterm(),
            show_progress_bar(quiet=quiet) as progress,
            closing(run_all(work, jobs)) as meetings,
        ):
            task = progress.add_task("Games", total=games)
            for meeting in meetings:
                board.add_tallies(meeting)
                progress.advance(task, meeting.games)
    except KeyboardInterrupt:
        return False
    return True


def _rate_players(tournament: "Tournament", board: "Scoreboard", method: RankMethod) -> "TournamentRatings":
    from agent_league.ratings.numpy_import import import_numpy

    import_numpy()
    from agent_league.lab.tournament_ratings import rate_tournament

    return rate_tournament(board, tournament.game_type, method)


def _print_scoreboard(tournament: "Tournament", board: "Scoreboard", ratings: "TournamentRatings") -> None:
    from rich.console import Console

    from agent_league.lab.score_tables import RATING_SPARE, fit_names, make_cross_table, make_score_table

    console = Console(highlight=False)
    rows, width = board.rows(), console.width
    title = f"{tournament.game_type}: {_games_text(tournament.rounds)} for each pair, seed {tournament.seed}"
    cross = make_cross_table(board, rows, width) if len(rows) > 2 else None
    for table in (
        make_score_table(board, rows, title, width),
        cross,
        fit_names(ratings.tabulate(), width, RATING_SPARE),
    ):
        if table:
            console.print(make_rich_table(table, title_style="table.title"))
    if len(rows) > 2 and cross is None:
        print_remark(f"Who scored what against whom doesn't fit {width} columns; --json and --csv FILE tell it.")
    if board.by_payoff:
        console.print("Ratings count who had more in a game; the first table how much.")
    for sentence in (*ratings.describe(), *_describe_problems(board)):
        console.print(to_printable(sentence), markup=False)


def _describe_problems(board: "Scoreboard") -> Iterator[str]:
    """List faults and changed game states, which make the table less trustworthy."""
    faults = {row.name: row.total.tally.faults for row in board.rows()}
    for name, fault in board.first_faults.items():
        yield f"{name} failed or broke the rules {faults[name]} times; random moves stand for it there. First: {fault}."
    for one, other in sorted(board.spoiled_pairs):
        yield f"{one} or {other} changed the game's state instead of playing: what came of their games means nothing."


def _games_text(number: int) -> str:
    return "1 game" if number == 1 else f"{number} games"


def _summary_json(tournament: "Tournament", board: "Scoreboard") -> dict[str, Any]:
    return {
        "game": tournament.game_type,
        "parameters": dict(tournament.game.parameters),
        "rounds": tournament.rounds,
        "seed": tournament.seed,
        **board.to_json(),
    }
