"""Formats moves for a host within a length, since they are the referee's text, and parses its answers.

Every legal move can be played: by its value, as it was shown, or by its place in the referee's list: `#1`, `#2`, ...
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent_league.games.base import is_long_range
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import Move
from agent_league.text import shorten_json

MAX_MOVE_LENGTH = 200
MAX_LIST_LENGTH = 4000
FIRST_MOVES = 10
MAX_PAST_LENGTH = 500
_PLACE_PATTERN = re.compile(r"#([1-9][0-9]{0,8})(?:: .*)?", re.ASCII | re.DOTALL)


def format_legal_moves(moves: Sequence[Move]) -> list[Any]:
    """Return the first legal moves, only FIRST_MOVES of a long range; a long move is shown with its place."""
    first = moves[:FIRST_MOVES] if is_long_range(moves) else moves
    return _limit_length(MAX_LIST_LENGTH, (_format_move(place, move) for place, move in enumerate(first, start=1)))


def format_past_moves(moves: Sequence[Move]) -> list[Any]:
    """Return the first moves of a game, then how many more there are."""
    shown = _limit_length(MAX_PAST_LENGTH, map(shorten_for_host, moves))
    return shown if len(shown) == len(moves) else [*shown, f"... {len(moves) - len(shown)} more"]


def parse_move(said: Any, legal: Sequence[Move]) -> Move:
    """Return the legal move that a host's answer means; the answer itself if it means none."""
    place = _PLACE_PATTERN.fullmatch(said) if isinstance(said, str) and not find_equal_moves(said, legal) else None
    if place is None or int(place[1]) > len(legal):
        return said
    move = legal[int(place[1]) - 1]
    return move if said in (f"#{place[1]}", _format_move(int(place[1]), move)) else said


def shorten_for_host(data: Any, longest: int = MAX_MOVE_LENGTH) -> Any:
    """Return data as it is if short, else the beginning of its text."""
    return data if _is_short(data, longest) else shorten_json(_to_text(data), longest=longest)


def _format_move(place: int, move: Move) -> Any:
    return move if _is_short(move, MAX_MOVE_LENGTH) else f"#{place}: {shorten_for_host(move)}"


def _is_short(data: Any, longest: int) -> bool:
    """Whether data may be shown as it is: short, and without lone surrogates."""
    return len(json.dumps(data)) <= longest and bool(shorten_json(data, longest=longest) == data)


def _to_text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data)


def _limit_length(letters: int, shown: Iterable[Any]) -> list[Any]:
    kept = []
    for one in shown:
        letters -= len(json.dumps(one))
        if letters < 0:
            break
        kept.append(one)
    return kept
