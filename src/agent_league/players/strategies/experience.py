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

from agent_league.players.observation import MAX_RECALLED_MOVES, GameRecord, Move, Observation, Thought
from agent_league.players.strategies.table import MAX_MOVES, MoveValue, MoveValueTable, short_key

OUTCOME_REWARDS = {"WIN": 1.0, "DRAW": 0.5}
"""Other outcomes are worth 0."""
MAX_OPEN_MATCHES = 1000

MovePair = tuple[Move, Move]
"""Own move and the opponent's."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One round to learn from: the moves, the round before, and the reward."""

    game_seat: str
    """The game and the seat."""
    previous_round: MovePair | None
    """The round before."""
    round: MovePair
    reward: float
    is_last: bool
    """Whether it was the last round of the match."""


@dataclass(slots=True)
class _OpenMatch:
    game_seat: str
    previous_round: MovePair | None
    rewards: dict[str, float]
    """Reward of each pair of moves, by the pair's text; empty without a payoff table."""
    rounds_learned: int = 0


class MatchExperience:
    """Follows several matches at once and extracts lessons; of unfinished matches the oldest are forgotten."""

    def __init__(self) -> None:
        self._open_matches: dict[tuple[str, str], _OpenMatch] = {}

    def learn_new_rounds(self, observation: Observation) -> list[Lesson]:
        """Return lessons of the rounds that this view shows for the first time."""
        key = (observation.game_type, observation.match_id)
        over = observation.rounds_over
        match = self._open_matches.get(key)
        if match is None or over < match.rounds_learned:  # a replayed match starts from the beginning
            before = None if over else latest_round(observation)
            match = self._open_matches[key] = _OpenMatch(
                game_seat_key(observation), before, _scale_payoffs(observation)
            )
            if len(self._open_matches) > MAX_OPEN_MATCHES:
                del self._open_matches[next(iter(self._open_matches))]
        new = over - match.rounds_learned
        match.rounds_learned = over
        return _make_lessons(match, observation.lately(new)) if new else []

    def finish_match(self, game: GameRecord) -> list[Lesson]:
        """Return the remaining lessons of a finished match; none if its beginning wasn't seen."""
        match = self._open_matches.pop((game.game_type, game.match_id), None)
        if match is None:
            return []
        if match.rewards:
            left = list(zip(game.my_moves, game.opponent_moves, strict=False))[match.rounds_learned :]
            lessons = _make_lessons(match, left)
            return [*lessons[:-1], *(replace(lesson, is_last=True) for lesson in lessons[-1:])]
        reward = OUTCOME_REWARDS.get(game.outcome, 0.0)
        return [
            Lesson(match.game_seat, None, (move, None), reward, is_last=True)
            for move in game.my_moves[-MAX_RECALLED_MOVES:]
        ]


class Learner(ABC):
    """A strategy with a table of move values: it first tries every move, then plays by the table."""

    instant = True

    def __init__(self, max_count: int) -> None:
        self._experience = MatchExperience()
        self._table = MoveValueTable(max_count)

    def choose(self, observation: Observation) -> Thought:
        self._add_lessons(self._experience.learn_new_rounds(observation))
        legal, dice = observation.legal_moves, observation.random
        if len(legal) > MAX_MOVES:
            return Thought(dice.choice(legal), reason="too many moves to learn them one by one")
        tried = self._table.find_moves(self.situation_key(observation))
        known = [tried.get(short_key(move)) for move in legal]
        worth = self.score_moves([one for one in known if one], dice) if all(known) else [one is None for one in known]
        most = max(worth)
        chosen = dice.choice([number for number, value in enumerate(worth) if value == most])
        best = known[chosen]
        reason = f"worth {best.value:.2f} here after {best.count} tries" if best else "never tried here"
        return Thought(legal[chosen], reason=reason)

    def learn(self, game: GameRecord) -> None:
        self._add_lessons(self._experience.finish_match(game))

    def saved(self) -> Any:
        return self._table.to_json()

    def restore(self, saved: Any) -> None:
        self._table.load_json(saved)

    def _add_lessons(self, lessons: list[Lesson]) -> None:
        for lesson in lessons:
            self.add_lesson(lesson)

    @abstractmethod
    def situation_key(self, observation: Observation) -> str:
        """Key of the situation under which the values of moves are stored."""

    @abstractmethod
    def score_moves(self, known: list[MoveValue], dice: Random) -> Sequence[float]:
        """Score the moves, once all were tried; one of those with the highest score is played."""

    @abstractmethod
    def add_lesson(self, lesson: Lesson) -> None:
        """Add a lesson to the table."""


def game_seat_key(observation: Observation) -> str:
    """Key of game and seat; values learned under one key don't apply to another."""
    return f"{observation.game_type}/{observation.seat}"


def latest_round(observation: Observation) -> MovePair | None:
    """The last round in a game with payoffs; None in others, and before the first round."""
    latest = observation.lately() if observation.payoffs else []
    return latest[0] if latest else None


def _scale_payoffs(observation: Observation) -> dict[str, float]:
    payoffs = observation.payoffs
    paid = [value for *_, value, _ in payoffs]
    low = min(paid, default=0.0)
    span = max(paid, default=0.0) - low
    if not 0 < span < inf:
        return {}
    return {repr((mine, theirs)): (value - low) / span for mine, theirs, value, _ in payoffs}


def _make_lessons(match: _OpenMatch, rounds: Sequence[MovePair]) -> list[Lesson]:
    """Make lessons of further rounds; those without a known payoff are skipped."""
    lessons = []
    for pair in rounds:
        reward = match.rewards.get(repr(pair))
        if reward is not None:
            lessons.append(Lesson(match.game_seat, match.previous_round, pair, reward, is_last=False))
        match.previous_round = pair
    return lessons
