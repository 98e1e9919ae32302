"""Ratings of an evaluation: those of an experiment's scoreboard, and once more without technical losses.

It loads numpy: import it when a report is written.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.games.registry import find_game_title
from agent_league.lab.evaluation.model import Evaluation, GameEnding, PracticeGame, tally_games
from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard
from agent_league.lab.tournament_ratings import rate_tournament
from agent_league.model.tables import DataTable
from agent_league.ratings.rating_words import describe_seat_advantages, describe_ties, format_rating, tabulate_ratings
from agent_league.ratings.tables import RatingTable


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
        yield from describe_seat_advantages(self.table, find_game_title)

    def to_json(self) -> dict[str, Any]:
        """Return the tables as JSON."""
        without = self.without_technical_losses
        return {**self.table.to_json(), "without_technical_losses": without.to_json() if without else None}


def rate_evaluation(evaluation: Evaluation) -> EvaluationRatings | None:
    """Rate the player and its opponents; None without games."""
    board = _make_board(evaluation)
    if not board.games:
        return None
    table = rate_tournament(board, evaluation.game_type).table
    proper = _make_board(evaluation, has_technical_losses=False)
    has_both = 0 < proper.games < board.games
    return EvaluationRatings(
        evaluation.player, table, rate_tournament(proper, evaluation.game_type).table if has_both else None
    )


def _make_board(evaluation: Evaluation, *, has_technical_losses: bool = True) -> Scoreboard:
    """Count the games by opponent and seed; those that the opponent failed say nothing."""
    played = [series for series in evaluation.series if series.valid_games]
    own = evaluation.player
    names = [f"{own} as opponent" if series.opponent == own else series.opponent for series in played]
    board = Scoreboard((own, *names), by_payoff=False)
    for place, series in enumerate(played, 1):
        for number, meeting in enumerate(series.meetings):
            kept = [one for one in meeting if has_technical_losses or one.ending is not GameEnding.TECHNICAL_LOSS]
            board.add_tallies(_tally_meeting((0, place), number, kept))
    return board


def _tally_meeting(pair: tuple[int, int], number: int, games: Sequence[PracticeGame]) -> PairTallies:
    own = tally_games(games)
    other = GameTally(own.losses, own.draws, own.wins)
    return PairTallies(pair, number, (own, other), first_seat=tally_games([one for one in games if one.seat == 0]))
