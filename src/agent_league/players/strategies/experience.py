"""Base of the strategies that learn: each round counts once, with a reward from 0 (worst payoff) to 1 (best).

A round counts as soon as a view shows it, the last one when the match is over. In a game without a payoff table, every
move of a match is rewarded by the match's outcome.
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
"""Other outcomes are worth 0."""
OPEN_MATCHES = 1000

Pair = tuple[Move, Move]
"""Own move and the opponent's."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One round to learn from: the moves, the round before, and the reward."""

    place: str
    """The game and the seat."""
    before: Pair | None
    """The round before."""
    round: Pair
    reward: float
    last: bool
    """Whether it was the last round of the match."""


@dataclass(slots=True)
class _Match:
    place: str
    before: Pair | None
    rewards: dict[str, float]
    """Reward of each pair of moves, by the pair's text; empty without a payoff table."""
    learned: int = 0


class Experience:
    """Follows several matches at once and extracts lessons; of unfinished matches the oldest are forgotten."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Match] = {}

    def news(self, observation: Observation) -> list[Lesson]:
        """Return lessons of the rounds that this view shows for the first time."""
        key = (observation.game_type, observation.match_id)
        over = observation.rounds_over
        match = self._open.get(key)
        if match is None or over < match.learned:  # a replayed match starts from the beginning
            before = None if over else situation(observation)
            match = self._open[key] = _Match(place(observation), before, _rewards(observation))
            if len(self._open) > OPEN_MATCHES:
                del self._open[next(iter(self._open))]
        new = over - match.learned
        match.learned = over
        return _lessons(match, observation.lately(new)) if new else []

    def end(self, game: GameRecord) -> list[Lesson]:
        """Return the remaining lessons of a finished match; none if its beginning wasn't seen."""
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
    """A strategy with a table of move values: it first tries every move, then plays by the table."""

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
        """Key of the situation under which the values of moves are stored."""

    @abstractmethod
    def worth(self, known: list[Tried], dice: Random) -> Sequence[float]:
        """Score the moves, once all were tried; one of those with the highest score is played."""

    @abstractmethod
    def take(self, lesson: Lesson) -> None:
        """Add a lesson to the table."""


def place(observation: Observation) -> str:
    """Key of game and seat; values learned under one key don't apply to another."""
    return f"{observation.game_type}/{observation.seat}"


def situation(observation: Observation) -> Pair | None:
    """The last round in a game with payoffs; None in others, and before the first round."""
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
    """Make lessons of further rounds; those without a known payoff are skipped."""
    lessons = []
    for pair in rounds:
        reward = match.rewards.get(repr(pair))
        if reward is not None:
            lessons.append(Lesson(match.place, match.before, pair, reward, last=False))
        match.before = pair
    return lessons
