"""The seam of a game: six pure functions over a JSON-able state.

Seats are numbers, never player ids. Chance is a seat too, so that every draw is an event in the log and a replay needs
no random numbers. Rules import nothing but this module: no time, no randomness, no network.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

CHANCE = -1
"""The seat of the referee's draw."""
LONGEST_LIST = 256
"""A range of more moves is told by its ends."""
REPEATING = ("repeat", "first_to")
"""Parameters of every game: they make a match of several games out of it, and mean nothing to its own rules."""

State = Any
Move = Any


class BadParameters(ValueError):
    """Parameters that make no game."""


class Rules(Protocol):
    """The rules of a game for two seats, 0 and 1.

    Rules that hide nothing may say so with a class attribute `perfect_information = True`: every view is then the
    state itself, nobody chooses at the same time as the other, and a player may look ahead. Rules that hide something
    may say what with a method `hidden(state, seat)`: other states that this seat must not be able to tell from this
    one. The contract test holds rules to either. Rules under which a seat may not know what the other has played say
    `public_moves = False`: moves are then told by the view alone.
    """

    def new(self, config: Mapping[str, Any]) -> State:
        """The state at the start; raises BadParameters."""
        ...

    def actors(self, state: State) -> tuple[int, ...]:
        """Who acts now: `()` it is over, `(0,)` a turn, `(0, 1)` both at once, `(CHANCE,)` a draw."""
        ...

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        """The moves a seat may make; for CHANCE, pairs of an outcome and its weight.

        A long `range` isn't written out to the players: they are told its ends, as a JSON Schema.
        """
        ...

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        """The state after exactly one legal move for each actor; the old state stays as it was."""
        ...

    def view(self, state: State, seat: int | None) -> Any:
        """What a seat may see; None sees everything."""
        ...

    def returns(self, state: State) -> tuple[float, float]:
        """A number for each seat, once it is over: who has more wins, and as many is a draw."""
        ...


def allows(legal: Sequence[Move], move: Move) -> bool:
    """Whether a move is one of the legal ones: same value, same types. A range isn't gone through."""
    if isinstance(legal, range):
        return type(move) is int and move in legal
    return any(_same(option, move) for option in legal)


def is_long(moves: Sequence[Move]) -> TypeGuard[range]:
    """Whether the moves are told by their ends, and not one by one."""
    return isinstance(moves, range) and len(moves) > LONGEST_LIST


def in_words(moves: range) -> str:
    """A range for people, and for models."""
    low, high, step = min(moves[0], moves[-1]), max(moves[0], moves[-1]), abs(moves.step)
    return f"the whole numbers from {low} to {high}" + (f" in steps of {step}" if step > 1 else "")


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def hides_nothing(rules: Rules) -> bool:
    """Whether every seat sees the state itself."""
    return bool(getattr(rules, "perfect_information", False))


def moves_are_public(rules: Rules) -> bool:
    """Whether each seat may know what the other has played, once all who were asked have answered."""
    return bool(getattr(rules, "public_moves", True))


def hidden(rules: Rules, state: State, seat: int) -> Iterable[State]:
    """States that a seat must not be able to tell from this one, where the rules say which."""
    told = getattr(rules, "hidden", None)
    found: Iterable[State] = told(state, seat) if told else ()
    return found


def check_names(config: Mapping[str, Any], *known: str) -> None:
    """Raises BadParameters for a parameter that the rules don't have."""
    for name in config:
        if name not in known and name not in REPEATING:
            there_are = ", ".join((*known, *REPEATING))
            raise BadParameters(f"there is no parameter {name!r:.80} (there are: {there_are})")


def whole_number(config: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A parameter that must be a whole number within bounds; raises BadParameters."""
    value = config.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadParameters(f"{name} must be a whole number from {least} to {most}, found {value!r:.80}")
    return value


def winning_seat(returns: Sequence[float]) -> int | None:
    """Who has won by these returns; None: nobody."""
    a, b = returns
    if a == b:
        return None
    return 0 if a > b else 1
