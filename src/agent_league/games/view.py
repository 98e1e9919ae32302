"""Views for people: as text and as a scene, and what the games' own views share.

A game's `show` and `scene` draw a view of that game alone, and may raise anything on others. Views come from referees,
which may be anybody's: for any view the text here is limited in size and printable, and a scene is valid or None.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_league.games.base import Move, winning_seat
from agent_league.games.registry import Game, ShowFunction, is_from_source, load_game
from agent_league.games.scene import (
    MAX_TEXT_LENGTH,
    RoundRow,
    Rounds,
    Scene,
    SceneFunction,
    Tile,
    Tiles,
    find_scene_problem,
)
from agent_league.text import capitalise, format_move, shorten, shorten_json, to_printable

MAX_LINES = 50
MAX_LINE_LENGTH = 160
MAX_SHOWN_ROUNDS = 10
MAX_PAIRS = 64
"""Rows of a payoff table that are shown."""


def render_view(game_type: str, view: Any, seat: int | None) -> str:
    """Render a view as its game draws it, else as names and values; empty for None."""
    own = render_own_view(game_type, view, seat)
    return render_plain_view(view) if own is None else own


def render_own_view(game_type: str, view: Any, seat: int | None) -> str | None:
    """Render a view as its game draws it; None if it has no `show`, or that raises."""
    known = _find_game(game_type)
    own = known.show if known else None
    try:
        if not is_repeated_view(view):
            show = _choose_show_function(own, view)
            return _limit_lines(show(view, seat)) if show and view is not None else None
        game = view["game"]
        show = _choose_show_function(own, game) or (lambda view, _: render_plain_view(view))
        return _limit_lines(f"{describe_score(view, seat)}\n{show(game, seat)}".rstrip())
    except Exception:  # noqa: BLE001 - a third party's picture, of anybody's view
        return None


def _choose_show_function(own: ShowFunction | None, view: Any) -> ShowFunction | None:
    return own or (show_payoffs if _has_payoffs(view) else None)


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
    if not is_repeated_view(view) or view.get("last") is None or _has_payoffs(view["game"]):
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
    if not view["rounds"] or not _has_payoffs(view["game"]):
        return ""
    pair = view["rounds"][-1]
    names, order = seat_names(seat), (0, 1) if seat != 1 else (1, 0)
    return f"Last round: {', '.join(f'{names[one]} {shorten(pair[one], MAX_TEXT_LENGTH)}' for one in order)}."


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


def build_scene(game_type: str, view: Any, seat: int | None, last: Mapping[int, Move] | None = None) -> Scene | None:
    """Build the scene of a view; None if its game has none for it. `last` are the moves that led to it, by seat."""
    if view is None:
        return None
    try:
        game = _find_game(game_type)
        scene = _build_match_scene(game.scene if game else None, view, seat, last or {})
        return scene if scene is not None and find_scene_problem(scene) is None else None
    except Exception:  # noqa: BLE001 - a third party's scene, of anybody's view
        return None


def add_moves(scene: Scene, moves: Mapping[int, Move]) -> Scene:
    """Write moves that were made already into the empty tiles of their seats."""
    return replace(
        scene,
        parts=tuple(_add_moves_to_tiles(part, moves) if isinstance(part, Tiles) else part for part in scene.parts),
    )


def build_rounds_table(
    moves: Sequence[Sequence[Any]], paid: Sequence[tuple[float, float]] = (), shown: int = MAX_SHOWN_ROUNDS
) -> Rounds:
    """Build the table of the latest rounds: both moves, payoffs and their sums, as far as payoffs are known."""
    rows, totals = list[RoundRow](), (0.0, 0.0)
    for number, pair in enumerate(moves, 1):
        own = paid[number - 1] if number <= len(paid) else None
        if own is not None:
            totals = (totals[0] + own[0], totals[1] + own[1])
        rows.append(
            RoundRow(number, (_format_round_moves(pair[0]), _format_round_moves(pair[1])), own, totals if own else None)
        )
    return Rounds(tuple(rows[-shown:]), max(0, len(rows) - shown))


def _add_moves_to_tiles(tiles: Tiles, moves: Mapping[int, Move]) -> Tiles:
    return Tiles(
        tuple(
            tile
            if tile.text or tile.side is None or tile.side not in moves
            else replace(tile, text=format_move(moves[tile.side], MAX_TEXT_LENGTH))
            for tile in tiles.tiles
        )
    )


def _format_round_moves(moves: Any) -> str:
    """Write a seat's moves in a round as text; several are joined with commas."""
    several = isinstance(moves, list) and all(isinstance(move, str) for move in moves)
    return format_move(", ".join(moves) if several else moves, MAX_TEXT_LENGTH)


def _build_match_scene(
    maker: SceneFunction | None, view: Any, seat: int | None, last: Mapping[int, Move]
) -> Scene | None:
    if not is_repeated_view(view):
        return _build_game_scene(maker, view, seat, last)
    game = _build_game_scene(maker, view["game"], seat, last)
    table = build_rounds_table(view["rounds"], _find_round_payoffs(view))
    return Scene((*(game.parts if game else ()), *((table,) if table.rows else ())), game.said if game else "")


def _build_game_scene(
    maker: SceneFunction | None, view: Any, seat: int | None, last: Mapping[int, Move]
) -> Scene | None:
    """Build the scene of a single game; any view with payoffs can be drawn without a function of its game."""
    maker = maker or (build_payoff_scene if _has_payoffs(view) else None)
    return maker(view, seat, last) if maker else None


def _find_round_payoffs(view: Any) -> Sequence[tuple[float, float]]:
    """Look up each round's payoffs in the view's table; empty if one isn't there."""
    pays = view["game"].get("payoffs") if isinstance(view["game"], Mapping) else None
    known = {(str(row[0]), str(row[1])): (float(row[2]), float(row[3])) for row in pays or ()}
    found = [known.get((str(pair[0]), str(pair[1]))) for pair in view["rounds"]]
    return [pair for pair in found if pair] if all(found) else []


def _find_game(game_type: str) -> Game | None:
    """Find an installed game; those of sources have no views of their own."""
    try:
        return None if is_from_source(game_type) else load_game(game_type)
    except Exception:  # noqa: BLE001 - not installed here, or a third-party package that can't be loaded
        return None


def _has_payoffs(view: Any) -> bool:
    """Whether a view has payoffs, which mean the same in every game and can be drawn without knowing it."""
    return isinstance(view, Mapping) and bool(view.get("payoffs"))


def seat_names(seat: int | None) -> tuple[str, str]:
    """Names of seat 0 and seat 1 as seen by a seat, or by one who sees everything (None)."""
    if seat is None:
        return ("PLAYER_A", "PLAYER_B")
    return ("you", "the other") if seat == 0 else ("the other", "you")


def describe_mark(mark: str | None) -> str:
    """A line that tells a seat its mark; empty for None."""
    return "" if mark is None else f"\nYou are {mark}."


def format_amount(value: float) -> str:
    """Format a number without a needless decimal point."""
    return f"{value:.12g}"


def show_payoffs(view: Any, seat: int | None) -> str:
    """Show the payoffs of a matrix game: which move wins against which, or the amounts in a table."""
    own, rows = seat or 0, view["payoffs"]
    if not 0 < len(rows) <= MAX_PAIRS:
        raise ValueError(f"expected 1 to {MAX_PAIRS} pairs of moves, found {len(rows)}")
    paid = {(str(row[own]), str(row[1 - own])): (row[2 + own], row[3 - own]) for row in rows}
    if {abs(mine) for mine, _ in paid.values()} <= {0, 1} and all(mine == -theirs for mine, theirs in paid.values()):
        wins = ", ".join(f"{move} against {other}" for (move, other), (mine, _) in paid.items() if mine > 0)
        said = f"{capitalise(seat_names(seat)[own])} {'wins' if seat is None else 'win'} with {wins}."
    else:
        said = _format_payoff_table(paid, seat)
    choices = view.get("choices")
    return said if choices is None else f"{said}\n{describe_moves(choices, seat)}"


def describe_moves(moves: list[Any], seat: int | None) -> str:
    """Describe both moves in a line, those of `seat` first."""
    names, order = seat_names(seat), (0, 1) if seat != 1 else (1, 0)
    return capitalise("; ".join(f"{names[one]}: {moves[one]}" for one in order)) + "."


def build_payoff_scene(view: Any, _seat: int | None, _last: Mapping[int, Move]) -> Scene:
    """Build the scene of a matrix game: both choices, and their payoffs."""
    choices = view["choices"]
    if choices is None:
        return Scene((Tiles((Tile("", 0), Tile("", 1))),))
    paid = next(row[2:4] for row in view["payoffs"] if list(row[:2]) == list(choices))
    winner = winning_seat(paid)
    tiles = (
        Tile(
            format_move(choices[seat], MAX_TEXT_LENGTH),
            seat,
            note=format_signed_amount(paid[seat]),
            is_winning=seat == winner,
        )
        for seat in (0, 1)
    )
    return Scene((Tiles(tuple(tiles)),))


def format_signed_amount(value: float) -> str:
    """Format a payoff with its sign."""
    return f"{'+' if value > 0 else ''}{format_amount(value)}"


def _format_payoff_table(paid: Mapping[tuple[str, str], tuple[float, float]], seat: int | None) -> str:
    names = seat_names(seat)
    down, across = names if seat != 1 else names[::-1]
    moves, others = (list(dict.fromkeys(pair[index] for pair in paid)) for index in (0, 1))
    cells = {pair: ", ".join(map(format_amount, both)) for pair, both in paid.items()}
    width = max(map(len, (*others, *cells.values())))
    margin = max(map(len, moves))
    head = f"{'':{margin}}   " + "  ".join(f"{other:{width}}" for other in others)
    lines = (f"{move:{margin}}   " + "  ".join(f"{cells[move, other]:{width}}" for other in others) for move in moves)
    said = f"What is paid, to {down} first ({down} down, {across} across):"
    return "\n".join(line.rstrip() for line in (said, head, *lines))
