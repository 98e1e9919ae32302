"""`league simulate`: play strategies against each other many times; print a table with confidence intervals."""

import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
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
    make_rich_table,
    print_json,
    print_remark,
    show_progress_bar,
)
from agent_league.errors import UserError
from agent_league.ratings.tables import RankMethod
from agent_league.text import to_printable

if TYPE_CHECKING:
    from agent_league.lab.scoreboard import PairTallies, PlayerScore, Scoreboard
    from agent_league.lab.tournament import Tournament
    from agent_league.lab.tournament_ratings import TournamentRatings
    from agent_league.lab.workers import WorkItem
    from agent_league.model.tables import DataTable
    from agent_league.ratings.statistics import Estimate

MAX_MATRIX_PLAYERS = 8
"""With more players the head-to-head table is left out; `--json` has its numbers."""


def simulate(
    players: Annotated[
        str,
        typer.Option(
            help="The strategies that play, see `league strategies`; one may be named twice.", metavar="A,B..."
        ),
    ],
    game: Annotated[str, typer.Option(help="The game to play, see `league games`.", metavar="GAME")] = "even_odd",
    param: ParamOption = None,
    rounds: Annotated[int, typer.Option(min=1, help="Games that each pair plays, sides alternating.")] = 1000,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same table, whatever --jobs is.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
    series: Annotated[
        int | None, typer.Option(min=1, help="Games after which a pair starts afresh (default: as makes 20 series).")
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Play whole leagues instead: manager, referee, players and every message."),
    ] = False,
    rank: Annotated[
        RankMethod,
        typer.Option(help="How to rank beside the points; the last two are for games that go in circles."),
    ] = RankMethod.ELO,
    json: JsonOption = False,
) -> None:
    """Play strategies against each other, by the rules alone, and say who is better and how sure that is.

    A player remembers all games with an opponent in a series, and nothing of others; both start each series afresh, and
    series are spread over the processes. With --full each pair plays two games in every league, every match file is
    verified, and a player remembers its whole league. A strategy that fails or breaks the rules gets a random move,
    which is counted as a fault. 95% intervals are Student's over series (with --full over leagues), since games of one
    series hang together; those of win rates are never narrower than Wilson's over games. Ratings in Elo are one fit of
    all games, with intervals over series as well; by who had more, where amounts count.
    """
    from agent_league.lab.full_league import plan_leagues
    from agent_league.lab.tournament import Tournament

    if full and series:
        raise UserError("--series: with --full every league is a series of its own")
    chosen = load_requested_game(find_config(), game, parse_game_parameters(param))
    tournament = Tournament(
        game_type=chosen.game_type,
        strategies=tuple(name.strip() for name in players.split(",") if name.strip()),
        rounds=rounds,
        seed=require_utf8(seed, "--seed") if seed is not None else str(secrets.randbelow(10**9)),
        parameters=dict(chosen.parameters),
        series=series,
    )
    try:
        with divert_prints():
            remarks = tournament.check_players()
    except UserError as error:
        raise UserError(f"--players: {error}") from None
    for remark in remarks:
        print_remark(remark)
    board = tournament.make_scoreboard()
    started = time.perf_counter()
    with TemporaryDirectory(prefix="league-") as folder, divert_prints():
        work = plan_leagues(tournament, Path(folder)) if full else tournament.plan_series()
        interrupted = not _play_games(work, jobs, board, tournament.games, quiet=json)
    seconds = time.perf_counter() - started
    ratings = _rate_players(tournament, board, rank) if board.games else None
    if json:
        told = {"full": full, "interrupted": interrupted, "seconds": round(seconds, 3)}
        rated = ratings.to_json() if ratings else {}
        print_json(_summary_json(tournament, board) | rated | told | {"games_per_second": round(board.games / seconds)})
    elif ratings:
        _print_scoreboard(tournament, board, ratings)
        print_remark(f"{_games_text(board.games)} in {seconds:.2f} s: {board.games / seconds:.0f} games a second.")
    if interrupted:
        print_remark(f"Interrupted: {board.games} of {tournament.games} games were counted.")
        raise typer.Exit(EXIT_INTERRUPTED)


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

    console = Console(highlight=False)
    console.print(make_rich_table(_scoreboard_table(tournament, board), title_style="table.title"))
    if 2 < len(board.names) <= MAX_MATRIX_PLAYERS:
        console.print(make_rich_table(_head_to_head_table(board), title_style="table.title"))
    console.print(make_rich_table(ratings.tabulate(), title_style="table.title"))
    if board.by_payoff:
        console.print("Ratings count who had more in a game; the first table how much.")
    for sentence in (*ratings.describe(), *_describe_problems(board)):
        console.print(to_printable(sentence), markup=False)


def _describe_problems(board: "Scoreboard") -> Iterator[str]:
    """List faults and changed game states, which make the table less trustworthy."""
    for name, fault in board.first_faults.items():
        yield f"{name}: the first fault: {fault}."
    for one, other in sorted(board.spoiled_pairs):
        yield f"{one} or {other} changed the game's state instead of playing: what came of their games means nothing."


def _scoreboard_table(tournament: "Tournament", board: "Scoreboard") -> "DataTable":
    from agent_league.model.tables import DataTable

    rows = board.rows()
    faulty = any(row.total.tally.faults for row in rows)
    caption = "In brackets: 95% intervals."
    if any(row.total.series == 1 for row in rows):
        caption += " A pair's only series tells nothing of others: they take games as independent."
    worth = ">Mean payoff" if board.by_payoff else ">Points"
    cells = []
    for row in rows:
        tally = row.total.tally
        if not tally.games:
            cells.append(("-", row.name, 0, *["-"] * (3 + faulty)))
            continue
        counts = (
            tally.games,
            f"{tally.wins}-{tally.draws}-{tally.losses}",
            _format_estimate(row.total.win_rate, ".1%"),
        )
        value = _format_estimate(row.total.mean_payoff, ".2f") if board.by_payoff else row.points
        cells.append((row.rank, row.name, *counts, value, *([tally.faults] if faulty else [])))
    return DataTable(
        ("#", "Player", ">Games", ">W-D-L", ">Win rate", worth, *([">Faults"] if faulty else [])),
        cells,
        f"{tournament.game_type}: {_games_text(tournament.rounds)} for each pair, seed {tournament.seed}",
        caption,
    )


def _games_text(number: int) -> str:
    return "1 game" if number == 1 else f"{number} games"


def _format_estimate(estimate: "Estimate | None", form: str) -> str:
    if estimate is None:
        return ""
    if not isfinite(estimate.low):
        return f"{estimate.value:{form}}"
    low, high = (f"{end:{form}}".rstrip("%") for end in (estimate.low, estimate.high))
    return f"{estimate.value:{form}} [{low}, {high}]"


def _head_to_head_table(board: "Scoreboard") -> "DataTable":
    """Make the head-to-head table: the row's player against the column's."""
    from agent_league.model.tables import DataTable

    rows = board.rows()
    title = "Won-drawn-lost (and mean payoff) against" if board.by_payoff else "Won-drawn-lost against"
    cells = [(row.name, *(_format_meeting(row.against.get(other.name)) for other in rows)) for row in rows]
    return DataTable(("Player", *(f">{row.name}" for row in rows)), cells, title)


def _format_meeting(score: "PlayerScore | None") -> str:
    if score is None:
        return ""
    tally, paid = score.tally, score.mean_payoff
    return f"{tally.wins}-{tally.draws}-{tally.losses}" + (f" ({paid.value:.2f})" if paid else "")


def _summary_json(tournament: "Tournament", board: "Scoreboard") -> dict[str, Any]:
    return {
        "game": tournament.game_type,
        "parameters": dict(tournament.game.parameters),
        "rounds": tournament.rounds,
        "seed": tournament.seed,
        **board.to_json(),
    }
