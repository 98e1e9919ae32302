"""The board of tic-tac-toe as text: an empty cell shows its number."""

from typing import Any

from agent_league.games.pictures import side
from agent_league.games.tic_tac_toe.rules import EMPTY, MARKS


def show(view: Any, seat: int | None) -> str:
    board = view["board"]
    if len(board) != 9 or not set(board) <= {EMPTY, *MARKS}:
        raise ValueError("no board of nine cells")
    cells = [f" {number if mark == EMPTY else mark} " for number, mark in enumerate(board)]
    rows = ["|".join(cells[first : first + 3]) for first in (0, 3, 6)]
    return "\n---+---+---\n".join(rows) + side(None if seat is None else MARKS[seat])
