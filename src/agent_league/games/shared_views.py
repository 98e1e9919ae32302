"""Texts and scenes that several games share: names of the seats, moves, amounts, payoff tables.

A game's `show` and `scene` draw one view. They know the views of their own game, and may raise anything on others.
"""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move, winning_seat
from agent_league.games.scene import MAX_TEXT_LENGTH, Scene, Tile, Tiles
from agent_league.text import format_move

MAX_PAIRS = 64


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
        said = f"{_capitalize(seat_names(seat)[own])} {'wins' if seat is None else 'win'} with {wins}."
    else:
        said = _format_payoff_table(paid, seat)
    choices = view.get("choices")
    return said if choices is None else f"{said}\n{describe_moves(choices, seat)}"


def describe_moves(moves: list[Any], seat: int | None) -> str:
    """Describe both moves in a line, those of `seat` first."""
    names, order = seat_names(seat), (0, 1) if seat != 1 else (1, 0)
    return _capitalize("; ".join(f"{names[one]}: {moves[one]}" for one in order)) + "."


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


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
