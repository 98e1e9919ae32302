"""Moves offered to a person, and parsing of what the person types.

A typed number is a move, or part of one, if the moves contain numbers, and else a place in the list; `#2` is always the
second of the list.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from agent_league.games.base import allows, in_words, is_long
from agent_league.model.names import printable
from agent_league.players.legal_moves import meant

SHOWN_CHOICES = 30
LONGEST_CHOICE = 60
LONGEST_TYPED = 500
HELP = ("?", "help")
_NUMBERS = re.compile(r"[0-9]{1,15}", re.ASCII)
_ONLY_NUMBERS = re.compile(r"[\s\[(]*[0-9]+(?:[\s,]+[0-9]+)*[\s\])]*", re.ASCII)
_PLACE = re.compile(r"#\s*([0-9]{1,9})", re.ASCII)


def chosen(line: str, legal: Sequence[Any]) -> Any:
    """Parse a typed line into a move; None if it fits none or several.

    Tried in this order: exact name, name in any case, JSON, place in the list, numbers in a move, beginning of a name.
    """
    text = line.strip()[:LONGEST_TYPED]
    if is_long(legal):
        return next(iter(meant(text, legal)), None)
    names = [named(move) for move in legal]
    for found in (
        [move for move, name in zip(legal, names, strict=True) if name == text],
        [move for move, name in zip(legal, names, strict=True) if name.casefold() == text.casefold()],
        _as_json(text, legal),
        _at_place(text, legal, names),
        _by_numbers(text, legal, names),
        [move for move, name in zip(legal, names, strict=True) if text and name.startswith(text)],
        [move for move, name in zip(legal, names, strict=True) if text and name.casefold().startswith(text.casefold())],
    ):
        if len(found) == 1:
            return found[0]
    return None


def asks_for_help(line: str, legal: Sequence[Any]) -> bool:
    """Whether the line asks for the rules; False if a legal move has that name."""
    text = line.strip().casefold()
    return text in HELP and (is_long(legal) or all(named(move).casefold() != text for move in legal))


def choices(legal: Sequence[Any]) -> list[str]:
    """List the moves as they are offered, at most 30; those that aren't numbers are prefixed with their places."""
    if is_long(legal):
        return [in_words(legal)]
    names = [
        _short(move) if _are_numbers(legal) else f"#{place} {_short(move)}"
        for place, move in enumerate(legal[:SHOWN_CHOICES], start=1)
    ]
    return names if len(legal) <= SHOWN_CHOICES else [*names, f"... ({len(legal)} in all)"]


def prompt(legal: Sequence[Any]) -> str:
    """Build the input prompt, which says what may be typed."""
    if is_long(legal) or _are_numbers(legal):
        what = "the number"
    elif _have_numbers(map(named, legal)):
        what = "the move, or #1 for the first"
    else:
        what = "the move, its beginning or its number"
    return f"{what} (? shows the rules) > "


def in_lines(items: Sequence[str], width: int) -> str:
    """Join items with commas and wrap them at `width`; an item is never broken."""
    lines = [""]
    for number, item in enumerate(items, start=1):
        said = item if number == len(items) else f"{item},"
        if lines[-1] and len(lines[-1]) + 1 + len(said) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {said}".lstrip()
    return "\n".join(lines)


def named(move: Any) -> str:
    return printable(move if isinstance(move, str) else json.dumps(move))


def _as_json(text: str, legal: Sequence[Any]) -> list[Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [move for move in legal if allows([move], said)]


def _at_place(text: str, legal: Sequence[Any], names: Sequence[str]) -> list[Any]:
    place = _PLACE.fullmatch(text) or (None if _have_numbers(names) else _NUMBERS.fullmatch(text))
    number = int(place[place.lastindex or 0]) if place else 0
    return [legal[number - 1]] if 1 <= number <= len(legal) else []


def _by_numbers(text: str, legal: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the moves that contain exactly these numbers: `1 2` for [1, 2], `3` for x3."""
    if not _ONLY_NUMBERS.fullmatch(text):
        return []
    wanted = [int(number) for number in _NUMBERS.findall(text)]
    return [move for move, name in zip(legal, names, strict=True) if [int(n) for n in _NUMBERS.findall(name)] == wanted]


def _are_numbers(legal: Sequence[Any]) -> bool:
    return all(isinstance(move, int | float) and not isinstance(move, bool) for move in legal)


def _have_numbers(names: Any) -> bool:
    return any(_NUMBERS.search(name) for name in names)


def _short(move: Any) -> str:
    name = named(move)
    return name if len(name) <= LONGEST_CHOICE else f"{name[:LONGEST_CHOICE]}..."
