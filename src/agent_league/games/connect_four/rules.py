"""The rules of Connect Four. Pure, and fast: only lines through the last disc are checked for a win."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import BadParameters, Move, State, check_parameter_names, read_whole_number
from agent_league.games.connect_four.turns import DISCS, RETURNS, ConnectFourRun

DEFAULTS = {"columns": 7, "rows": 6, "connect": 4}
MAX_SIZE = 16
SLOPES = (0, 1, -1)
"""Rows that a line rises from one column to the next."""


class ConnectFourRules:
    """Discs fall to the bottom of a column; the board is a word for each column, from the bottom up."""

    perfect_information = True

    def new(self, config: Mapping[str, Any]) -> State:
        check_parameter_names(config, *DEFAULTS)
        columns, rows = (read_whole_number(config, name, DEFAULTS[name], 1, MAX_SIZE) for name in ("columns", "rows"))
        connect = read_whole_number(config, "connect", DEFAULTS["connect"], 2, MAX_SIZE)
        if connect > max(columns, rows):
            raise BadParameters(f"connect must fit on the board of {columns} columns and {rows} rows, found {connect}")
        return {"board": [""] * columns, "rows": rows, "connect": connect, "turn": 0, "winner": None}

    def actors(self, state: State) -> tuple[int, ...]:
        if state["winner"] is not None:
            return ()
        rows = state["rows"]
        for column in state["board"]:
            if len(column) < rows:
                return (state["turn"],)
        return ()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        rows = state["rows"]
        return [index for index, column in enumerate(state["board"]) if len(column) < rows]

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        seat = state["turn"]
        index = moves[seat]
        board = state["board"].copy()
        board[index] += DISCS[seat]
        winner = seat if _is_winning_disc(board, index, state["connect"]) else None
        return {**state, "board": board, "turn": 1 - seat, "winner": winner}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        return RETURNS[state["winner"]]

    def begin_turns(self, state: State) -> ConnectFourRun:
        return ConnectFourRun(state)


def _is_winning_disc(board: list[str], index: int, connect: int) -> bool:
    """Whether the top disc of a column is in a line of at least `connect` equal discs."""
    column = board[index]
    disc = column[-1]
    if len(column) >= connect and column.endswith(disc * connect):
        return True
    height = len(column) - 1
    right, left = board[index + 1 :], board[:index][::-1]
    return any(
        1 + _count_run(right, height, slope, disc) + _count_run(left, height, -slope, disc) >= connect
        for slope in SLOPES
    )


def _count_run(columns: list[str], height: int, slope: int, disc: str) -> int:
    """Count equal discs in a line without a gap, over adjacent columns."""
    run = 0
    for column in columns:
        height += slope
        if not 0 <= height < len(column) or column[height] != disc:
            break
        run += 1
    return run
