"""Draws both numbers of fingers and their sum."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_league.games.base import Move
from agent_league.games.scene import Scene
from agent_league.games.shared_views import build_payoff_scene


def scene(view: Any, seat: int | None, last: Mapping[int, Move]) -> Scene:
    shown = build_payoff_scene(view, seat, last)
    if view["choices"] is None:
        return shown
    total = sum(map(int, view["choices"]))
    return replace(shown, said=f"Together {total}, {'odd' if total % 2 else 'even'}.")
