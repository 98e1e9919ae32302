"""Games of others, as far as a test wants to play them: their first actions only, and where their libraries are."""

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from agent_league.games.base import Rules, State
from agent_league.games.registry import Game

needs_openspiel = pytest.mark.skipif(
    find_spec("pyspiel") is None, reason='OpenSpiel is not installed: pip install "agent-league[games]"'
)
needs_pettingzoo = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("pettingzoo", "pyspiel", "rlcard")),
    reason='PettingZoo is not installed: pip install "agent-league[games]"',
)


class FirstActions:
    """Rules under which a game is over after so many actions, if not before."""

    def __init__(self, rules: Rules, actions: int) -> None:
        self._rules = rules
        self._actions = actions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rules, name)

    def actors(self, state: State) -> tuple[int, ...]:
        return () if len(state["actions"]) >= self._actions else self._rules.actors(state)


def cut_short(game: Game, actions: int) -> Game:
    return replace(game, rules=FirstActions(game.rules, actions))
