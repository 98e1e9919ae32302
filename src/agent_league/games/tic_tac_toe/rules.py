"""The rules of tic-tac-toe. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import Move, State, check_parameter_names

EMPTY = "."
MARKS = "XO"
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
LINES_THROUGH_CELL = tuple(tuple(line for line in LINES if cell in line) for cell in range(9))
"""The lines through each cell: only they can be filled by a mark there."""


class TicTacToeRules:
    """Three in a row wins; the board is nine letters, row by row."""

    perfect_information = True

    def new(self, config: Mapping[str, Any]) -> State:
        check_parameter_names(config)
        return {"board": EMPTY * 9, "turn": 0, "winner": None}

    def actors(self, state: State) -> tuple[int, ...]:
        return () if state["winner"] is not None or EMPTY not in state["board"] else (state["turn"],)

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [cell for cell, mark in enumerate(state["board"]) if mark == EMPTY]

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        seat = state["turn"]
        cell, mark = moves[seat], MARKS[seat]
        board = state["board"][:cell] + mark + state["board"][cell + 1 :]
        won = any(board[a] == board[b] == board[c] for a, b, c in LINES_THROUGH_CELL[cell])
        return {"board": board, "turn": 1 - seat, "winner": seat if won else None}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        return RETURNS[state["winner"]]


RETURNS = {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}
