"""Connect Four: four discs in a line win."""

from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from typing import Any

from agent_league.games.base import Move
from agent_league.games.connect_four.rules import DEFAULTS, MAX_SIZE, ConnectFourRules
from agent_league.games.connect_four.turns import DISCS, LINE_DIRECTIONS
from agent_league.games.registry import Game
from agent_league.games.scene import Board, Cell, Scene
from agent_league.games.view import describe_mark

HOW_TO_PLAY = """\
By turns the players drop discs into the columns of an upright board, and four of one's own in a line win.

PLAYER_A (seat 0) plays X and begins, PLAYER_B (seat 1) plays O. The board has `columns` (7) columns, numbered from 0 \
on the left, and `rows` (6) rows. A move is the number of a column that isn't full; the disc falls on what lies there. \
Who first has `connect` (4) discs side by side without a gap, across, upwards or along a diagonal, wins. A full board \
without such a line is a draw.

The view shows everything: `board`, a word for each column from left to right, written from the bottom up ("XO" is an \
X with an O on top, "" an empty column); `rows` and `connect`; `turn`, the seat that moves next; `winner`, the seat \
that has won, or null.
"""
GOALS = (
    "You play X and begin: you win as soon as `connect` X lie side by side in a line, and lose if as many O do.",
    "You play O and move second: you win as soon as `connect` O lie side by side in a line, and lose if as many X do.",
)

EMPTY = "."

Place = tuple[int, int]


def show(view: Any, seat: int | None) -> str:
    board, rows = _read_board(view)
    width = len(str(len(board) - 1)) + 1
    grid = [[column[row : row + 1] or EMPTY for column in board] for row in reversed(range(rows))]
    lines = ["".join(f"{cell:>{width}}" for cell in line) for line in (*grid, range(len(board)))]
    return "\n".join(lines) + describe_mark(None if seat is None else DISCS[seat])


def scene(view: Any, _seat: int | None, last: Mapping[int, Move]) -> Scene:
    board, rows = _read_board(view)
    discs = {(x, y): disc for x, column in enumerate(board) for y, disc in enumerate(column)}
    lines = list(_find_lines(discs, int(view["connect"])))
    won = {place for line in lines for place in line}
    latest = {(x, len(board[x]) - 1) for x in last.values()}
    grid = tuple(
        tuple(_build_cell((x, y), discs, latest, won, is_open=len(column) < rows) for x, column in enumerate(board))
        for y in reversed(range(rows))
    )
    said = f"{max(map(len, lines))} in a line." if lines else ""
    return Scene((Board(grid, tuple(map(str, range(len(board)))), is_round=True),), said)


def _build_cell(
    place: Place, discs: Mapping[Place, str], latest: set[Place], won: set[Place], *, is_open: bool
) -> Cell:
    move = place[0] if is_open else None
    if place not in discs:
        return Cell(move=move)
    return Cell(discs[place], DISCS.index(discs[place]), move, is_last=place in latest, is_winning=place in won)


def _find_lines(discs: Mapping[Place, str], connect: int) -> Iterator[list[Place]]:
    """Yield the places of each line of at least `connect` equal discs."""
    for (x, y), disc in discs.items():
        for across, up in LINE_DIRECTIONS:
            if discs.get((x - across, y - up)) == disc:
                continue
            along = ((x + across * far, y + up * far) for far in count())
            line = list(takewhile(lambda place, disc=disc: discs.get(place) == disc, along))  # type: ignore[misc]
            if len(line) >= connect:
                yield line


def _read_board(view: Any) -> tuple[list[str], int]:
    board, rows = view["board"], view["rows"]
    if not (1 <= rows <= MAX_SIZE and 1 <= len(board) <= MAX_SIZE):
        raise ValueError(f"no board of at most {MAX_SIZE} columns and rows")
    if not all(set(column) <= set(DISCS) and len(column) <= rows for column in board):
        raise ValueError("no columns of discs")
    return board, rows


CONNECT_FOUR = Game(
    "connect_four",
    ConnectFourRules(),
    parameters=DEFAULTS,
    title="Connect Four",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    show=show,
    scene=scene,
)
