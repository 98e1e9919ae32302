"""Draws Even/Odd: the range or the drawn number as text, and as a scene with both choices."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.even_odd.rules import PARITIES, parity_of
from agent_league.games.scene import Scene, Tile, Tiles
from agent_league.games.shared_views import describe_moves


def show(view: Any, seat: int | None) -> str:
    low, high = map(int, view["range"])
    if view["number"] is None:
        return f"A number from {low} to {high} will be drawn."
    return f"The number was {int(view['number'])}. {describe_moves(view['choices'], seat)}"


def scene(view: Any, _seat: int | None, _last: Mapping[int, Move]) -> Scene:
    low, high = map(int, view["range"])
    number, choices = view["number"], view["choices"] or ["", ""]
    a, b = (_build_choice_tile(choices[side], side, number) for side in (0, 1))
    note = f"from {low} to {high}" if number is None else parity_of(number)
    drawn = Tile("" if number is None else str(int(number)), label="the number", note=note, is_last=number is not None)
    return Scene((Tiles((a, drawn, b)),))


def _build_choice_tile(choice: str, side: int, number: int | None) -> Tile:
    if choice not in ("", *PARITIES):
        raise ValueError("no parity")
    if number is None or not choice:
        return Tile(choice, side)
    right = choice == parity_of(number)
    return Tile(choice, side, note="right" if right else "wrong", is_winning=right)
