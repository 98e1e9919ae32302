"""Even/Odd: both choose a parity, a number is drawn, and the player who chose its parity wins."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import Move
from agent_league.games.even_odd.rules import PARITIES, EvenOddRules, parity_of
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.registry import Game
from agent_league.games.scene import Scene, Tile, Tiles
from agent_league.games.view import describe_moves

HOW_TO_PLAY = """\
Both players name a parity, even or odd; a number is drawn, and whoever named its parity wins.

The referee asks both at the same time (CHOOSE_PARITY_CALL or GAME_MOVE_CALL), and each answers with one word, \
exactly "even" or "odd" in small letters; neither sees the other's choice before both are in. Then the referee draws \
one whole number from min_number to max_number. Whoever named the number's parity wins; if both were right or both \
were wrong, nobody wins. One number decides the game. A view, where one is shown, has `range`, [min_number, \
max_number]; `choices`, what both named; and `number`, what was drawn; the last two are null before the draw.

The draw is uniform and fixed before anybody is asked: the referee commits to its seed with the invitation and shows \
the seed at the end, so that everybody can check it. Nothing that a player does changes the number, so an opponent's \
habits are of no use. Where the range holds as many even as odd numbers, as 1 to 10 does, no strategy does better \
than chance: choose either and answer in time. Another word, other letters or blanks are illegal (E004), and who \
gives no legal answer within the attempts loses technically.
"""
GOALS = ("You win if you name the parity of the number and your opponent names the other one.",) * 2


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


EVEN_ODD = Game(
    "even_odd",
    EvenOddRules(),
    EvenOddWire(),
    parameters={"min_number": 1, "max_number": 10},
    title="Even/Odd",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    show=show,
    scene=scene,
)
