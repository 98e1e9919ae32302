"""The interface of a game's rules: six pure functions over a state that JSON can hold.

Seats are numbers, never player ids. Chance is a seat, too, so that every draw is a move in the log and a replay needs
no random numbers. Rules import nothing but this module: no time, no randomness, no network.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from agent_league.text import quote

CHANCE = -1
"""The seat of the referee's draw."""
MAX_LISTED_MOVES = 256
"""A longer range is sent to players as a schema, and described by its ends."""
REPEAT_PARAMETERS = ("repeat", "first_to")
"""Parameters of every game that make a match of several games; a game's own rules never see them."""

State = Any
Move = Any


class BadParameters(ValueError):
    """Parameters under which the game can't be played."""


class Rules(Protocol):
    """The rules of a game for two seats, 0 and 1.

    Optional members, which the contract test checks:
    `perfect_information = True`: every view is the state itself, seats never move at the same time, players may search;
    `hidden(state, seat)`: other states that this seat must not be able to tell from this one;
    `public_moves = False`: a seat may not know the other's moves; it learns of them by its view alone;
    `begin_turns(state)`: see TurnRules.
    """

    def new(self, config: Mapping[str, Any]) -> State:
        """Return the initial state; raises BadParameters."""
        ...

    def actors(self, state: State) -> tuple[int, ...]:
        """Return who acts now: `()` nobody, it is over; `(0,)` one seat; `(0, 1)` both at once; `(CHANCE,)` a draw."""
        ...

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        """Return the moves a seat may make; for CHANCE, pairs of an outcome and its weight.

        A long `range` is sent to the players as a JSON Schema with its ends.
        """
        ...

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        """Return the state after exactly one legal move of each actor; `state` must not be changed."""
        ...

    def view(self, state: State, seat: int | None) -> Any:
        """Return what a seat may see; for None, everything."""
        ...

    def returns(self, state: State) -> tuple[float, float]:
        """Return a number for each seat, once it is over; the higher one wins, equal ones are a draw."""
        ...


class TurnRun(Protocol):
    """One game of turns that is being played: it changes with every move."""

    legal: Sequence[Move]
    """What the seat whose turn it is may play; nothing, once it is over."""
    returns: tuple[float, float]
    """As `Rules.returns` gives them, once it is over."""

    def make_move(self, move: Move) -> None:
        """Make one of the legal moves."""
        ...

    def make_state(self) -> State:
        """Return the state that `Rules.apply` gives after the same moves."""
        ...


class TurnRules(Rules, Protocol):
    """Rules with a faster way through games in which the seats move by turns, seat 0 first, and see everything.

    Series of many games take it; everything else goes by the six functions.
    """

    def begin_turns(self, state: State) -> TurnRun:
        """Begin a game in its initial state."""
        ...


def is_legal_move(legal: Sequence[Move], move: Move) -> bool:
    """Whether a move is one of the legal ones, with equal value and types; fast for a range."""
    if isinstance(legal, range):
        return type(move) is int and move in legal
    for option in legal:  # noqa: SIM110 - `any` takes twice as long, and this is asked for every move
        if _is_same_value(option, move):
            return True
    return False


def is_long_range(moves: Sequence[Move]) -> TypeGuard[range]:
    """Whether the moves are a range too long to be listed."""
    return isinstance(moves, range) and len(moves) > MAX_LISTED_MOVES


def describe_range(moves: range) -> str:
    """Describe a range by its ends, for people and language models."""
    low, high, step = min(moves[0], moves[-1]), max(moves[0], moves[-1]), abs(moves.step)
    return f"the whole numbers from {low} to {high}" + (f" in steps of {step}" if step > 1 else "")


def _is_same_value(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same_value, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same_value(value, other[name]) for name, value in one.items())
    return bool(one == other)


def has_perfect_information(rules: Rules) -> bool:
    """Whether the rules declare perfect information: every view is the state itself."""
    return bool(getattr(rules, "perfect_information", False))


def has_public_moves(rules: Rules) -> bool:
    """Whether each seat may know the other's moves, once all actors have moved."""
    return bool(getattr(rules, "public_moves", True))


def has_turn_runs(rules: Rules) -> TypeGuard[TurnRules]:
    """Whether the rules have the faster way through their games."""
    return hasattr(rules, "begin_turns")


def find_hidden_states(rules: Rules, state: State, seat: int) -> Iterable[State]:
    """Return the states that a seat must not be able to tell from this one; empty if the rules name none."""
    told = getattr(rules, "hidden", None)
    found: Iterable[State] = told(state, seat) if told else ()
    return found


def check_parameter_names(config: Mapping[str, Any], *known: str) -> None:
    """Raise BadParameters for a parameter that the rules don't have."""
    for name in config:
        if name not in known and name not in REPEAT_PARAMETERS:
            there_are = ", ".join((*known, *REPEAT_PARAMETERS))
            raise BadParameters(f"there is no parameter {quote(name)} (there are: {there_are})")


def read_whole_number(config: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """Read a parameter that must be a whole number within bounds; raises BadParameters."""
    value = config.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadParameters(f"{name} must be a whole number from {least} to {most}, found {quote(value)}")
    return value


def winning_seat(returns: Sequence[float]) -> int | None:
    """Return the seat with the higher return; None for a draw."""
    a, b = returns
    if a == b:
        return None
    return 0 if a > b else 1
