"""`league simulate`: strategies against each other, many thousand times, and a table that says how sure it is."""

import secrets
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import orjson
import typer

from agent_league.cli import INTERRUPTED
from agent_league.cli.options import Param, parameters_of, put_out, say
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.lab.scoreboard import Scoreboard
    from agent_league.lab.statistics import Estimate
    from agent_league.lab.tally import Tally
    from agent_league.lab.tournament import Tournament
    from agent_league.lab.workers import Work

MOST_IN_A_MATRIX = 8
"""Of more players, only --json tells who did what against whom."""


def simulate(
    players: Annotated[
        str,
        typer.Option(
            help="The strategies that play, see `league strategies`; one may be named twice.", metavar="A,B..."
        ),
    ],
    game: Annotated[str, typer.Option(help="The game to play, see `league games`.", metavar="GAME")] = "even_odd",
    param: Param = None,
    rounds: Annotated[int, typer.Option(min=1, help="Games that each pair plays, sides alternating.")] = 1000,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same table, whatever --jobs is.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
    series: Annotated[
        int | None, typer.Option(min=1, help="Games after which a pair starts afresh (default: 1000).")
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Play whole leagues instead: manager, referee, players and every message."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Play strategies against each other, by the rules alone, and say who is better and how sure that is.

    A player remembers all games with an opponent in a series, and nothing of others; both start each series afresh, and
    series are spread over the processes. With --full each pair plays two games in every league, every match file is
    verified, and a player remembers its whole league. A strategy that fails or breaks the rules gets a random move,
    which is counted as a fault. Win rates have Wilson's 95% interval, payoffs Student's.
    """
    from agent_league.lab.full import leagues
    from agent_league.lab.tournament import SERIES, Tournament

    if full and series:
        raise UserError("--series: with --full every league is a series of its own")
    tournament = Tournament(
        game_type=game,
        strategies=tuple(name.strip() for name in players.split(",") if name.strip()),
        rounds=rounds,
        seed=seed if seed is not None else str(secrets.randbelow(10**9)),
        parameters=parameters_of(param),
        series=series or SERIES,
    )
    for remark in tournament.check():
        say(remark)
    board = tournament.scoreboard()
    started = time.perf_counter()
    with TemporaryDirectory(prefix="league-") as folder:
        work = leagues(tournament, Path(folder)) if full else tournament.plan()
        interrupted = not _played(work, jobs, board, _Bar(tournament.games, quiet=json))
    seconds = time.perf_counter() - started
    if json:
        told = {"full": full, "interrupted": interrupted, "seconds": round(seconds, 3)}
        put_out(orjson.dumps(_summary(tournament, board) | told | {"games_per_second": round(board.games / seconds)}))
    elif board.games:
        _show(tournament, board)
        say(f"{board.games} games in {seconds:.2f} s: {board.games / seconds:.0f} games a second.")
    if interrupted:
        say(f"Interrupted: {board.games} of {tournament.games} games were counted.")
        raise typer.Exit(INTERRUPTED)


def _played(work: "Iterable[Work]", jobs: int, board: "Scoreboard", bar: "_Bar") -> bool:
    """Plays all of it, or as much as there is until somebody interrupts; says whether it was all."""
    from agent_league.lab.workers import play_all

    try:
        with _polite_ending(), bar, closing(play_all(work, jobs)) as meetings:
            for meeting in meetings:
                board.add(meeting)
                bar.advance(meeting.games)
    except KeyboardInterrupt:
        return False
    return True


class _Bar:
    """How far it is, on stderr, for a person who watches."""

    def __init__(self, games: int, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()),
            console=Console(file=sys.stderr),  # this stream, whatever stands in for it later
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        )
        self._games = self._progress.add_task("Games", total=games)

    def __enter__(self) -> None:
        self._progress.start()

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, games: int) -> None:
        self._progress.advance(self._games, games)


def _show(tournament: "Tournament", board: "Scoreboard") -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_table(tournament, board))
    if 2 < len(board.names) <= MOST_IN_A_MATRIX:
        console.print(_matrix(board))


def _table(tournament: "Tournament", board: "Scoreboard") -> Any:
    from rich.table import Table

    faulty = any(row.tally.faults for row in board.rows())
    title = f"{tournament.game_type}: {tournament.rounds} games for each pair, seed {tournament.seed}"
    table = Table(title=title, title_justify="left", caption="In brackets: 95% intervals.", caption_justify="left")
    table.add_column("#")
    table.add_column("Player")
    worth = "Mean payoff" if board.by_payoff else "Points"
    for heading in ("Games", "W-D-L", "Win rate", worth, *(("Faults",) if faulty else ())):
        table.add_column(heading, justify="right")
    for row in board.rows():
        tally = row.tally
        counts = (str(tally.games), f"{tally.wins}-{tally.draws}-{tally.losses}")
        worth = _told(tally.mean_payoff, ".2f") if board.by_payoff else str(row.points)
        faults = (str(tally.faults),) if faulty else ()
        table.add_row(str(row.rank), row.name, *counts, _told(tally.win_rate, ".1%"), worth, *faults)
    return table


def _told(estimate: "Estimate | None", form: str) -> str:
    if estimate is None:
        return ""
    low, high = (f"{end:{form}}".rstrip("%") for end in (estimate.low, estimate.high))
    return f"{estimate.value:{form}} [{low}, {high}]"


def _matrix(board: "Scoreboard") -> Any:
    """What came of each line's player against each column's."""
    from rich.table import Table

    rows = board.rows()
    title = "Won-drawn-lost (and mean payoff) against" if board.by_payoff else "Won-drawn-lost against"
    table = Table(title=title, title_justify="left")
    table.add_column("Player")
    for row in rows:
        table.add_column(row.name, justify="right")
    for row in rows:
        table.add_row(row.name, *(_meeting(row.against.get(other.name)) for other in rows))
    return table


def _meeting(tally: "Tally | None") -> str:
    if tally is None:
        return ""
    paid = tally.mean_payoff
    return f"{tally.wins}-{tally.draws}-{tally.losses}" + (f" ({paid.value:.2f})" if paid else "")


def _summary(tournament: "Tournament", board: "Scoreboard") -> dict[str, Any]:
    return {
        "game": tournament.game_type,
        "parameters": dict(tournament.game.parameters),
        "rounds": tournament.rounds,
        "seed": tournament.seed,
        "ranked_by": "payoff" if board.by_payoff else "points",
        "games": board.games,
        "players": [
            {
                "rank": row.rank,
                "player": row.name,
                "points": row.points,
                **row.tally.as_dict(),
                "against": {name: tally.as_dict() for name, tally in row.against.items()},
            }
            for row in board.rows()
        ],
    }


@contextmanager
def _polite_ending() -> Iterator[None]:
    """A polite `kill` ends it as Ctrl-C does."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
