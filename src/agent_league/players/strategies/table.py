"""A table of move values: how often each move was tried in a situation, and its mean value.

Its size is bounded, and it can be stored as JSON.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.text import quote

MAX_ENTRIES = 20_000
"""Moves of all situations together; the least recently used situation is dropped first."""
MAX_MOVES = 256
"""With more legal moves than these, nothing is learned."""
MAX_KEY_LENGTH = 64


@dataclass(slots=True)
class MoveValue:
    """How often a move was tried in a situation, and its mean value."""

    count: int = 0
    value: float = 0.0


class MoveValueTable:
    """Move values by situation. Beyond `max_count` tries, older ones lose weight, as opponents change."""

    def __init__(self, max_count: int) -> None:
        self._max_count = max_count
        self._situations: dict[str, dict[str, MoveValue]] = {}
        self._size = 0

    def find_moves(self, situation: Any) -> Mapping[str, MoveValue]:
        """Return the tried moves of a situation, by their keys."""
        return self._situations.get(short_key(situation), {})

    def add_value(self, situation: Any, move: Any, value: float) -> None:
        """Add the value of one try of a move; ignored if it isn't finite."""
        if not math.isfinite(value):
            return
        key, name = short_key(situation), short_key(move)
        moves = self._situations.pop(key, {})
        self._situations[key] = moves
        tried = moves.get(name)
        if tried is None:
            tried = moves[name] = MoveValue()
            self._size += 1
        tried.count = min(tried.count + 1, self._max_count)
        tried.value += (value - tried.value) / tried.count
        while self._size > MAX_ENTRIES:
            self._size -= len(self._situations.pop(next(iter(self._situations))))

    def to_json(self) -> dict[str, Any]:
        return {
            key: {name: [tried.count, tried.value] for name, tried in moves.items()}
            for key, moves in self._situations.items()
        }

    def load_json(self, saved: Any) -> None:
        """Replace the content by a saved one; raises ValueError if it is invalid."""
        read = {
            key: {name: _parse_move_value(entry) for name, entry in _check_object(moves).items()}
            for key, moves in _check_object(saved).items()
        }
        size = sum(map(len, read.values()))
        if size > MAX_ENTRIES:
            raise ValueError(f"a table holds {MAX_ENTRIES} moves at most, found {size}")
        self._situations, self._size = read, size


def short_key(value: Any) -> str:
    """Key of a situation or a move: its text, or a hash if that is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_KEY_LENGTH else hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _check_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"a table is made of objects, found {quote(value)}")
    return value


def _parse_move_value(entry: Any) -> MoveValue:
    count, value = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
    if type(count) is not int or count < 1 or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"a move is known by how often it was tried and what it is worth, found {quote(entry)}")
    return MoveValue(count, value)
