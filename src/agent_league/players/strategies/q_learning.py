"""Tabular Q-learning; the state is the last round."""

from collections.abc import Sequence
from random import Random

from agent_league.players.observation import Observation
from agent_league.players.strategies.experience import Learner, Lesson, MovePair, game_seat_key, latest_round
from agent_league.players.strategies.table import MoveValue

RECALLED_TRIES = 50
DISCOUNT = 0.8
"""Discount factor of future rounds (gamma)."""


class QLearning(Learner):
    """Learns what each move is worth after each kind of round (tabular Q-learning), from league to league."""

    def __init__(self) -> None:
        super().__init__(RECALLED_TRIES)

    def situation_key(self, observation: Observation) -> str:
        return _state_key(game_seat_key(observation), latest_round(observation))

    def score_moves(self, known: list[MoveValue], dice: Random) -> Sequence[float]:
        """Score moves by their values; sometimes by 0, so that one is drawn at random, less often with more tries."""
        if dice.random() < 1 / (1 + sum(tried.count for tried in known)):
            return [0.0] * len(known)
        return [tried.value for tried in known]

    def add_lesson(self, lesson: Lesson) -> None:
        after = self._table.find_moves(_state_key(lesson.game_seat, lesson.round))
        future = 0.0 if lesson.is_last else max((one.value for one in after.values()), default=0.0)
        value = lesson.reward + DISCOUNT * future
        self._table.add_value(_state_key(lesson.game_seat, lesson.previous_round), lesson.round[0], value)


def _state_key(place: str, pair: MovePair | None) -> str:
    return f"{place} {pair!r}"
