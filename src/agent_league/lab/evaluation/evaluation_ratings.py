"""Ratings of an evaluation: the player and its opponents in one fit, with intervals over blocks of games.

It loads numpy: import it when a report is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_league.games.registry import seats_differ
from agent_league.lab.evaluation.model import Evaluation, GameEnding
from agent_league.model.tables import DataTable
from agent_league.ratings.bradley_terry import bootstrap_ratings, fit_ratings
from agent_league.ratings.rating_words import describe_seat_advantage, describe_ties, format_rating, tabulate_ratings
from agent_league.ratings.results import ResultTable
from agent_league.ratings.tables import RatingTable, ResultRow

POINTS = {
    GameEnding.WIN: 1.0,
    GameEnding.DRAW: 0.5,
    GameEnding.LOSS: 0.0,
    GameEnding.TECHNICAL_LOSS: 0.0,
}
"""What a game is worth to the player; one that its opponent failed says nothing."""


@dataclass(frozen=True, slots=True)
class EvaluationRatings:
    """The ratings of a player and its opponents."""

    player: str
    table: RatingTable
    without_technical_losses: RatingTable | None
    """None if there was no technical loss, or nothing else."""

    def tabulate(self) -> DataTable:
        """Make the table of all results."""
        return tabulate_ratings(self.table)

    def describe(self) -> Iterator[str]:
        """Yield the sentences below the table."""
        if self.without_technical_losses:
            own = self.without_technical_losses.by_player()[self.player]
            yield f"Without its technical losses {self.player} would be at {format_rating(own)}."
        yield from describe_ties(self.table)
        yield from map(describe_seat_advantage, self.table.seat_advantages)

    def to_json(self) -> dict[str, Any]:
        """Return the tables as JSON."""
        without = self.without_technical_losses
        return {**self.table.to_json(), "without_technical_losses": without.to_json() if without else None}


def rate_evaluation(evaluation: Evaluation) -> EvaluationRatings | None:
    """Rate the player and its opponents; None without games."""
    player = evaluation.player
    rows = list(_list_results(evaluation))
    if not rows:
        return None
    differing = [evaluation.game_type] if seats_differ(evaluation.game_type) else []

    def rate(results: ResultTable) -> RatingTable:
        try:
            return bootstrap_ratings(results, seats_differ=differing)
        except ValueError:  # too few games for two blocks
            return fit_ratings(results, seats_differ=differing)

    proper = [row for row in rows if not row.is_technical]
    without = rate(ResultTable.from_rows(proper)) if 0 < len(proper) < len(rows) else None
    if without and player not in without.by_player():
        without = None
    return EvaluationRatings(player, rate(ResultTable.from_rows(rows)), without)


def _list_results(evaluation: Evaluation) -> Iterator[ResultRow]:
    """Yield the results; each block of an opponent's games is a series."""
    player, number = evaluation.player, 0
    for series in evaluation.series:
        opponent = series.opponent if series.opponent != player else f"{player} as opponent"
        for block in series.blocks:
            number += 1
            for game in block:
                points, is_technical = POINTS[game.ending], game.ending is GameEnding.TECHNICAL_LOSS
                one, other = (player, opponent) if game.seat == 0 else (opponent, player)
                score = points if game.seat == 0 else 1 - points
                yield ResultRow(one, other, score, 1, evaluation.game_type, number, is_technical)
