"""A view as text for people: the picture that its game draws, else names and values; how a repeated match stands.

A view comes from a referee, who may be anybody: whatever it is, there is a text, within bounds and without anything
that a terminal would obey.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.registry import Show, is_from_source, load_game
from agent_league.games.shared_views import amount, seat_names, show_payoffs
from agent_league.model.names import printable
from agent_league.protocol.quoted_text import shortened

MOST_LINES = 50
LONGEST_LINE = 160
LONGEST_MOVES = 60


def drawn(game_type: str, view: Any, seat: int | None) -> str:
    """The game's own picture of a view, else the view in plain lines; nothing where there is no view."""
    own = own_picture(game_type, view, seat)
    return plain(view) if own is None else own


def own_picture(game_type: str, view: Any, seat: int | None) -> str | None:
    """The picture that the game draws; None: it draws none of this view."""
    show = _show_of(game_type)
    try:
        if is_repeated(view):
            game, line = view["game"], standing(view, seat)
            show = show or _usual_show(game)
            return _within(f"{line}\n{show(game, seat) if show else plain(game)}".rstrip())
        show = show or _usual_show(view)
        return _within(show(view, seat)) if show and view is not None else None
    except Exception:  # noqa: BLE001 - a third party's picture, of anybody's view
        return None


def plain(view: Any) -> str:
    """Names and values, one to a line; a text of several lines has them below its name, at the end."""
    if view is None:
        return ""
    if not isinstance(view, Mapping):
        return _within(_value(view))
    told = [(shortened(str(name)), _value(value)) for name, value in view.items() if value not in ({}, [])]
    short = [f"{name}: {value}" for name, value in told if "\n" not in value]
    long = [f"{name}:\n{value}" for name, value in told if "\n" in value]
    return _within("\n".join((*short, *long)))


def last_round(game_type: str, view: Any, seat: int | None) -> str | None:
    """The end of the round before, where a match has several and there is more to see of it than a move of each."""
    if not is_repeated(view) or view.get("last") is None or _usual_show(view["game"]):
        return None
    return drawn(game_type, view["last"], seat)


def standing(view: Any, seat: int | None) -> str:
    """How a match of several rounds stands, in a line or two; may raise anything."""
    first_to, number = view["first_to"], len(view["rounds"]) + 1
    limit = f"of {int(view['repeat'])}" if first_to is None else f"first to {int(first_to)}"
    names, (a, b) = seat_names(seat), view["scores" if first_to is None else "wins"]
    counts = [f"{names[0]} {amount(a)}", f"{names[1]} {amount(b)}"]
    now = f"Round {number} ({limit}): {', '.join(counts if seat != 1 else counts[::-1])}."
    return "\n".join(filter(None, (_moves_of_last(view, seat), now)))


def _moves_of_last(view: Any, seat: int | None) -> str:
    """What both played in the round before, where that is all there is to see of it."""
    if not view["rounds"] or not _usual_show(view["game"]):
        return ""
    pair = view["rounds"][-1]
    names, order = seat_names(seat), (0, 1) if seat != 1 else (1, 0)
    return f"Last round: {', '.join(f'{names[one]} {pair[one]!s:.{LONGEST_MOVES}}' for one in order)}."


def _show_of(game_type: str) -> Show | None:
    try:
        return None if is_from_source(game_type) else load_game(game_type).show
    except Exception:  # noqa: BLE001 - not installed here, or somebody else's package that can't be loaded
        return None


def _usual_show(view: Any) -> Show | None:
    """A table of payoffs means the same in every game."""
    return show_payoffs if isinstance(view, Mapping) and view.get("payoffs") else None


def is_repeated(view: Any) -> bool:
    """Whether a view is that of a match of several games."""
    return isinstance(view, Mapping) and "game" in view and isinstance(view.get("rounds"), list)


def _value(value: Any) -> str:
    """A text as it is, with its line breaks; anything else as JSON, cut short."""
    if isinstance(value, str):
        return value.strip("\n")
    try:
        return json.dumps(shortened(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # no JSON, or a number that Python writes out for nobody
        return "..."


def _within(text: str) -> str:
    lines: Sequence[str] = [_cut(printable(line.expandtabs())) for line in text.split("\n", MOST_LINES)]
    return "\n".join(lines if len(lines) <= MOST_LINES else (*lines[:MOST_LINES], "..."))


def _cut(line: str) -> str:
    return line.rstrip() if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
