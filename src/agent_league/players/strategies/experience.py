"""What a strategy that learns goes by: each round once, with what it paid, from worst (0) to best (1).

A round counts as soon as a view shows it, the last one of a match when the match is over. Where nobody says what a
round pays, the outcome of the match counts for every move in it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Any

from agent_league.players.observation import RECALLED, GameRecord, Move, Observation, Thought
from agent_league.players.strategies.table import MOST_MOVES, Table, Tried, name_of

OUTCOMES = {"WIN": 1.0, "DRAW": 0.5}
"""Any other is worth nothing."""
OPEN_MATCHES = 1000

Pair = tuple[Move, Move]
"""Our move and the opponent's."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A move that was made, and what came of it."""

    place: str
    """The game and the seat."""
    before: Pair | None
    """The round before."""
    round: Pair
    reward: float
    last: bool
    """Whether the match was over then."""


@dataclass(slots=True)
class _Match:
    place: str
    before: Pair | None
    rewards: dict[str, float]
    """What each round would pay; empty where nobody says it."""
    learned: int = 0


class Experience:
    """Follows our matches, several at once; those that never end are forgotten some day."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Match] = {}

    def news(self, observation: Observation) -> list[Lesson]:
        """The rounds that this view shows for the first time."""
        key = (observation.game_type, observation.match_id)
        over = observation.rounds_over
        match = self._open.get(key)
        if match is None or over < match.learned:  # one that is played again begins anew
            before = None if over else situation(observation)
            match = self._open[key] = _Match(place(observation), before, _rewards(observation))
            if len(self._open) > OPEN_MATCHES:
                del self._open[next(iter(self._open))]
        new = over - match.learned
        match.learned = over
        return _lessons(match, observation.lately(new)) if new else []

    def end(self, game: GameRecord) -> list[Lesson]:
        """What is left to learn of a match that is over; nothing, where we didn't see it begin."""
        match = self._open.pop((game.game_type, game.match_id), None)
        if match is None:
            return []
        if match.rewards:
            left = list(zip(game.my_moves, game.opponent_moves, strict=False))[match.learned :]
            lessons = _lessons(match, left)
            return [*lessons[:-1], *(replace(lesson, last=True) for lesson in lessons[-1:])]
        reward = OUTCOMES.get(game.outcome, 0.0)
        return [Lesson(match.place, None, (move, None), reward, last=True) for move in game.my_moves[-RECALLED:]]


class Learner(ABC):
    """A strategy with a table of what its moves are worth: it tries what it doesn't know, then goes by the table."""

    instant = True

    def __init__(self, recalled: int) -> None:
        self._experience = Experience()
        self._table = Table(recalled)

    def choose(self, observation: Observation) -> Thought:
        self._take(self._experience.news(observation))
        legal, dice = observation.legal_moves, observation.random
        if len(legal) > MOST_MOVES:
            return Thought(dice.choice(legal), reason="too many moves to learn them one by one")
        tried = self._table.tried(self.situation(observation))
        known = [tried.get(name_of(move)) for move in legal]
        worth = self.worth([one for one in known if one], dice) if all(known) else [one is None for one in known]
        most = max(worth)
        chosen = dice.choice([number for number, value in enumerate(worth) if value == most])
        best = known[chosen]
        reason = f"worth {best.value:.2f} here after {best.count} tries" if best else "never tried here"
        return Thought(legal[chosen], reason=reason)

    def learn(self, game: GameRecord) -> None:
        self._take(self._experience.end(game))

    def saved(self) -> Any:
        return self._table.saved()

    def restore(self, saved: Any) -> None:
        self._table.restore(saved)

    def _take(self, lessons: list[Lesson]) -> None:
        for lesson in lessons:
            self.take(lesson)

    @abstractmethod
    def situation(self, observation: Observation) -> str:
        """Where we are: moves are compared with what they were worth there."""

    @abstractmethod
    def worth(self, known: list[Tried], dice: Random) -> Sequence[float]:
        """How good each move looks, once all were tried; the same number for moves that are as good."""

    @abstractmethod
    def take(self, lesson: Lesson) -> None:
        """Adds to the table."""


def place(observation: Observation) -> str:
    """The game and the seat: what pays in one of them tells nothing of another."""
    return f"{observation.game_type}/{observation.seat}"


def situation(observation: Observation) -> Pair | None:
    """The last round, where rounds are what is learned from."""
    latest = observation.lately() if observation.payoffs else []
    return latest[0] if latest else None


def _rewards(observation: Observation) -> dict[str, float]:
    payoffs = observation.payoffs
    paid = [value for *_, value, _ in payoffs]
    low = min(paid, default=0.0)
    span = max(paid, default=0.0) - low
    if not 0 < span < inf:
        return {}
    return {repr((mine, theirs)): (value - low) / span for mine, theirs, value, _ in payoffs}


def _lessons(match: _Match, rounds: Sequence[Pair]) -> list[Lesson]:
    """What further rounds teach; one that the table doesn't know teaches nothing."""
    lessons = []
    for pair in rounds:
        reward = match.rewards.get(repr(pair))
        if reward is not None:
            lessons.append(Lesson(match.place, match.before, pair, reward, last=False))
        match.before = pair
    return lessons
