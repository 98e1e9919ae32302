"""Draws the heaps of nim, as rows of sticks and as a scene."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.nim.rules import MAX_HEAP_SIZE, MAX_HEAPS
from agent_league.games.scene import Heap, Heaps, Scene


def show(view: Any, _seat: int | None) -> str:
    heaps = _read_heaps(view)
    width = 2 * max(heaps)
    rows = [f"heap {number}: {'| ' * heap:{width}} {heap}" for number, heap in enumerate(heaps)]
    return "\n".join((*rows, f"{_describe_goal(view)} A move is [heap, how many]."))


def scene(view: Any, _seat: int | None, last: Mapping[int, Move]) -> Scene:
    heaps, taken, side = _read_heaps(view), [0] * MAX_HEAPS, None
    for side, (heap, many) in last.items():  # noqa: B007 - the last one is who took
        taken[heap] = many
    return Scene((Heaps(tuple(map(Heap, heaps, taken)), side),), _describe_goal(view))


def _describe_goal(view: Any) -> str:
    return f"Whoever takes the last one {'loses' if view['misere'] else 'wins'}."


def _read_heaps(view: Any) -> list[int]:
    heaps: list[int] = view["heaps"]
    if not 1 <= len(heaps) <= MAX_HEAPS or not all(0 <= heap <= MAX_HEAP_SIZE for heap in heaps):
        raise ValueError(f"no {MAX_HEAPS} heaps of at most {MAX_HEAP_SIZE}")
    return heaps
