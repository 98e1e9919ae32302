"""The rules of this folder's referee, those of Even/Odd: change them, start `python main.py` here, and it plays so.

Rules are six functions over a state that can be written as JSON; they know no players, clock, dice or network, and are
told what was drawn. Other rules want another name, so that nobody takes them for Even/Odd: change GAME_TYPE, and start
the manager with `python main.py --game NAME` in agents/league_manager. docs/games.md tells what each function is for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import CHANCE, Move
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.registry import Game

GAME_TYPE = "even_odd"
PARITIES = ("even", "odd")
BOTH = (0, 1)


def determine_winner(choice_a: str, choice_b: str, number: int) -> str:
    """Who wins: PLAYER_A, PLAYER_B, or DRAW where both were right or both wrong."""
    parity = PARITIES[number % 2]
    if (choice_a == parity) == (choice_b == parity):
        return "DRAW"
    return "PLAYER_A" if choice_a == parity else "PLAYER_B"


class GameLogic:
    """Both choose a parity at once, then a number is drawn."""

    def new(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The state at the start, from the parameters in games_registry.json."""
        return EVEN_ODD.rules.new(config)

    def actors(self, state: Any) -> tuple[int, ...]:
        """Who acts now: both players, then the draw, then nobody."""
        if state["choices"] is None:
            return BOTH
        return (CHANCE,) if state["number"] is None else ()

    def legal(self, state: Any, seat: int) -> Sequence[Any]:
        """What a player may choose; for the draw each number with its weight."""
        if seat != CHANCE:
            return PARITIES
        low, high = state["range"]
        return [(number, 1) for number in range(low, high + 1)]

    def apply(self, state: Any, moves: Mapping[int, Move]) -> dict[str, Any]:
        """The state after the choices, or after the draw."""
        if CHANCE in moves:
            return {**state, "number": moves[CHANCE]}
        return {**state, "choices": [moves[0], moves[1]]}

    def view(self, state: Any, seat: int | None) -> Any:
        """What a player may see: no choice before the number is drawn."""
        return state if seat is None or state["number"] is not None else {**state, "choices": None}

    def returns(self, state: Any) -> tuple[float, float]:
        """A number for each player at the end; the higher one wins."""
        winner = determine_winner(*state["choices"], state["number"])
        return {"PLAYER_A": (1.0, -1.0), "PLAYER_B": (-1.0, 1.0), "DRAW": (0.0, 0.0)}[winner]


GAME = Game(
    GAME_TYPE,
    GameLogic(),
    EVEN_ODD.wire,
    parameters=EVEN_ODD.parameters,
    title=EVEN_ODD.title,
    how_to_play=EVEN_ODD.how_to_play,
    show=EVEN_ODD.show,
    scene=EVEN_ODD.scene,
)
