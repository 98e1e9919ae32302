"""Legal moves: find the one that a value stands for, describe them, offer them to a person, and parse what is typed.

They may be a range too long to iterate over. A typed number is a move, or part of one, if the moves contain numbers,
and else a place in the list; `#2` is always the second of the list.
"""

import json
import re
from collections.abc import Sequence
from operator import index
from typing import Any

from agent_league.games.base import describe_range, is_legal_move, is_long_range
from agent_league.text import format_move, quote

MAX_LISTED_MOVES = 20
MAX_SHOWN_CHOICES = 30
MAX_CHOICE_LENGTH = 60
MAX_INPUT_LENGTH = 500
HELP_WORDS = ("?", "help")
_NUMBER_PATTERN = re.compile(r"[0-9]{1,15}", re.ASCII)
_ONLY_NUMBERS_PATTERN = re.compile(r"[\s\[(]*[0-9]+(?:[\s,]+[0-9]+)*[\s\])]*", re.ASCII)
_PLACE_PATTERN = re.compile(r"#\s*([0-9]{1,9})", re.ASCII)


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


def find_named_moves(said: Any, legal: Sequence[Any]) -> list[Any]:
    """Return the legal moves that an answer names: as `find_meant_moves`, a word also in any letter case."""
    if not isinstance(said, str):
        return find_meant_moves(said, legal)
    text = said.strip()
    found = find_meant_moves(said, legal) or find_meant_moves(text, legal)
    if found or is_long_range(legal):
        return found
    return [move for move in legal if isinstance(move, str) and move.casefold() == text.casefold()]


def describe_legal_moves(legal: Sequence[Any]) -> str:
    """Write the legal moves as text for people: the first 20, or both ends of a long range."""
    if is_long_range(legal):
        return describe_range(legal)
    shown = ", ".join(quote(move) for move in legal[:MAX_LISTED_MOVES])
    return shown if len(legal) <= MAX_LISTED_MOVES else f"{shown}, ... ({len(legal)} in all)"


def parse_choice(line: str, legal: Sequence[Any]) -> Any:
    """Parse a typed line into a move; None if it fits none or several.

    Tried in this order: exact name, name in any case, JSON, place in the list, numbers in a move, beginning of a name.
    """
    text = line.strip()[:MAX_INPUT_LENGTH]
    if is_long_range(legal):
        return next(iter(find_meant_moves(text, legal)), None)
    names = [format_move(move) for move in legal]
    for found in (
        [move for move, name in zip(legal, names, strict=True) if name == text],
        [move for move, name in zip(legal, names, strict=True) if name.casefold() == text.casefold()],
        _find_by_json(text, legal),
        _find_by_place(text, legal, names),
        _find_by_numbers(text, legal, names),
        [move for move, name in zip(legal, names, strict=True) if text and name.startswith(text)],
        [move for move, name in zip(legal, names, strict=True) if text and name.casefold().startswith(text.casefold())],
    ):
        if len(found) == 1:
            return found[0]
    return None


def is_help_request(line: str, legal: Sequence[Any]) -> bool:
    """Whether the line asks for the rules; False if a legal move has that name."""
    text = line.strip().casefold()
    return text in HELP_WORDS and (is_long_range(legal) or all(format_move(move).casefold() != text for move in legal))


def list_choices(legal: Sequence[Any]) -> list[str]:
    """List the moves as they are offered, at most 30; those that aren't numbers are prefixed with their places."""
    if is_long_range(legal):
        return [describe_range(legal)]
    names = [
        format_move(move, MAX_CHOICE_LENGTH)
        if _are_numbers(legal)
        else f"#{place} {format_move(move, MAX_CHOICE_LENGTH)}"
        for place, move in enumerate(legal[:MAX_SHOWN_CHOICES], start=1)
    ]
    return names if len(legal) <= MAX_SHOWN_CHOICES else [*names, f"... ({len(legal)} in all)"]


def build_choice_prompt(legal: Sequence[Any]) -> str:
    """Build the input prompt, which says what may be typed."""
    if is_long_range(legal) or _are_numbers(legal):
        what = "the number"
    elif _have_numbers(map(format_move, legal)):
        what = "the move, or #1 for the first"
    else:
        what = "the move, its beginning or its number"
    return f"{what} (? shows the rules) > "


def wrap_items(items: Sequence[str], width: int) -> str:
    """Join items with commas and wrap them at `width`; an item is never broken."""
    lines = [""]
    for number, item in enumerate(items, start=1):
        said = item if number == len(items) else f"{item},"
        if lines[-1] and len(lines[-1]) + 1 + len(said) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {said}".lstrip()
    return "\n".join(lines)


def _find_by_json(text: str, legal: Sequence[Any]) -> list[Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [move for move in legal if is_legal_move([move], said)]


def _find_by_place(text: str, legal: Sequence[Any], names: Sequence[str]) -> list[Any]:
    place = _PLACE_PATTERN.fullmatch(text) or (None if _have_numbers(names) else _NUMBER_PATTERN.fullmatch(text))
    number = int(place[place.lastindex or 0]) if place else 0
    return [legal[number - 1]] if 1 <= number <= len(legal) else []


def _find_by_numbers(text: str, legal: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the moves that contain exactly these numbers: `1 2` for [1, 2], `3` for x3."""
    if not _ONLY_NUMBERS_PATTERN.fullmatch(text):
        return []
    wanted = [int(number) for number in _NUMBER_PATTERN.findall(text)]
    return [
        move
        for move, name in zip(legal, names, strict=True)
        if [int(n) for n in _NUMBER_PATTERN.findall(name)] == wanted
    ]


def _are_numbers(legal: Sequence[Any]) -> bool:
    return all(isinstance(move, int | float) and not isinstance(move, bool) for move in legal)


def _have_numbers(names: Any) -> bool:
    return any(_NUMBER_PATTERN.search(name) for name in names)
