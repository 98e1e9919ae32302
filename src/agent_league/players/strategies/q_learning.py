"""Tabular Q-learning; the state is the last round."""

from collections.abc import Sequence
from random import Random

from agent_league.players.observation import Observation
from agent_league.players.strategies.experience import Learner, Lesson, Pair, place, situation
from agent_league.players.strategies.table import Tried

RECALLED = 50
PATIENCE = 0.8
"""Discount factor of future rounds (gamma)."""


class QLearning(Learner):
    """Learns what each move is worth after each kind of round (tabular Q-learning), from league to league."""

    def __init__(self) -> None:
        super().__init__(RECALLED)

    def situation(self, observation: Observation) -> str:
        return _state(place(observation), situation(observation))

    def worth(self, known: list[Tried], dice: Random) -> Sequence[float]:
        """Score moves by their values; sometimes by 0, so that one is drawn at random, less often with more tries."""
        if dice.random() < 1 / (1 + sum(tried.count for tried in known)):
            return [0.0] * len(known)
        return [tried.value for tried in known]

    def take(self, lesson: Lesson) -> None:
        after = self._table.tried(_state(lesson.place, lesson.round))
        future = 0.0 if lesson.last else max((one.value for one in after.values()), default=0.0)
        value = lesson.reward + PATIENCE * future
        self._table.add(_state(lesson.place, lesson.before), lesson.round[0], value)


def _state(place: str, pair: Pair | None) -> str:
    return f"{place} {pair!r}"
