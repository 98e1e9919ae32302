"""Ratings of a simulated tournament: with intervals over series, as players learn within one, and other rankings.

It loads numpy: import it when a tournament is over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.games.registry import find_game_title, game_types, seats_differ
from agent_league.lab.scoreboard import Scoreboard
from agent_league.model.tables import DataTable
from agent_league.ratings.bradley_terry import bootstrap_ratings, fit_ratings
from agent_league.ratings.equilibrium import (
    Equilibrium,
    compute_win_matrix,
    rank_by_alpha_rank,
    rank_by_nash_averaging,
)
from agent_league.ratings.luck import LuckTest, check_luck
from agent_league.ratings.rating_words import describe_ratings, describe_seat_advantages, tabulate_ratings
from agent_league.ratings.results import ResultTable
from agent_league.ratings.statistics import binomial_p_value
from agent_league.ratings.tables import RankMethod, RatingTable, ResultRow
from agent_league.ratings.transitivity import LEVEL, Transitivity, check_transitivity, is_luck_credible

RANK_HINT = "`--rank nash` and `--rank alpha-rank` rank by who beats whom."
RANKING_HINT = '`ranking = "nash"` and `ranking = "alpha-rank"` rank by who beats whom.'
"""The same where the ranking is a setting of a file or of Python, and no option."""
FAR_OFF = 0.05
"""So far from expectation, in points a game, a pair's score is worth a sentence; thousands of games show less, too."""

LEAST_SAMPLES, MOST_SAMPLES, MOST_ROWS = 50, 200, 5_000_000
"""Of a bootstrap: with many players it takes fewer samples, which makes intervals 5% more uncertain."""

EQUILIBRIUM_WORDS = {
    RankMethod.ALPHA_RANK: (
        "Alpha-rank",
        "Share: the time that a population spends with a player if it now and then takes up one that beats it.",
    ),
    RankMethod.NASH: (
        "Nash averaging",
        "Share: the part in the most even mix of players that nobody scores more than half against.",
    ),
}


@dataclass(frozen=True, slots=True)
class TournamentRatings:
    """How the players of a tournament are ranked, and what is to be said about it."""

    table: RatingTable
    transitivity: Transitivity | None
    """None if there are fewer than three players."""
    is_misleading: bool
    """Whether one number a player misleads: results go in circles, also from series to series, or a pair's score is far
    from what the ratings expect."""
    luck: LuckTest | None
    """None if nothing was decided, or it would call luck what one number a player doesn't describe."""
    method: RankMethod
    equilibrium: Equilibrium | None
    """None if the players are ranked by Elo."""
    uneven_pairs: tuple[int, int]
    """How many pairs have significantly uneven results, and how many pairs there are."""
    is_of_experiment: bool = False
    """Whether what to change is a setting of an experiment, rather than an option of `league simulate`."""

    def tabulate(self) -> DataTable:
        """Make the table that was asked for."""
        if self.equilibrium is None:
            return tabulate_ratings(self.table)
        title, explained = EQUILIBRIUM_WORDS[self.method]
        rows = [(one.player_id, f"{one.share:.1%}", f"{one.score:.1%}") for one in self.equilibrium.shares]
        return DataTable(("Player", ">Share", ">Score against the mix"), rows, title, explained)

    def describe(self) -> Iterator[str]:
        """Yield the sentences below the table."""
        if self.is_misleading and self.transitivity:  # what ratings say of ties and luck isn't worth telling then
            yield self.transitivity.describe()
            yield from describe_seat_advantages(self.table, _title_game)
        elif self.equilibrium is None:
            yield from describe_ratings(self.table, luck=self.luck, title_game=_title_game)
        uneven, pairs = self.uneven_pairs
        if self.equilibrium is None:
            if self.is_misleading:
                yield RANKING_HINT if self.is_of_experiment else RANK_HINT
        elif uneven < pairs:
            more = "seeds" if self.is_of_experiment else "--games"
            yield (
                f"In {pairs - uneven} of {pairs} pairs nobody is significantly ahead, and shares follow from who is:"
                f" more {more} may change them."
            )

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "ratings": self.table.to_json(),
            "transitivity": self.transitivity.to_json() if self.transitivity else None,
            "is_misleading": self.is_misleading,
            "luck": self.luck.to_json() if self.luck else None,
            "rank": str(self.method),
            "equilibrium": self.equilibrium.to_json() if self.equilibrium else None,
            "rating_sentences": list(self.describe()),
        }


def _title_game(label: str) -> str:
    """Return a game's title; a label that an experiment's file gives it stays as it is."""
    return find_game_title(label) if label in game_types() else label


def rate_tournament(board: Scoreboard, game_type: str, method: RankMethod = RankMethod.ELO) -> TournamentRatings:
    """Rate the players of a board; the intervals allow for games of one series that depend on each other."""
    return rate_results(
        list(board.list_results(game_type)), board, [game_type] if seats_differ(game_type) else [], method
    )


def rate_results(
    rows: Sequence[ResultRow],
    board: Scoreboard,
    differing: Sequence[str],
    method: RankMethod,
    *,
    is_of_experiment: bool = False,
) -> TournamentRatings:
    """Rate players by the results of one or several games; `differing` are games whose seats do, `board` has all."""
    results = ResultTable.from_rows(rows, board.names)
    samples = max(LEAST_SAMPLES, min(MOST_SAMPLES, MOST_ROWS // max(1, len(rows))))
    try:
        table = bootstrap_ratings(results, seats_differ=differing, samples=samples)
    except ValueError:  # somebody has no second series
        table = fit_ratings(results, seats_differ=differing)
    transitivity = check_transitivity(results, seats_differ=differing) if len(board.names) > 2 and rows else None
    decided = any(row.score != 0.5 for row in rows)
    luck = check_luck(results, seats_differ=differing) if decided else None
    return TournamentRatings(
        table=table,
        transitivity=transitivity,
        is_misleading=transitivity is not None and _is_misleading(transitivity, board),
        luck=luck if is_luck_credible(luck, transitivity) else None,
        method=method,
        equilibrium=_find_equilibrium(results, method),
        uneven_pairs=_count_uneven_pairs(board),
        is_of_experiment=is_of_experiment,
    )


def _is_misleading(transitivity: Transitivity, board: Scoreboard) -> bool:
    if transitivity.goes_in_circles and transitivity.cycle:
        return all(board.is_ahead(one.player_id, one.opponent_id) for one in transitivity.cycle.scores)
    worst = transitivity.worst_pair
    if transitivity.is_described_by_ratings or worst is None:
        return False
    return abs(worst.points - worst.expected) > FAR_OFF * worst.games


def _find_equilibrium(results: ResultTable, method: RankMethod) -> Equilibrium | None:
    if method is RankMethod.ELO:
        return None
    rank = rank_by_alpha_rank if method is RankMethod.ALPHA_RANK else rank_by_nash_averaging
    return rank(results.players, compute_win_matrix(results))


def _count_uneven_pairs(board: Scoreboard) -> tuple[int, int]:
    tallies = [score.tally for row in board.rows() for name, score in row.against.items() if row.name < name]
    uneven = sum(binomial_p_value(one.wins, one.wins + one.losses) <= LEVEL for one in tallies)
    return uneven, len(tallies)
