"""Odds and Evens: both show one finger or two, and the parity of the sum decides."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_league.games.base import Move
from agent_league.games.odds_and_evens.rules import OddsAndEvensRules
from agent_league.games.registry import Game
from agent_league.games.scene import Scene
from agent_league.games.view import build_payoff_scene, show_payoffs

HOW_TO_PLAY = """\
Both players show one finger or two at the same time; an odd sum wins for PLAYER_A, an even sum for PLAYER_B.

In each round the referee asks both at once, and each answers with a number, exactly 1 or 2; neither sees the other's \
before both are in. PLAYER_A (seat 0) wins the round when the two numbers add up to 3, PLAYER_B (seat 1) when they add \
up to 2 or 4; no round is drawn. The winner of a round gets 1 point and the other loses 1.

The view has `payoffs`, the same rule as a table: [move of seat 0, move of seat 1, points of seat 0, points of seat \
1]; and `choices`, what both showed, null before both are in.

PLAYER_A wants the two numbers to differ and PLAYER_B wants them alike, so whoever guesses the other's next number \
wins the round. Who shows both numbers equally often and without a pattern can't be beaten in the long run, and can't \
win either: to win, find the other's habit in the rounds so far without showing one of your own.
"""
GOALS = (
    "You win a round if the two numbers differ (1 and 2, the sum is odd), and lose it if they are the same.",
    "You win a round if the two numbers are the same (the sum is even), and lose it if they differ.",
)


def scene(view: Any, seat: int | None, last: Mapping[int, Move]) -> Scene:
    shown = build_payoff_scene(view, seat, last)
    if view["choices"] is None:
        return shown
    total = sum(map(int, view["choices"]))
    return replace(shown, said=f"Together {total}, {'odd' if total % 2 else 'even'}.")


ODDS_AND_EVENS = Game(
    "odds_and_evens",
    OddsAndEvensRules(),
    parameters={"repeat": 15},
    title="Odds and Evens",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    show=show_payoffs,
    scene=scene,
)
