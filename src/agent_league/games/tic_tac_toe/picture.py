"""Draws the board of tic-tac-toe, as text with the numbers of empty cells, and as a scene."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.scene import Board, Cell, Scene
from agent_league.games.shared_views import describe_mark
from agent_league.games.tic_tac_toe.rules import EMPTY, LINES, MARKS


def show(view: Any, seat: int | None) -> str:
    board = _read_board(view)
    cells = [f" {number if mark == EMPTY else mark} " for number, mark in enumerate(board)]
    rows = ["|".join(cells[first : first + 3]) for first in (0, 3, 6)]
    return "\n---+---+---\n".join(rows) + describe_mark(None if seat is None else MARKS[seat])


def scene(view: Any, _seat: int | None, last: Mapping[int, Move]) -> Scene:
    board = _read_board(view)
    lines = [line for line in LINES if board[line[0]] != EMPTY and len({board[cell] for cell in line}) == 1]
    won = {cell for line in lines for cell in line}
    cells = [
        Cell(move=number)
        if mark == EMPTY
        else Cell(mark, MARKS.index(mark), is_last=number in last.values(), is_winning=number in won)
        for number, mark in enumerate(board)
    ]
    rows = tuple(tuple(cells[first : first + 3]) for first in (0, 3, 6))
    return Scene((Board(rows),), "Three in a line." if won else "")


def _read_board(view: Any) -> Any:
    board = view["board"]
    if len(board) != 9 or not set(board) <= {EMPTY, *MARKS}:
        raise ValueError("no board of nine cells")
    return board
