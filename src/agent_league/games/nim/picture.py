"""The heaps of nim as rows of sticks."""

from typing import Any

from agent_league.games.nim.rules import LARGEST_HEAP, MOST_HEAPS


def show(view: Any, _seat: int | None) -> str:
    heaps = view["heaps"]
    if not 1 <= len(heaps) <= MOST_HEAPS or not all(0 <= heap <= LARGEST_HEAP for heap in heaps):
        raise ValueError(f"no {MOST_HEAPS} heaps of at most {LARGEST_HEAP}")
    width = 2 * max(heaps)
    rows = [f"heap {number}: {'| ' * heap:{width}} {heap}" for number, heap in enumerate(heaps)]
    end = f"Whoever takes the last one {'loses' if view['misere'] else 'wins'}. A move is [heap, how many]."
    return "\n".join((*rows, end))
