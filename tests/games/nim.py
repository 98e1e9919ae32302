"""A game of somebody else's: by turns, with no words of its own. Who takes the last stick wins."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import BadParameters, Move, State
from agent_league.games.registry import Game


class NimRules:
    """A heap of sticks; each turn takes one to `most`."""

    def new(self, config: Mapping[str, Any]) -> State:
        if config["sticks"] < 1:
            raise BadParameters(f"sticks must be 1 or more, found {config['sticks']!r}")
        return {"left": config["sticks"], "most": config["most"], "turn": 0}

    def actors(self, state: State) -> tuple[int, ...]:
        return (state["turn"],) if state["left"] else ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return range(1, min(state["most"], state["left"]) + 1)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**state, "left": state["left"] - moves[state["turn"]], "turn": 1 - state["turn"]}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        return (-1.0, 1.0) if state["turn"] == 0 else (1.0, -1.0)


NIM = Game("nim", NimRules(), parameters={"sticks": 7, "most": 3})
