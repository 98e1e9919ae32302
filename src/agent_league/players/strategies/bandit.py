"""A multi-armed bandit (UCB1): learns which move pays best, whatever the opponent does."""

import math
from collections.abc import Sequence
from random import Random

from agent_league.players.observation import Observation
from agent_league.players.strategies.experience import Learner, Lesson, game_seat_key
from agent_league.players.strategies.table import MoveValue

RECALLED_TRIES = 200
EXPLORATION = 0.5
"""Weight of the UCB1 bonus for moves that were tried seldom."""


class Bandit(Learner):
    """Tries every move, then prefers the one that has paid best so far (UCB1); learns from league to league."""

    def __init__(self) -> None:
        super().__init__(RECALLED_TRIES)

    def situation_key(self, observation: Observation) -> str:
        return game_seat_key(observation)

    def score_moves(self, known: list[MoveValue], dice: Random) -> Sequence[float]:
        """Score each move by its mean reward, with a bonus for few tries."""
        tries = sum(tried.count for tried in known)
        return [tried.value + EXPLORATION * math.sqrt(math.log(tries) / tried.count) for tried in known]

    def add_lesson(self, lesson: Lesson) -> None:
        self._table.add_value(lesson.game_seat, lesson.round[0], lesson.reward)
