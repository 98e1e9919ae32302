"""The seam of a game: six pure functions over a JSON-able state.

Seats are numbers, never player ids. Chance is a seat too, so that every draw is an event in the log and a replay needs
no random numbers. Rules import nothing but this module: no time, no randomness, no network.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

CHANCE = -1
"""The seat of the referee's draw."""

State = Any
Move = Any


class BadParameters(ValueError):
    """The parameters in `games_registry.json` don't make a game."""


class Rules(Protocol):
    """The rules of a game for two seats, 0 and 1.

    Rules that hide nothing may say so with a class attribute `perfect_information = True`: every view is then the
    state itself, and a player may look ahead from it.
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


def hides_nothing(rules: Rules) -> bool:
    """Whether every seat sees the state itself."""
    return bool(getattr(rules, "perfect_information", False))


def winning_seat(returns: Sequence[float]) -> int | None:
    """Who has won by these returns; None: nobody."""
    a, b = returns
    if a == b:
        return None
    return 0 if a > b else 1
