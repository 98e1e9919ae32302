"""Legal moves: find the one a value stands for, and describe them. They may be a range too long to iterate over."""

import json
from collections.abc import Sequence
from operator import index
from typing import Any

from agent_league.games.base import describe_range, is_long_range

MAX_LISTED_MOVES = 20


def find_equal_moves(move: Any, legal: Sequence[Any]) -> list[Any]:
    """Return the legal moves equal to `move`, at most one of a range, as the referee wrote them (1 for True)."""
    if not isinstance(legal, range):
        return [option for option in legal if option == move]
    try:
        whole = int(move) if isinstance(move, float) and move.is_integer() else index(move)
    except TypeError:
        return []
    return [whole] if whole in legal else []


def find_meant_moves(said: Any, legal: Sequence[Any]) -> list[Any]:
    """Return the legal moves equal to `said`, which may be a number written as text, such as "3"."""
    if not isinstance(said, str):
        return find_equal_moves(said, legal)
    if not isinstance(legal, range):
        return find_equal_moves(said, legal) or [
            one for one in legal if not isinstance(one, str) and json.dumps(one) == said
        ]
    try:
        number = int(said)
    except ValueError:
        return []
    return find_equal_moves(number, legal) if str(number) == said else []


def describe_legal_moves(legal: Sequence[Any]) -> str:
    """Write the legal moves as text for people: the first 20, or both ends of a long range."""
    if is_long_range(legal):
        return describe_range(legal)
    shown = ", ".join(f"{move!r:.80}" for move in legal[:MAX_LISTED_MOVES])
    return shown if len(legal) <= MAX_LISTED_MOVES else f"{shown}, ... ({len(legal)} in all)"
