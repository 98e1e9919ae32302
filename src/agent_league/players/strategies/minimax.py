"""Minimax with alpha-beta pruning, for games of perfect information in which the seats take turns.

Searches by the rules alone and knows no game by name. The search is limited by positions, so that the same question has
the same answer on any machine; a near deadline stops it earlier, and so does `thinking_seconds` of an observation. Only
leagues that need not be repeatable set it.
"""

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import ClassVar, NamedTuple

import orjson

from agent_league.games.base import CHANCE, Rules, State, has_perfect_information
from agent_league.games.repeated import RepeatedRules
from agent_league.players.deadline import seconds_to_think
from agent_league.players.observation import Move, Observation, Thought

MAX_POSITIONS = 20_000
"""Positions searched for one move; 14,000 are enough to solve tic-tac-toe."""
MAX_DEPTH = 64
DISCOUNT = 0.999
"""Factor for each move until a result, so that quick wins and slow losses are preferred."""
EPSILON = 1e-9
"""Values that differ by less count as equal."""
POSITIONS_PER_RANDOM_GAME = 200
"""Moves with equal values are compared by random games from each; one game for this many positions."""
MAX_RANDOM_GAME_MOVES = 200
MAX_MOVES = 256
"""Positions with more moves aren't searched."""
MAX_ANSWERS = 20_000
MAX_STATE_BYTES = 4096
"""Bytes of a state as JSON: a referee may send anything, and thousands of states are stored."""
MAX_NUMBER_SUM = 1_000_000
"""Sum of all numbers in a state: rules may allocate as much as these numbers say."""
POSITIONS_PER_TIME_CHECK = 256
"""The clock is read once for this many positions."""


class UnsuitedGame(Exception):
    """The game can't be searched: it has hidden information, chance or simultaneous moves, or too many moves."""


class SearchStopped(Exception):
    """The search has used up its positions or its time."""


class Minimax:
    """Looks ahead with alpha-beta where nothing is hidden and the seats take turns; elsewhere plays any legal move."""

    _answers: ClassVar[dict[tuple[Rules, int, bytes], list[Move]]] = {}
    """Shared by all instances in a process: the answer depends on the question alone."""

    def __init__(self, positions: int = MAX_POSITIONS) -> None:
        if positions < 1:
            raise ValueError(f"positions must be 1 or more, found {positions}")
        self._positions = positions

    def choose(self, observation: Observation) -> Thought:
        legal = observation.legal_moves
        try:
            best = [move for move in self._find_best_moves(observation) if observation.is_legal(move)]
        except UnsuitedGame:
            best = []
        reason = (
            f"best of {len(legal)}, as {len(best)} are, by looking ahead" if best else "looking ahead leads nowhere"
        )
        return Thought(observation.random.choice(best or legal), reason=reason)

    def _find_best_moves(self, observation: Observation) -> list[Move]:
        """Return the moves with the highest value; answers are cached by rules, position limit and state."""
        rules, state = _find_single_game(observation)
        text = orjson.dumps(state)
        if len(text) > MAX_STATE_BYTES:
            raise UnsuitedGame
        question = (rules, self._positions, text)
        best = self._answers.get(question)
        if best is None:
            _check_view(observation, rules, state)
            search = MinimaxSearch(rules, self._positions, _compute_stop_time(observation))
            best = search.find_best_moves(state)
            if not search.is_out_of_time:
                self._store_answer(question, best)
        return best

    def _store_answer(self, question: tuple[Rules, int, bytes], best: list[Move]) -> None:
        if len(self._answers) >= MAX_ANSWERS:
            Minimax._answers = {}  # replaced, not cleared: another thread may be reading it
        self._answers[question] = best


class ValueBounds(NamedTuple):
    """Bounds of a position's value for the seat to move, and its best move."""

    depth: float
    """Search depth; infinite if all ends were reached."""
    low: float
    high: float
    move: Move


class MinimaxSearch:
    """One iterative-deepening search from one position."""

    def __init__(self, rules: Rules, positions: int, until: float | None = None) -> None:
        self._rules = rules
        self._positions_left = positions
        self._random_games = positions // POSITIONS_PER_RANDOM_GAME
        self._stop_time = until
        self._known_bounds: dict[bytes, ValueBounds] = {}
        self._is_complete = True
        self.is_out_of_time = False
        """Whether the deadline has stopped it."""

    def find_best_moves(self, state: State) -> list[Move]:
        """Search deeper and deeper until positions or time run out or all ends are reached; return the best moves."""
        seat = self._seat_to_move(self._rules.actors(state))
        moves, value = self._order_moves(state, seat), 0.0
        if len(moves) == 1:
            return moves
        best = moves
        try:
            for depth in range(MAX_DEPTH):
                self._is_complete = True
                best, value = self._compare_moves(state, seat, moves, depth)
                moves.sort(key=lambda move: move not in best)
                if self._is_complete:
                    break
        except SearchStopped:
            pass
        return self._choose_by_random_games(state, seat, best) if value == 0 and len(best) > 1 else best

    def _compare_moves(self, state: State, seat: int, moves: list[Move], depth: int) -> tuple[list[Move], float]:
        """Return the moves with the highest value, and the value."""
        best: list[Move] = []
        most = -math.inf
        for move in moves:
            value = self._evaluate_move(state, seat, move, depth, most - EPSILON, math.inf)
            if value > most + EPSILON:
                best, most = [move], value
            elif value > most - EPSILON:
                best.append(move)
        return best, most

    def _evaluate_move(self, state: State, seat: int, move: Move, depth: int, alpha: float, beta: float) -> float:
        """The value of a move to the seat that makes it, searching `depth` further moves."""
        self._count_position()
        state = self._rules.apply(state, {seat: move})
        actors = self._rules.actors(state)
        if not actors:
            returns = self._rules.returns(state)
            return float(returns[seat] - returns[1 - seat])
        turn = self._seat_to_move(actors)
        if depth == 0:
            self._is_complete = False
            return 0.0
        if turn == seat:
            return DISCOUNT * self._evaluate_position(state, turn, depth, alpha / DISCOUNT, beta / DISCOUNT)
        return -DISCOUNT * self._evaluate_position(state, turn, depth, -beta / DISCOUNT, -alpha / DISCOUNT)

    def _evaluate_position(self, state: State, seat: int, depth: int, alpha: float, beta: float) -> float:
        """The value of a position to the seat to move; outside of alpha and beta, a bound of it."""
        key = orjson.dumps(state)
        known = self._known_bounds.get(key)
        if known and known.depth >= depth and (known.low >= beta or known.high <= alpha or known.low == known.high):
            self._is_complete &= known.depth == math.inf
            return known.low if known.low >= beta else known.high
        saw_all_before, self._is_complete = self._is_complete, True
        moves = self._order_moves(state, seat)
        if known:
            moves.sort(key=lambda move: move != known.move)
        best, most = moves[0], -math.inf
        for move in moves:
            value = self._evaluate_move(state, seat, move, depth - 1, max(alpha, most), beta)
            if value > most:
                best, most = move, value
            if most >= beta:
                break
        seen = math.inf if self._is_complete else depth
        low, high = (-math.inf if most <= alpha else most), (math.inf if most >= beta else most)
        self._known_bounds[key] = ValueBounds(seen, low, high, best)
        self._is_complete &= saw_all_before
        return most

    def _choose_by_random_games(self, state: State, seat: int, moves: list[Move]) -> list[Move]:
        """Return the moves with the best results in random games from each; dice are seeded by the state."""
        dice = Random(orjson.dumps(state))  # noqa: S311 - a game, not a secret
        after = [self._rules.apply(state, {seat: move}) for move in moves]
        try:
            scores = [
                sum(self._play_random_game(begun, seat, dice) for _ in range(self._random_games)) for begun in after
            ]
        except SearchStopped:
            return moves
        return [move for move, score in zip(moves, scores, strict=True) if score == max(scores)]

    def _play_random_game(self, state: State, seat: int, dice: Random) -> float:
        self._check_time()
        for _ in range(MAX_RANDOM_GAME_MOVES):
            actors = self._rules.actors(state)
            if not actors:
                returns = self._rules.returns(state)
                return float(returns[seat] - returns[1 - seat])
            turn = self._seat_to_move(actors)
            state = self._rules.apply(state, {turn: dice.choice(self._rules.legal(state, turn))})
        return 0.0

    def _seat_to_move(self, actors: tuple[int, ...]) -> int:
        if len(actors) != 1 or actors[0] == CHANCE:
            raise UnsuitedGame
        return actors[0]

    def _order_moves(self, state: State, seat: int) -> list[Move]:
        """The legal moves, those in the middle first, which are often best on boards and so prune most."""
        legal = self._rules.legal(state, seat)
        if len(legal) > MAX_MOVES:
            raise UnsuitedGame
        return [legal[place] for place in _order_from_middle(len(legal))]

    def _count_position(self) -> None:
        if self._positions_left <= 0:
            raise SearchStopped
        self._positions_left -= 1
        if self._positions_left % POSITIONS_PER_TIME_CHECK == 0:
            self._check_time()

    def _check_time(self) -> None:
        if self._stop_time is not None and time.monotonic() > self._stop_time:
            self.is_out_of_time = True
            raise SearchStopped


def _find_single_game(observation: Observation) -> tuple[Rules, State]:
    """Return rules and state of the single game being played; raises UnsuitedGame."""
    rules, state = observation.rules, observation.view
    if isinstance(rules, RepeatedRules):
        rules, state = rules.single, state.get("game") if isinstance(state, Mapping) else None
    if rules is None or not has_perfect_information(rules):
        raise UnsuitedGame
    return rules, state


def _check_view(observation: Observation, rules: Rules, state: State) -> None:
    """Raise UnsuitedGame unless the view is a state in which the rules allow the moves that the referee allows."""
    if _sum_numbers(state) > MAX_NUMBER_SUM:
        raise UnsuitedGame
    try:
        seat, *others = rules.actors(state)
        moves = rules.legal(state, seat)
    except Exception:  # noqa: BLE001 - rules may raise anything on a view that is no state of theirs
        raise UnsuitedGame from None
    if others or not len(moves) == len(observation.legal_moves) <= MAX_MOVES:
        raise UnsuitedGame
    if not all(map(observation.is_legal, moves)):
        raise UnsuitedGame


def _sum_numbers(value: State) -> float:
    """Sum the absolute values of all numbers in JSON data."""
    if isinstance(value, int | float):
        return abs(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_sum_numbers, value)) if isinstance(value, list) else 0


def _compute_stop_time(observation: Observation) -> float | None:
    """Return the `time.monotonic()` at which to stop; None if nothing but positions stops it.

    A deadline that has passed is by another clock, and doesn't count.
    """
    left = (observation.deadline - datetime.now(UTC)).total_seconds() if observation.deadline else 0.0
    bounds = [seconds_to_think(left)] if left > 0 else []
    if observation.thinking_seconds is not None:
        bounds.append(observation.thinking_seconds)
    return time.monotonic() + min(bounds) if bounds else None


@cache
def _order_from_middle(count: int) -> Sequence[int]:
    return sorted(range(count), key=lambda place: abs(2 * place - count + 1))
