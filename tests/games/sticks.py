"""A game of somebody else's: by turns, with no words of its own. Who takes the last stick wins."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import Move, State, read_whole_number
from agent_league.games.registry import Game


class SticksRules:
    """A heap of sticks; each turn takes one to `most`."""

    def new(self, config: Mapping[str, Any]) -> State:
        left, most = read_whole_number(config, "sticks", 7, 1, 10**6), read_whole_number(config, "most", 3, 1, 10**6)
        return {"left": left, "most": most, "turn": 0}

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


class BrittleRules(SticksRules):
    """Sticks that break after the first move."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        if state["turn"]:
            raise KeyError("snap")
        return super().apply(state, moves)


BRITTLE = Game("brittle", BrittleRules())


class SecretRules(SticksRules):
    """What somebody took is for the other to find out."""

    public_moves = False


STICKS = Game("sticks", SticksRules(), parameters={"sticks": 7, "most": 3})
SECRET = Game("sticks", SecretRules(), parameters={"sticks": 7, "most": 3})
