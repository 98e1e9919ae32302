"""Tic-tac-toe: three in a row wins."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.registry import Game
from agent_league.games.scene import Board, Cell, Scene
from agent_league.games.tic_tac_toe.rules import EMPTY, LINES, MARKS, TicTacToeRules
from agent_league.games.view import describe_mark

HOW_TO_PLAY = """\
By turns the players mark the cells of a board of three by three, and three marks in a row, a column or a diagonal win.

PLAYER_A (seat 0) marks X and begins, PLAYER_B (seat 1) marks O. The cells are numbered row by row from the top left: \
0 1 2 / 3 4 5 / 6 7 8. A move is the number of an empty cell. A full board without three in a row is a draw.

The view shows everything: `board`, nine letters in the order of the cells, "X", "O" or "." for an empty one; `turn`, \
the seat that moves next; `winner`, the seat that has won, or null. Who plays without a mistake never loses.
"""
GOALS = (
    "You mark X and begin: you win with three X in a row, a column or a diagonal, and lose to three O.",
    "You mark O and move second: you win with three O in a row, a column or a diagonal, and lose to three X.",
)


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


TIC_TAC_TOE = Game(
    "tic_tac_toe", TicTacToeRules(), title="Tic-Tac-Toe", how_to_play=HOW_TO_PLAY, goals=GOALS, show=show, scene=scene
)
