"""A game of somebody else's with more moves than anybody can list: both name a number, and the higher one wins."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import Move, State
from agent_league.games.registry import Game

MOST = 10**12


class HighestRules:
    """The numbers from 0 to `most`, in steps of `step`."""

    def new(self, config: Mapping[str, Any]) -> State:
        return {"most": config.get("most", MOST), "step": config.get("step", 1), "named": None}

    def actors(self, state: State) -> tuple[int, ...]:
        return (0, 1) if state["named"] is None else ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return range(0, state["most"] + 1, state["step"])

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**state, "named": [moves[0], moves[1]]}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        a, b = state["named"]
        return (float(a), float(b))


HIGHEST = Game("highest", HighestRules(), payoffs=True)
