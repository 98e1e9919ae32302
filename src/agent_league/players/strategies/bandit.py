"""Which of the own moves pays, whatever the opponent does."""

import math
from typing import Any

from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.strategies.experience import Experience, Lesson, place
from agent_league.players.strategies.table import MOST_MOVES, Table, Tried, name_of

RECALLED = 200
CURIOSITY = 0.5
"""How much a move gains by having been tried seldom."""


class Bandit:
    """Tries every move, then prefers the one that has paid best so far (UCB1); learns from league to league."""

    instant = True

    def __init__(self) -> None:
        self._experience = Experience()
        self._table = Table(RECALLED)

    def choose(self, observation: Observation) -> Move:
        self._take(self._experience.news(observation))
        legal = observation.legal_moves
        if len(legal) > MOST_MOVES:
            return observation.random.choice(legal)
        tried = self._table.tried(place(observation))
        names = [name_of(move) for move in legal]
        untried = [move for move, name in zip(legal, names, strict=True) if name not in tried]
        if untried:
            return observation.random.choice(untried)
        tries = sum(tried[name].count for name in names)
        hopes = [_hope(tried[name], tries) for name in names]
        return observation.random.choice([move for move, hope in zip(legal, hopes, strict=True) if hope == max(hopes)])

    def learn(self, game: GameRecord) -> None:
        self._take(self._experience.end(game))

    def saved(self) -> Any:
        return self._table.saved()

    def restore(self, saved: Any) -> None:
        self._table.restore(saved)

    def _take(self, lessons: list[Lesson]) -> None:
        for lesson in lessons:
            self._table.add(lesson.place, lesson.round[0], lesson.reward)


def _hope(tried: Tried, tries: int) -> float:
    """What it paid, and more where few tries say so."""
    return tried.value + CURIOSITY * math.sqrt(math.log(tries) / tried.count)
