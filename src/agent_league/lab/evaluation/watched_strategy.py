"""A wrapper that counts how often a strategy was asked for a move, and how often it failed.

A player makes a random move for a strategy that fails, so its games alone don't show the failures.
"""

import inspect
from collections.abc import Awaitable
from typing import Any, cast

from agent_league.lab.evaluation.model import MoveCounts
from agent_league.lab.game_series import describe_error
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import Observation, Strategy, Thought


class WatchedStrategy:
    """Delegates everything to the wrapped strategy and counts its choices."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._asked_count = self._failed_count = 0
        self._first_failure = ""
        if inspect.iscoroutinefunction(getattr(strategy, "choose", None)):
            self.choose = self._choose_async
        else:
            self.choose = self._choose

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    @property
    def move_counts(self) -> MoveCounts:
        return MoveCounts(self._asked_count, self._failed_count, self._first_failure)

    def _choose(self, observation: Observation) -> Any:
        self._asked_count += 1
        try:
            said = self._strategy.choose(observation)
        except Exception as error:
            self._record_failure(describe_error(error))
            raise
        return self._check_choice(said, observation)

    async def _choose_async(self, observation: Observation) -> Any:
        self._asked_count += 1
        try:
            said = await cast("Awaitable[Any]", self._strategy.choose(observation))
        except Exception as error:
            self._record_failure(describe_error(error))
            raise
        return self._check_choice(said, observation)

    def _check_choice(self, said: Any, observation: Observation) -> Any:
        move = said.move if isinstance(said, Thought) else said
        if not inspect.isawaitable(said) and not find_equal_moves(move, observation.legal_moves):
            self._record_failure(f"chose {move!r:.80}, which isn't legal")
        return said

    def _record_failure(self, what: str) -> None:
        self._failed_count += 1
        self._first_failure = self._first_failure or what
