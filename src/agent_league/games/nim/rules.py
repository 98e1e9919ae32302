"""The rules of nim: heaps, and who takes the last one. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import BadParameters, Move, State, check_parameter_names
from agent_league.text import quote

DEFAULTS: dict[str, Any] = {"heaps": [3, 4, 5], "misere": False}
MAX_HEAPS = 10
MAX_HEAP_SIZE = 25


class NimRules:
    """Each turn takes any number from one heap."""

    perfect_information = True

    def new(self, config: Mapping[str, Any]) -> State:
        check_parameter_names(config, *DEFAULTS)
        heaps, misere = config.get("heaps", DEFAULTS["heaps"]), config.get("misere", DEFAULTS["misere"])
        if not isinstance(heaps, list) or not 1 <= len(heaps) <= MAX_HEAPS or not all(map(_is_heap, heaps)):
            raise BadParameters(
                f"heaps must be a list of 1 to {MAX_HEAPS} whole numbers from 1 to {MAX_HEAP_SIZE}, "
                f"found {quote(heaps)}"
            )
        if not isinstance(misere, bool):
            raise BadParameters(f"misere must be true or false, found {quote(misere)}")
        return {"heaps": list(heaps), "misere": misere, "turn": 0}

    def actors(self, state: State) -> tuple[int, ...]:
        return (state["turn"],) if any(state["heaps"]) else ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [[heap, taken] for heap, left in enumerate(state["heaps"]) for taken in range(1, left + 1)]

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        heap, taken = moves[state["turn"]]
        heaps = state["heaps"].copy()
        heaps[heap] -= taken
        return {**state, "heaps": heaps, "turn": 1 - state["turn"]}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        """The seat that would move next did not take the last one; it loses, or wins with `misere`."""
        winner = state["turn"] if state["misere"] else 1 - state["turn"]
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)


def _is_heap(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_HEAP_SIZE
