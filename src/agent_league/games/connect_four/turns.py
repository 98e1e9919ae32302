"""Connect Four with a number for the discs of each seat, for series of many games.

A disc is four bits of the number, one for each direction of lines. The places of a line have bits side by side, with a
gap before the next line, so that shifting the number by one finds the neighbours in all directions at once.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from agent_league.games.base import Move, State

DISCS = "XO"
RETURNS = {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}
LINE_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
"""Steps in columns and rows from one place of a line to the next."""


class ConnectFourRun:
    """A game that is being played."""

    __slots__ = ("_free_places", "_moves", "_other", "_own", "_shifts", "_start", "legal", "returns")

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        columns = find_place_bits(len(start["board"]), start["rows"])
        self._free_places = [column.copy() for column in columns]
        """Bits of the free places of each column, the lowest last."""
        self._shifts = _plan_shifts(start["connect"])
        self._own, self._other = 0, 0
        """The discs of the seat that moves next, and those of the other."""
        self._moves: list[int] = []
        self.legal: tuple[int, ...] = tuple(range(len(columns)))
        self.returns = RETURNS[None]

    def make_move(self, move: Move) -> None:
        column = self._free_places[move]
        discs = self._own | column.pop()
        self._own, self._other = self._other, discs
        self._moves.append(move)
        for shift in self._shifts:
            discs &= discs >> shift
        if discs:
            self.legal = ()
            self.returns = RETURNS[self._find_winner()]
        elif not column:
            self.legal = tuple(index for index in self.legal if index != move)

    def make_state(self) -> State:
        board = self._start["board"].copy()
        for step, index in enumerate(self._moves):
            board[index] += DISCS[step % 2]
        winner = self._find_winner() if self.returns != RETURNS[None] else None
        return {**self._start, "board": board, "turn": len(self._moves) % 2, "winner": winner}

    def _find_winner(self) -> int:
        """The seat that moved last."""
        return (len(self._moves) - 1) % 2


@lru_cache(maxsize=16)
def find_place_bits(columns: int, rows: int) -> list[list[int]]:
    """For each column, the bits of its places from the top down; not to be changed."""
    bits = [[0] * rows for _ in range(columns)]
    bit = 1
    for across, up in LINE_DIRECTIONS:
        for x in range(columns):
            for y in range(rows):
                if 0 <= x - across < columns and 0 <= y - up < rows:
                    continue
                place = (x, y)
                while 0 <= place[0] < columns and 0 <= place[1] < rows:
                    bits[place[0]][place[1]] |= bit
                    bit <<= 1
                    place = (place[0] + across, place[1] + up)
                bit <<= 1
    return [column[::-1] for column in bits]


@lru_cache(maxsize=16)
def _plan_shifts(connect: int) -> tuple[int, ...]:
    """Shifts, one after the other, that leave a bit only where `connect` bits are side by side."""
    shifts, found = list[int](), 1
    while found < connect:
        shifts.append(min(found, connect - found))
        found += shifts[-1]
    return tuple(shifts)
