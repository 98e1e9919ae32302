"""A multi-armed bandit (UCB1): learns which move pays best, whatever the opponent does."""

import math
from collections.abc import Sequence
from random import Random

from agent_league.players.observation import Observation
from agent_league.players.strategies.experience import Learner, Lesson, place
from agent_league.players.strategies.table import Tried

RECALLED = 200
CURIOSITY = 0.5
"""Weight of the UCB1 bonus for moves that were tried seldom."""


class Bandit(Learner):
    """Tries every move, then prefers the one that has paid best so far (UCB1); learns from league to league."""

    def __init__(self) -> None:
        super().__init__(RECALLED)

    def situation(self, observation: Observation) -> str:
        return place(observation)

    def worth(self, known: list[Tried], dice: Random) -> Sequence[float]:
        """Score each move by its mean reward, with a bonus for few tries."""
        tries = sum(tried.count for tried in known)
        return [tried.value + CURIOSITY * math.sqrt(math.log(tries) / tried.count) for tried in known]

    def take(self, lesson: Lesson) -> None:
        self._table.add(lesson.place, lesson.round[0], lesson.reward)
