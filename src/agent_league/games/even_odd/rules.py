"""The rules of Even/Odd. Pure: the drawn number comes in as a move of CHANCE."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import CHANCE, BadParameters, Move, State

PARITIES = ("even", "odd")
BOTH = (0, 1)
MAX_NUMBERS = 1_000_000
MAX_NUMBER = 2**53
"""The largest whole number that every JSON reader keeps exactly."""


def parity_of(number: int) -> str:
    return PARITIES[number % 2]


class EvenOddRules:
    """Both seats choose at once, then chance draws from `min_number` to `max_number`."""

    def new(self, config: Mapping[str, Any]) -> State:
        low, high = config.get("min_number", 1), config.get("max_number", 10)
        whole = all(isinstance(bound, int) and not isinstance(bound, bool) for bound in (low, high))
        if not whole or low > high:
            raise BadParameters(f"min_number and max_number must be integers in order, found {low!r} and {high!r}")
        if high - low >= MAX_NUMBERS or max(-low, high) > MAX_NUMBER:
            raise BadParameters(
                f"at most {MAX_NUMBERS} numbers, none beyond {MAX_NUMBER}, may be drawn from; found {low!r} to {high!r}"
            )
        return {"range": [low, high], "choices": None, "number": None}

    def actors(self, state: State) -> tuple[int, ...]:
        if state["choices"] is None:
            return BOTH
        return (CHANCE,) if state["number"] is None else ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        if seat == CHANCE:
            low, high = state["range"]
            return [(number, 1) for number in range(low, high + 1)]
        return PARITIES

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        if state["choices"] is None:
            return {**state, "choices": [moves[0], moves[1]]}
        return {**state, "number": moves[CHANCE]}

    def view(self, state: State, seat: int | None) -> Any:
        if seat is None or state["number"] is not None:
            return state
        return {**state, "choices": None}

    def returns(self, state: State) -> tuple[float, float]:
        right = [choice == parity_of(state["number"]) for choice in state["choices"]]
        return (float(right[0] - right[1]), float(right[1] - right[0]))
