"""Which move pays after which round."""

from typing import Any

from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.strategies.experience import Experience, Lesson, Pair, place, situation
from agent_league.players.strategies.table import MOST_MOVES, Table, name_of

RECALLED = 50
PATIENCE = 0.8
"""What the rest of a match counts for, beside the round at hand."""


class QLearning:
    """Learns what each move is worth after each kind of round (tabular Q-learning), from league to league."""

    instant = True

    def __init__(self) -> None:
        self._experience = Experience()
        self._table = Table(RECALLED)

    def choose(self, observation: Observation) -> Move:
        self._take(self._experience.news(observation))
        legal, dice = observation.legal_moves, observation.random
        if len(legal) > MOST_MOVES:
            return dice.choice(legal)
        tried = self._table.tried(_state(place(observation), situation(observation)))
        untried = [move for move in legal if name_of(move) not in tried]
        if untried:
            return dice.choice(untried)
        known = [tried[name_of(move)] for move in legal]
        if dice.random() < 1 / (1 + sum(one.count for one in known)):
            return dice.choice(legal)
        most = max(one.value for one in known)
        return dice.choice([move for move, one in zip(legal, known, strict=True) if one.value == most])

    def learn(self, game: GameRecord) -> None:
        self._take(self._experience.end(game))

    def saved(self) -> Any:
        return self._table.saved()

    def restore(self, saved: Any) -> None:
        self._table.restore(saved)

    def _take(self, lessons: list[Lesson]) -> None:
        for lesson in lessons:
            after = self._table.tried(_state(lesson.place, lesson.round))
            future = 0.0 if lesson.last else max((one.value for one in after.values()), default=0.0)
            value = lesson.reward + PATIENCE * future
            self._table.add(_state(lesson.place, lesson.before), lesson.round[0], value)


def _state(place: str, pair: Pair | None) -> str:
    return f"{place} {pair!r}"
