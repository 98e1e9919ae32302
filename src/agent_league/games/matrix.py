"""Matrix games: both choose once, at the same time, and a table has the payoffs of every pair of moves.

The table is in the view, so that a player that doesn't know the game can find its best reply.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import Move, State


class MatrixRules(ABC):
    """Rules of a game that is defined by its payoff table."""

    moves: tuple[Move, ...]

    @abstractmethod
    def payoff_table(self, config: Mapping[str, Any]) -> list[list[Any]]:
        """Return a row for every pair of moves: [move of seat 0, move of seat 1, payoff of seat 0, payoff of seat 1].

        May raise BadParameters.
        """

    def new(self, config: Mapping[str, Any]) -> State:
        return {"payoffs": self.payoff_table(config), "choices": None}

    def actors(self, state: State) -> tuple[int, ...]:
        return (0, 1) if state["choices"] is None else ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return self.moves

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**state, "choices": [moves[0], moves[1]]}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        a, b = state["choices"]
        return next((float(row[2]), float(row[3])) for row in state["payoffs"] if row[0] == a and row[1] == b)
