"""Tables of a scoreboard that fit a terminal: scores by player, and who scored what against whom.

Simulations and experiments show the same ones. Pure: a board in, tables out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from agent_league.lab.scoreboard import PlayerScore, Scoreboard, ScoreboardRow
from agent_league.model.tables import DataTable
from agent_league.ratings.statistics import Estimate, adjust_p_values, binomial_p_value
from agent_league.text import shorten_apart

LEVEL = 0.05
LEAST_NAME = 12
"""Characters of a name that a table must have room for."""
RATING_SPARE = ("Games", "To separate")
"""Columns of a table of ratings that are left out where there is no room."""
ONE_SERIES = " A pair's only series tells nothing of others: they take games as independent."
CROSS_EXPLAINED = (
    "Points in percent against the player of that number, a draw being half a win; *: significantly ahead."
)
PAIR_COLUMNS = (
    *("player", "opponent", ">games", ">wins", ">draws", ">losses", ">score", ">win_rate", ">win_rate_low"),
    *(">win_rate_high", ">mean_payoff", ">p_value", ">p_value_holm", "significant"),
)


@dataclass(frozen=True, slots=True)
class PairScore:
    """What a player scored against an opponent, and whether that is more than luck."""

    player: str
    opponent: str
    score: PlayerScore
    p_value: float
    """Of wins against losses, by the binomial test."""
    adjusted_p_value: float
    """The same, after Holm for all pairs of the board."""
    is_ahead: bool
    """Whether the player is significantly ahead, from game to game and from series to series."""

    @property
    def share(self) -> float:
        """The points a game, a draw being half a win."""
        tally = self.score.tally
        return (tally.wins + tally.draws / 2) / tally.games if tally.games else 0.5


def list_pair_scores(board: Scoreboard, rows: Sequence[ScoreboardRow]) -> dict[tuple[str, str], PairScore]:
    """Score every pair from both sides, by player and opponent."""
    scores = {(row.name, name): score for row in rows for name, score in row.against.items() if score.tally.games}
    once = [pair for pair in scores if (pair[1], pair[0]) not in scores or pair[0] < pair[1]]
    tallies = [scores[pair].tally for pair in once]
    p_values = [binomial_p_value(tally.wins, tally.wins + tally.losses) for tally in tallies]
    adjusted = dict(zip(once, zip(p_values, adjust_p_values(p_values), strict=True), strict=True))
    found = {}
    for (player, opponent), score in scores.items():
        p_value, holm = adjusted.get((player, opponent)) or adjusted[opponent, player]
        ahead = holm <= LEVEL and score.tally.wins > score.tally.losses and board.is_ahead(player, opponent)
        found[player, opponent] = PairScore(player, opponent, score, p_value, holm, ahead)
    return found


def make_score_table(
    board: Scoreboard, rows: Sequence[ScoreboardRow], title: str, width: int | None = None
) -> DataTable:
    """Make the table of all players; if it doesn't fit `width`, as `fit_names` makes it."""
    faulty = any(row.total.tally.faults for row in rows)
    caption = "In brackets: 95% intervals."
    if any(row.total.series == 1 for row in rows):
        caption += ONE_SERIES
    worth = ">Mean payoff" if board.by_payoff else ">Points"
    cells = []
    for row in rows:
        tally = row.total.tally
        if not tally.games:
            cells.append(("-", row.name, 0, *["-"] * (3 + faulty)))
            continue
        counts = (tally.games, f"{tally.wins}-{tally.draws}-{tally.losses}", format_estimate(row.total.win_rate, ".1%"))
        value = format_estimate(row.total.mean_payoff, ".2f") if board.by_payoff else row.points
        cells.append((row.rank, row.name, *counts, value, *([tally.faults] if faulty else [])))
    columns = ("#", "Player", ">Games", ">W-D-L", ">Win rate", worth, *([">Faults"] if faulty else []))
    whole = DataTable(columns, cells, title, caption)
    return whole if width is None else fit_names(whole, width, spare=("Games", "W-D-L"))


def make_cross_table(board: Scoreboard, rows: Sequence[ScoreboardRow], width: int | None = None) -> DataTable | None:
    """Make the table of who scored what against whom, the row's player against the column's.

    With all results if these fit `width`, else in percent with the players' places in the table as columns; None if
    that doesn't fit either.
    """
    title = "Won-drawn-lost (and mean payoff) against" if board.by_payoff else "Won-drawn-lost against"
    cells = [(row.name, *(_format_meeting(row.against.get(other.name)) for other in rows)) for row in rows]
    whole = DataTable(("Player", *(f">{row.name}" for row in rows)), cells, title)
    if width is None or whole.measure_width() <= width:
        return whole
    pairs = list_pair_scores(board, rows)
    short = [
        (place, row.name, *(_format_share(pairs.get((row.name, other.name))) for other in rows))
        for place, row in enumerate(rows, 1)
    ]
    columns = (">#", "Player", *(f">{place}" for place in range(1, len(rows) + 1)))
    table = DataTable(columns, short, "Points in percent against number", CROSS_EXPLAINED)
    fitted = fit_names(table, width)
    return fitted if fitted.measure_width() <= width else None


def make_pair_table(board: Scoreboard, rows: Sequence[ScoreboardRow]) -> DataTable:
    """Make a long table for files: a line for each player and opponent, with all numbers."""
    cells = []
    for pair in list_pair_scores(board, rows).values():
        tally, won, paid = pair.score.tally, pair.score.win_rate, pair.score.mean_payoff
        cells.append(
            (
                *(pair.player, pair.opponent, tally.games, tally.wins, tally.draws, tally.losses, round(pair.share, 6)),
                *(round(won.value, 6), round(won.low, 6), round(won.high, 6), round(paid.value, 6) if paid else None),
                *(
                    float(f"{pair.p_value:.6g}"),
                    float(f"{pair.adjusted_p_value:.6g}"),
                    "yes" if pair.is_ahead else "no",
                ),
            )
        )
    return DataTable(PAIR_COLUMNS, cells)


def fit_names(table: DataTable, width: int, spare: Sequence[str] = ()) -> DataTable:
    """Fit a table by cutting the column `Player`, so that names stay different from each other.

    The first column of `spare` is left out before a name is cut, the others only where names have no room at all.
    """
    longest = max((len(str(row[table.headings.index("Player")])) for row in table.rows), default=0)
    least = min(LEAST_NAME, longest)
    for place, heading in enumerate(spare):
        if table.measure_width() - (longest - least if place else 0) > width:
            table = table.without_column(heading)
    at = table.headings.index("Player")
    room = max(least, longest - max(0, table.measure_width() - width))
    names = shorten_apart([str(row[at]) for row in table.rows], room)
    rows = [[*row[:at], name, *row[at + 1 :]] for row, name in zip(table.rows, names, strict=True)]
    return DataTable(table.columns, rows, table.title, table.caption)


def format_estimate(estimate: Estimate | None, form: str) -> str:
    """Format a value with its interval: 49.3% [48.1, 50.5]."""
    if estimate is None:
        return ""
    if not isfinite(estimate.low):
        return f"{estimate.value:{form}}"
    low, high = (f"{end:{form}}".rstrip("%") for end in (estimate.low, estimate.high))
    return f"{estimate.value:{form}} [{low}, {high}]"


def _format_meeting(score: PlayerScore | None) -> str:
    if score is None:
        return ""
    tally, paid = score.tally, score.mean_payoff
    return f"{tally.wins}-{tally.draws}-{tally.losses}" + (f" ({paid.value:.2f})" if paid else "")


def _format_share(pair: PairScore | None) -> str:
    return "" if pair is None else f"{100 * pair.share:.0f}{'*' if pair.is_ahead else ''}"
