"""A wrapper that counts how often a strategy was asked for a move, and how often it failed.

A player makes a random move for a strategy that fails, so its games alone don't show the failures.
"""

import inspect
from collections.abc import Awaitable
from typing import Any, cast

from agent_league.lab.evaluation.model import Moves
from agent_league.lab.game_series import place_of
from agent_league.players.legal_moves import spelled
from agent_league.players.observation import Observation, Strategy, Thought


class Watched:
    """Delegates everything to the wrapped strategy and counts its choices."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._asked = self._failed = 0
        self._first_failure = ""
        if inspect.iscoroutinefunction(getattr(strategy, "choose", None)):
            self.choose = self._choose_later
        else:
            self.choose = self._choose

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    @property
    def moves(self) -> Moves:
        return Moves(self._asked, self._failed, self._first_failure)

    def _choose(self, observation: Observation) -> Any:
        self._asked += 1
        try:
            said = self._strategy.choose(observation)
        except Exception as error:
            self._fail(place_of(error))
            raise
        return self._seen(said, observation)

    async def _choose_later(self, observation: Observation) -> Any:
        self._asked += 1
        try:
            said = await cast("Awaitable[Any]", self._strategy.choose(observation))
        except Exception as error:
            self._fail(place_of(error))
            raise
        return self._seen(said, observation)

    def _seen(self, said: Any, observation: Observation) -> Any:
        move = said.move if isinstance(said, Thought) else said
        if not inspect.isawaitable(said) and not spelled(move, observation.legal_moves):
            self._fail(f"chose {move!r:.80}, which isn't legal")
        return said

    def _fail(self, what: str) -> None:
        self._failed += 1
        self._first_failure = self._first_failure or what
