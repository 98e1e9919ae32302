"""Renders views as text: as drawn by their game, else as names and values; and the score of a repeated match.

Views come from referees, which may be anybody's: for any view the text is limited in size and has no control
characters.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.registry import ShowFunction, is_from_source, load_game
from agent_league.games.shared_views import format_amount, seat_names, show_payoffs
from agent_league.text import shorten_json, to_printable

MAX_LINES = 50
MAX_LINE_LENGTH = 160
MAX_MOVES_LENGTH = 60


def render_view(game_type: str, view: Any, seat: int | None) -> str:
    """Render a view as its game draws it, else as names and values; empty for None."""
    own = render_own_view(game_type, view, seat)
    return render_plain_view(view) if own is None else own


def render_own_view(game_type: str, view: Any, seat: int | None) -> str | None:
    """Render a view as its game draws it; None if it has no `show`, or that raises."""
    show = _find_show_function(game_type)
    try:
        if is_repeated_view(view):
            game, line = view["game"], describe_score(view, seat)
            show = show or _default_show_function(game)
            return _limit_lines(f"{line}\n{show(game, seat) if show else render_plain_view(game)}".rstrip())
        show = show or _default_show_function(view)
        return _limit_lines(show(view, seat)) if show and view is not None else None
    except Exception:  # noqa: BLE001 - a third party's picture, of anybody's view
        return None


def render_plain_view(view: Any) -> str:
    """Render names and values, one to a line; values of several lines come last, below their names."""
    if view is None:
        return ""
    if not isinstance(view, Mapping):
        return _limit_lines(_format_value(view))
    told = [(shorten_json(str(name)), _format_value(value)) for name, value in view.items() if value not in ({}, [])]
    short = [f"{name}: {value}" for name, value in told if "\n" not in value]
    long = [f"{name}:\n{value}" for name, value in told if "\n" in value]
    return _limit_lines("\n".join((*short, *long)))


def render_last_round(game_type: str, view: Any, seat: int | None) -> str | None:
    """Render the end of the previous round; None for a single game, and for matrix games (moves say it all)."""
    if not is_repeated_view(view) or view.get("last") is None or _default_show_function(view["game"]):
        return None
    return render_view(game_type, view["last"], seat)


def describe_score(view: Any, seat: int | None) -> str:
    """Describe the score of a repeated match in a line or two; may raise anything on an invalid view."""
    first_to, number = view["first_to"], len(view["rounds"]) + 1
    limit = f"of {int(view['repeat'])}" if first_to is None else f"first to {int(first_to)}"
    names, (a, b) = seat_names(seat), view["scores" if first_to is None else "wins"]
    counts = [f"{names[0]} {format_amount(a)}", f"{names[1]} {format_amount(b)}"]
    now = f"Round {number} ({limit}): {', '.join(counts if seat != 1 else counts[::-1])}."
    return "\n".join(filter(None, (_describe_last_moves(view, seat), now)))


def _describe_last_moves(view: Any, seat: int | None) -> str:
    """Describe the moves of the previous round in a matrix game; empty in other games."""
    if not view["rounds"] or not _default_show_function(view["game"]):
        return ""
    pair = view["rounds"][-1]
    names, order = seat_names(seat), (0, 1) if seat != 1 else (1, 0)
    return f"Last round: {', '.join(f'{names[one]} {pair[one]!s:.{MAX_MOVES_LENGTH}}' for one in order)}."


def _find_show_function(game_type: str) -> ShowFunction | None:
    try:
        return None if is_from_source(game_type) else load_game(game_type).show
    except Exception:  # noqa: BLE001 - not installed here, or a third-party package that can't be loaded
        return None


def _default_show_function(view: Any) -> ShowFunction | None:
    """The function that shows payoffs, if the view has any: they mean the same in every game."""
    return show_payoffs if isinstance(view, Mapping) and view.get("payoffs") else None


def is_repeated_view(view: Any) -> bool:
    """Whether a view is that of a repeated match."""
    return isinstance(view, Mapping) and "game" in view and isinstance(view.get("rounds"), list)


def _format_value(value: Any) -> str:
    """Format a value: text as it is, with line breaks; anything else as JSON, shortened."""
    if isinstance(value, str):
        return value.strip("\n")
    try:
        return json.dumps(shorten_json(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # no JSON, or a number with more digits than Python converts
        return "..."


def _limit_lines(text: str) -> str:
    lines: Sequence[str] = [
        to_printable(line.expandtabs().rstrip(), MAX_LINE_LENGTH) for line in text.split("\n", MAX_LINES)
    ]
    return "\n".join(lines if len(lines) <= MAX_LINES else (*lines[:MAX_LINES], "..."))
