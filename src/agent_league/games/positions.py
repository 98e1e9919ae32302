"""Positions of a game, each made once: rules are pure, so what they say of a position holds whenever it comes up again.

A game is then a walk from position to position, which calls the rules only where nobody has been before. Positions are
told apart by their states as JSON, and only so many are stored: a game that has more goes on without.
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import orjson

from agent_league.games.base import CHANCE, Move, Rules, State

MAX_POSITIONS = 20_000
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of the states and views of all stored positions, as JSON."""
MAX_GRAPHS = 8
"""Games whose positions are stored at a time."""
MAX_LISTED_STEPS = 64
"""Steps from a position that are stored in a list; of more, only those that were taken are stored."""


class Question:
    """What a seat is asked: a view, and the legal moves."""

    __slots__ = ("count", "legal", "view")

    def __init__(self, view: Any = None, legal: Sequence[Move] = ()) -> None:
        self.view = view
        self.legal = legal
        self.count = len(legal)


class Position(Question):
    """A state, with all that the rules say of it; if one seat moves, it is the question to that seat."""

    __slots__ = ("_reached", "after", "both", "draw", "final_views", "returns", "seat", "state")

    def __init__(self, rules: Rules, state: State) -> None:
        actors = rules.actors(state)
        self.state = state
        self.seat: int | None = None
        """The seat that moves alone, if one does."""
        self.both: tuple[Question, Question] | None = None
        self.draw: Sequence[tuple[Any, float]] = ()
        """Outcomes of chance and their weights."""
        self.returns: tuple[float, float] | None = None
        """Of a game that is over; else None."""
        self.final_views: list[Any] | None = None
        self._reached: list[float] = []
        steps = 0
        if not actors:
            super().__init__()
            a, b = rules.returns(state)
            self.returns = (a, b)
        elif actors[0] == CHANCE:
            super().__init__()
            self.draw = rules.legal(state, CHANCE)
            self._reached = list(accumulate((weight for _, weight in self.draw), initial=0.0))[1:]
            steps = len(self.draw)
        elif len(actors) == 1:
            self.seat = actors[0]
            super().__init__(rules.view(state, self.seat), _find_legal(rules, state, self.seat))
            steps = self.count
        else:
            super().__init__()
            one, other = (Question(rules.view(state, seat), _find_legal(rules, state, seat)) for seat in (0, 1))
            self.both = (one, other)
            steps = one.count * other.count
        self.after: list[Position | None] | _TakenSteps = [None] * steps if steps <= MAX_LISTED_STEPS else _TakenSteps()
        """What follows the move at each place of the legal ones, or the outcome of chance at each place; if both seats
        move, the place is `one place * moves of the other + other place`."""

    def select_outcome(self, share: float) -> int:
        """Return the place of the outcome that `draw.select_outcome` selects."""
        reached = self._reached
        return min(bisect_right(reached, share * reached[-1]), len(reached) - 1)

    def count_view_bytes(self) -> int:
        """Count the bytes of its views as JSON, unless they are the state itself."""
        views = [question.view for question in self.both or (self,)]
        return sum(_count_bytes(view) for view in views if view is not self.state)

    def find_moves(self, place: int) -> Mapping[int, Move]:
        """Return the moves by seat that a place stands for."""
        if self.seat is not None:
            return {self.seat: self.legal[place]}
        if self.both:
            one, other = self.both
            return {0: one.legal[place // other.count], 1: other.legal[place % other.count]}
        return {CHANCE: self.draw[place][0]}


class _TakenSteps(dict[int, Position]):
    """The steps that were taken, among very many."""

    def __missing__(self, place: int) -> None:
        return None


class PositionGraph:
    """The positions that can be reached from one."""

    def __init__(self, rules: Rules, start: State) -> None:
        self.rules = rules
        self.start = Position(rules, start)
        self._positions = {orjson.dumps(start): self.start}
        self._bytes = 0

    def find_next(self, position: Position, place: int) -> Position:
        """Return what follows a position after the move, or outcome of chance, at this place."""
        return position.after[place] or self._add_step(position, place)

    def view_end(self, position: Position) -> list[Any]:
        """Return both seats' views of a game that is over."""
        if position.final_views is None:
            position.final_views = [self.rules.view(position.state, seat) for seat in (0, 1)]
        return position.final_views

    def _add_step(self, position: Position, place: int) -> Position:
        state = self.rules.apply(position.state, position.find_moves(place))
        if len(self._positions) >= MAX_POSITIONS or self._bytes >= MAX_BYTES:
            return Position(self.rules, state)
        try:
            text = orjson.dumps(state)
        except TypeError:  # JSON can't hold it
            return Position(self.rules, state)
        after = self._positions.get(text)
        if after is None:
            after = self._positions[text] = Position(self.rules, state)
            self._bytes += len(text) + after.count_view_bytes()
        position.after[place] = after
        return after


def find_positions(rules: Rules, start: State) -> PositionGraph | None:
    """Return the positions from this one on; None if JSON can't hold the state."""
    try:
        text = orjson.dumps(start)
    except TypeError:
        return None
    if isinstance(rules, Hashable):
        return _share_positions(rules, text, _Start(start))
    return PositionGraph(rules, start)


class _Start:
    """A start state that is equal to any other: its text stands beside it."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Start)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=MAX_GRAPHS)
def _share_positions(rules: Rules, _text: bytes, start: _Start) -> PositionGraph:
    """Make the positions once in a process: strategies of ours don't write into what they see, others see copies."""
    return PositionGraph(rules, start.state)


def copy_json(value: Any) -> Any:
    """Copy lists, tuples and objects of JSON data, and all in them; anything else is returned as it is."""
    if isinstance(value, list):
        return [copy_json(item) if isinstance(item, list | tuple | dict) else item for item in value]
    if isinstance(value, dict):
        return {
            name: copy_json(item) if isinstance(item, list | tuple | dict) else item for name, item in value.items()
        }
    if type(value) is tuple:
        return tuple(copy_json(item) if isinstance(item, list | tuple | dict) else item for item in value)
    return value


def _count_bytes(view: Any) -> int:
    try:
        return len(orjson.dumps(view))
    except TypeError:  # JSON can't hold it
        return len(repr(view))


def _find_legal(rules: Rules, state: State, seat: int) -> Sequence[Move]:
    legal = rules.legal(state, seat)
    return tuple(legal) if type(legal) is list else legal
