"""Formats moves for a host within a length, since they are the referee's text, and parses its answers.

Every legal move can be played: by its value, as it was shown, or by its place in the referee's list: `#1`, `#2`, ...
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent_league.games.base import is_long
from agent_league.players.legal_moves import spelled
from agent_league.players.observation import Move
from agent_league.protocol.quoted_text import shortened

LONGEST_MOVE = 200
LONGEST_LIST = 4000
FEW = 10
LONGEST_PAST = 500
_PLACE = re.compile(r"#([1-9][0-9]{0,8})(?:: .*)?", re.ASCII | re.DOTALL)


def legal_shown(moves: Sequence[Move]) -> list[Any]:
    """Return the first legal moves, only FIRST_MOVES of a long range; a long move is shown with its place."""
    first = moves[:FEW] if is_long(moves) else moves
    return _within(LONGEST_LIST, (_numbered(place, move) for place, move in enumerate(first, start=1)))


def past_shown(moves: Sequence[Move]) -> list[Any]:
    """Return the first moves of a game, then how many more there are."""
    shown = _within(LONGEST_PAST, map(cut, moves))
    return shown if len(shown) == len(moves) else [*shown, f"... {len(moves) - len(shown)} more"]


def understood(said: Any, legal: Sequence[Move]) -> Move:
    """Return the legal move that a host's answer means; the answer itself if it means none."""
    place = _PLACE.fullmatch(said) if isinstance(said, str) and not spelled(said, legal) else None
    if place is None or int(place[1]) > len(legal):
        return said
    move = legal[int(place[1]) - 1]
    return move if said in (f"#{place[1]}", _numbered(int(place[1]), move)) else said


def cut(data: Any, longest: int = LONGEST_MOVE) -> Any:
    """Return data as it is if short, else the beginning of its text."""
    return data if _is_short(data, longest) else shortened(_text(data), longest=longest)


def _numbered(place: int, move: Move) -> Any:
    return move if _is_short(move, LONGEST_MOVE) else f"#{place}: {cut(move)}"


def _is_short(data: Any, longest: int) -> bool:
    """Whether data may be shown as it is: short, and without lone surrogates."""
    return len(json.dumps(data)) <= longest and bool(shortened(data, longest=longest) == data)


def _text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data)


def _within(letters: int, shown: Iterable[Any]) -> list[Any]:
    kept = []
    for one in shown:
        letters -= len(json.dumps(one))
        if letters < 0:
            break
        kept.append(one)
    return kept
