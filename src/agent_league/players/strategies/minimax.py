"""Minimax with alpha-beta pruning, for games of perfect information in which the seats take turns.

Searches by the rules alone and knows no game by name. The search is limited by positions, not by time, so that the same
question has the same answer on any machine; only a near deadline stops it earlier.
"""

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import ClassVar, NamedTuple

import orjson

from agent_league.games.base import CHANCE, Rules, State, hides_nothing
from agent_league.games.repeated import Repeated
from agent_league.players.deadline import seconds_to_think
from agent_league.players.observation import Move, Observation, Thought

POSITIONS = 20_000
"""Positions searched for one move; 14,000 are enough to solve tic-tac-toe."""
DEEPEST = 64
FADE = 0.999
"""Factor for each move until a result, so that quick wins and slow losses are preferred."""
SAME = 1e-9
"""Values that differ by less count as equal."""
POSITIONS_A_TRIAL = 200
"""Moves with equal values are compared by random games from each; one game for this many positions."""
LONGEST_TRIAL = 200
MOST_MOVES = 256
"""Positions with more moves aren't searched."""
KEPT_ANSWERS = 20_000
LARGEST_STATE = 4096
"""Bytes of a state as JSON: a referee may send anything, and thousands of states are stored."""
LARGEST_SUM = 1_000_000
"""Sum of all numbers in a state: rules may allocate as much as these numbers say."""
POSITIONS_A_LOOK = 256
"""The clock is read once for this many positions."""


class Unsuited(Exception):
    """The game can't be searched: it has hidden information, chance or simultaneous moves, or too many moves."""


class Enough(Exception):
    """The search has used up its positions or its time."""


class Minimax:
    """Looks ahead with alpha-beta where nothing is hidden and the seats take turns; elsewhere plays any legal move."""

    _answers: ClassVar[dict[tuple[Rules, int, bytes], list[Move]]] = {}
    """Shared by all instances in a process: the answer depends on the question alone."""

    def __init__(self, positions: int = POSITIONS) -> None:
        self._positions = positions

    def choose(self, observation: Observation) -> Thought:
        legal = observation.legal_moves
        try:
            best = [move for move in self._best(observation) if observation.is_legal(move)]
        except Unsuited:
            best = []
        reason = (
            f"best of {len(legal)}, as {len(best)} are, by looking ahead" if best else "looking ahead leads nowhere"
        )
        return Thought(observation.random.choice(best or legal), reason=reason)

    def _best(self, observation: Observation) -> list[Move]:
        """Return the moves with the highest value; answers are cached by rules, position limit and state."""
        rules, state = _game(observation)
        text = orjson.dumps(state)
        if len(text) > LARGEST_STATE:
            raise Unsuited
        question = (rules, self._positions, text)
        best = self._answers.get(question)
        if best is None:
            _check_shown(observation, rules, state)
            search = Search(rules, self._positions, _until(observation.deadline))
            best = search.best(state)
            if not search.hurried:
                self._keep(question, best)
        return best

    def _keep(self, question: tuple[Rules, int, bytes], best: list[Move]) -> None:
        if len(self._answers) >= KEPT_ANSWERS:
            Minimax._answers = {}  # replaced, not cleared: another thread may be reading it
        self._answers[question] = best


class Bounds(NamedTuple):
    """Bounds of a position's value for the seat to move, and its best move."""

    depth: float
    """Search depth; infinite if all ends were reached."""
    low: float
    high: float
    move: Move


class Search:
    """One iterative-deepening search from one position."""

    def __init__(self, rules: Rules, positions: int, until: float | None = None) -> None:
        self._rules = rules
        self._left = positions
        self._trials = positions // POSITIONS_A_TRIAL
        self._until = until
        self._known: dict[bytes, Bounds] = {}
        self._saw_all = True
        self.hurried = False
        """Whether the deadline has stopped it."""

    def best(self, state: State) -> list[Move]:
        """Search deeper and deeper until positions or time run out or all ends are reached; return the best moves."""
        seat = self._turn(self._rules.actors(state))
        moves, value = self._moves(state, seat), 0.0
        if len(moves) == 1:
            return moves
        best = moves
        try:
            for depth in range(DEEPEST):
                self._saw_all = True
                best, value = self._compare(state, seat, moves, depth)
                moves.sort(key=lambda move: move not in best)
                if self._saw_all:
                    break
        except Enough:
            pass
        return self._promising(state, seat, best) if value == 0 and len(best) > 1 else best

    def _compare(self, state: State, seat: int, moves: list[Move], depth: int) -> tuple[list[Move], float]:
        """Return the moves with the highest value, and the value."""
        best: list[Move] = []
        most = -math.inf
        for move in moves:
            value = self._after(state, seat, move, depth, most - SAME, math.inf)
            if value > most + SAME:
                best, most = [move], value
            elif value > most - SAME:
                best.append(move)
        return best, most

    def _after(self, state: State, seat: int, move: Move, depth: int, alpha: float, beta: float) -> float:
        """The value of a move to the seat that makes it, searching `depth` further moves."""
        self._count()
        state = self._rules.apply(state, {seat: move})
        actors = self._rules.actors(state)
        if not actors:
            returns = self._rules.returns(state)
            return float(returns[seat] - returns[1 - seat])
        turn = self._turn(actors)
        if depth == 0:
            self._saw_all = False
            return 0.0
        if turn == seat:
            return FADE * self._value(state, turn, depth, alpha / FADE, beta / FADE)
        return -FADE * self._value(state, turn, depth, -beta / FADE, -alpha / FADE)

    def _value(self, state: State, seat: int, depth: int, alpha: float, beta: float) -> float:
        """The value of a position to the seat to move; outside of alpha and beta, a bound of it."""
        key = orjson.dumps(state)
        known = self._known.get(key)
        if known and known.depth >= depth and (known.low >= beta or known.high <= alpha or known.low == known.high):
            self._saw_all &= known.depth == math.inf
            return known.low if known.low >= beta else known.high
        saw_all_before, self._saw_all = self._saw_all, True
        moves = self._moves(state, seat)
        if known:
            moves.sort(key=lambda move: move != known.move)
        best, most = moves[0], -math.inf
        for move in moves:
            value = self._after(state, seat, move, depth - 1, max(alpha, most), beta)
            if value > most:
                best, most = move, value
            if most >= beta:
                break
        seen = math.inf if self._saw_all else depth
        low, high = (-math.inf if most <= alpha else most), (math.inf if most >= beta else most)
        self._known[key] = Bounds(seen, low, high, best)
        self._saw_all &= saw_all_before
        return most

    def _promising(self, state: State, seat: int, moves: list[Move]) -> list[Move]:
        """Return the moves with the best results in random games from each; dice are seeded by the state."""
        dice = Random(orjson.dumps(state))  # noqa: S311 - a game, not a secret
        after = [self._rules.apply(state, {seat: move}) for move in moves]
        try:
            scores = [sum(self._trial(begun, seat, dice) for _ in range(self._trials)) for begun in after]
        except Enough:
            return moves
        return [move for move, score in zip(moves, scores, strict=True) if score == max(scores)]

    def _trial(self, state: State, seat: int, dice: Random) -> float:
        self._look_at_the_clock()
        for _ in range(LONGEST_TRIAL):
            actors = self._rules.actors(state)
            if not actors:
                returns = self._rules.returns(state)
                return float(returns[seat] - returns[1 - seat])
            turn = self._turn(actors)
            state = self._rules.apply(state, {turn: dice.choice(self._rules.legal(state, turn))})
        return 0.0

    def _turn(self, actors: tuple[int, ...]) -> int:
        if len(actors) != 1 or actors[0] == CHANCE:
            raise Unsuited
        return actors[0]

    def _moves(self, state: State, seat: int) -> list[Move]:
        """The legal moves, those in the middle first, which are often best on boards and so prune most."""
        legal = self._rules.legal(state, seat)
        if len(legal) > MOST_MOVES:
            raise Unsuited
        return [legal[place] for place in _from_the_middle(len(legal))]

    def _count(self) -> None:
        if self._left <= 0:
            raise Enough
        self._left -= 1
        if self._left % POSITIONS_A_LOOK == 0:
            self._look_at_the_clock()

    def _look_at_the_clock(self) -> None:
        if self._until is not None and time.monotonic() > self._until:
            self.hurried = True
            raise Enough


def _game(observation: Observation) -> tuple[Rules, State]:
    """Return rules and state of the single game being played; raises UnsuitedGame."""
    rules, state = observation.rules, observation.view
    if isinstance(rules, Repeated):
        rules, state = rules.single, state.get("game") if isinstance(state, Mapping) else None
    if rules is None or not hides_nothing(rules):
        raise Unsuited
    return rules, state


def _check_shown(observation: Observation, rules: Rules, state: State) -> None:
    """Raise UnsuitedGame unless the view is a state in which the rules allow the moves that the referee allows."""
    if _sum(state) > LARGEST_SUM:
        raise Unsuited
    try:
        seat, *others = rules.actors(state)
        moves = rules.legal(state, seat)
    except Exception:  # noqa: BLE001 - rules may raise anything on a view that is no state of theirs
        raise Unsuited from None
    if others or not len(moves) == len(observation.legal_moves) <= MOST_MOVES:
        raise Unsuited
    if not all(map(observation.is_legal, moves)):
        raise Unsuited


def _sum(value: State) -> float:
    """Sum the absolute values of all numbers in JSON data."""
    if isinstance(value, int | float):
        return abs(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_sum, value)) if isinstance(value, list) else 0


def _until(deadline: datetime | None) -> float | None:
    """Convert a deadline to a `time.monotonic()` value; None without one, or if it has passed (another clock)."""
    left = (deadline - datetime.now(UTC)).total_seconds() if deadline else 0.0
    return time.monotonic() + seconds_to_think(left) if left > 0 else None


@cache
def _from_the_middle(count: int) -> Sequence[int]:
    return sorted(range(count), key=lambda place: abs(2 * place - count + 1))
