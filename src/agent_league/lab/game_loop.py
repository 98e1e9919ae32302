"""What a loop is: something that plays games from one start state, and can play a game of its own again."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol

from agent_league.games.base import Move, State
from agent_league.lab.series_player import SeriesPlayer

Seated = tuple[SeriesPlayer, SeriesPlayer]
"""The players in the order of seats."""
StepMoves = Mapping[int, Move]
"""The moves of one step by seat, without those of chance."""
FinishedGame = tuple[tuple[float, float], int, Any]
"""The returns of a game, its number of steps without those of chance, and the record from which its loop can play it
again.

These are plain tuples, of plain values where that can be: the garbage collector soon leaves such tuples alone, and
there are many."""


class ChanceDice:
    """The dice of chance, which are made when they are first thrown: most games have none."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    def __getattr__(self, name: str) -> Any:
        """Make the dice, and keep their method."""
        if name != "random":
            raise AttributeError(name)
        self.random = Random(self._seed).random  # noqa: S311 - a game, not a secret
        return self.random


class GameLoop(Protocol):
    """A way to play games from one start state."""

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        """Play one game."""
        ...

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        """Return the final state of a game that this loop has played, and the moves of its steps."""
        ...
