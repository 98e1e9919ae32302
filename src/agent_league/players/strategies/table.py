"""A table of move values: how often each move was tried in a situation, and its mean value.

Its size is bounded, and it can be stored as JSON.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_TRIED = 20_000
"""Moves of all situations together; the least recently used situation is dropped first."""
MOST_MOVES = 256
"""With more legal moves than these, nothing is learned."""
LONGEST_NAME = 64


@dataclass(slots=True)
class Tried:
    """How often a move was tried in a situation, and its mean value."""

    count: int = 0
    value: float = 0.0


class Table:
    """Move values by situation. Beyond `max_count` tries, older ones lose weight, as opponents change."""

    def __init__(self, recalled: int) -> None:
        self._recalled = recalled
        self._situations: dict[str, dict[str, Tried]] = {}
        self._size = 0

    def tried(self, situation: Any) -> Mapping[str, Tried]:
        """Return the tried moves of a situation, by their keys."""
        return self._situations.get(name_of(situation), {})

    def add(self, situation: Any, move: Any, value: float) -> None:
        """Add the value of one try of a move; ignored if it isn't finite."""
        if not math.isfinite(value):
            return
        key, name = name_of(situation), name_of(move)
        moves = self._situations.pop(key, {})
        self._situations[key] = moves
        tried = moves.get(name)
        if tried is None:
            tried = moves[name] = Tried()
            self._size += 1
        tried.count = min(tried.count + 1, self._recalled)
        tried.value += (value - tried.value) / tried.count
        while self._size > MOST_TRIED:
            self._size -= len(self._situations.pop(next(iter(self._situations))))

    def saved(self) -> dict[str, Any]:
        return {
            key: {name: [tried.count, tried.value] for name, tried in moves.items()}
            for key, moves in self._situations.items()
        }

    def restore(self, saved: Any) -> None:
        """Replace the content by a saved one; raises ValueError if it is invalid."""
        read = {
            key: {name: _read(entry) for name, entry in _object(moves).items()} for key, moves in _object(saved).items()
        }
        size = sum(map(len, read.values()))
        if size > MOST_TRIED:
            raise ValueError(f"a table holds {MOST_TRIED} moves at most, found {size}")
        self._situations, self._size = read, size


def name_of(value: Any) -> str:
    """Key of a situation or a move: its text, or a hash if that is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_NAME else hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"a table is made of objects, found {value!r:.80}")
    return value


def _read(entry: Any) -> Tried:
    count, value = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
    if type(count) is not int or count < 1 or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"a move is known by how often it was tried and what it is worth, found {entry!r:.80}")
    return Tried(count, value)
