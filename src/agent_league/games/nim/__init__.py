"""Nim: who takes the last one wins."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.nim.rules import DEFAULTS, MAX_HEAP_SIZE, MAX_HEAPS, NimRules
from agent_league.games.registry import Game
from agent_league.games.scene import Heap, Heaps, Scene

HOW_TO_PLAY = """\
By turns the players take as many as they like from one of several heaps, and whoever takes the very last one wins.

PLAYER_A (seat 0) begins. A move is a list of two numbers, [heap, how many]: the heap's place in `heaps`, counted from \
0, and how many to take from it, at least 1 and at most all of it. There is no passing and no draw. The parameter \
`heaps` says how large the heaps are at the start ([3, 4, 5]); where the parameter `misere` is true, whoever takes the \
last one loses instead.

The view shows everything: `heaps`, what is left in each; `misere`; `turn`, the seat that moves next. For example, [1, \
4] takes four from the second heap.
"""
GOALS = (
    "You take first. You win by taking the very last one; where `misere` is true, by leaving it to your opponent.",
    "You take second. You win by taking the very last one; where `misere` is true, by leaving it to your opponent.",
)


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


NIM = Game(
    "nim", NimRules(), parameters=DEFAULTS, title="Nim", how_to_play=HOW_TO_PLAY, goals=GOALS, show=show, scene=scene
)
