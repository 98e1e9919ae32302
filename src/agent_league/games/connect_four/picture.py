"""The board of Connect Four as text, the numbers of the columns below it."""

from typing import Any

from agent_league.games.connect_four.rules import DISCS, MOST
from agent_league.games.pictures import side

EMPTY = "."


def show(view: Any, seat: int | None) -> str:
    board, rows = view["board"], view["rows"]
    if not (1 <= rows <= MOST and 1 <= len(board) <= MOST):
        raise ValueError(f"no board of at most {MOST} columns and rows")
    if not all(set(column) <= set(DISCS) and len(column) <= rows for column in board):
        raise ValueError("no columns of discs")
    width = len(str(len(board) - 1)) + 1
    grid = [[column[row : row + 1] or EMPTY for column in board] for row in reversed(range(rows))]
    lines = ["".join(f"{cell:>{width}}" for cell in line) for line in (*grid, range(len(board)))]
    return "\n".join(lines) + side(None if seat is None else DISCS[seat])
