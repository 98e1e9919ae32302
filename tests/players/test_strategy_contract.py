"""The contract of a strategy: kept by all that are installed, and each broken promise is found."""

from collections.abc import Callable
from typing import Any

import pytest

from agent_league.games.registry import load_game
from agent_league.players.observation import GameRecord, Move, Observation, Strategy, Thought
from agent_league.players.strategies import load_strategy, strategy_names
from agent_league.players.strategies.minimax import Minimax
from agent_league.testing.strategy_contract import check_strategy_contract

QUICK: dict[str, Callable[[], Strategy]] = {"minimax": lambda: Minimax(300)}
"""Those that take their time, looking less far."""
PLAIN = [name for name in strategy_names() if name != "llm"]
FEW = [load_game(name) for name in ("even_odd", "tic_tac_toe", "odds_and_evens")]


@pytest.mark.parametrize("name", PLAIN)
def test_every_installed_strategy_keeps_the_contract_in_every_game(name: str) -> None:
    check_strategy_contract(QUICK.get(name, lambda: load_strategy(name)))


class First:
    """Plays the first legal move."""

    def choose(self, observation: Observation) -> Move:
        return observation.legal_moves[0]


class Undocumented(First):
    __doc__ = None


class Stubborn(First):
    """Plays "even" everywhere."""

    def choose(self, observation: Observation) -> Move:
        return "even"


class Dependent(First):
    """Wants the rules."""

    def choose(self, observation: Observation) -> Move:
        assert observation.rules is not None, "no rules"
        return observation.legal_moves[0]


class Trusting(First):
    """Believes every view."""

    def choose(self, observation: Observation) -> Move:
        if isinstance(observation.view, dict):
            assert observation.view.get("scores") is None or observation.view["rounds"] is not None, "no rounds"
        return observation.legal_moves[0]


class Moody(First):
    """Has dice of its own."""

    calls = 0

    def choose(self, observation: Observation) -> Move:
        Moody.calls += 1
        return observation.legal_moves[Moody.calls % len(observation.legal_moves)]


class Scribbling(First):
    """Writes into what it is shown."""

    def choose(self, observation: Observation) -> Move:
        if isinstance(observation.view, dict):
            observation.view["seen"] = True
        return observation.legal_moves[0]


class Forging(First):
    """Improves its own history."""

    def choose(self, observation: Observation) -> Move:
        observation.history = [*observation.history, GameRecord("R0M0", "even_odd", "P02", "WIN")]
        return observation.legal_moves[0]


class Forgetful(First):
    """Saves nothing of what it learned."""

    def __init__(self) -> None:
        self.games = 0

    def choose(self, observation: Observation) -> Move:
        return observation.legal_moves[self.games % len(observation.legal_moves)]

    def learn(self, game: GameRecord) -> None:
        self.games += 1

    def saved(self) -> Any:
        return {"games": self.games}

    def restore(self, saved: Any) -> None: ...


class Unsavable(Forgetful):
    """Saves what JSON can't hold."""

    def saved(self) -> Any:
        return {1, 2}


class Mute(First):
    """Saves, and restores nothing."""

    def saved(self) -> Any:
        return {}


class Spoilt(Forgetful):
    """Breaks where its memory is spoilt."""

    def restore(self, saved: Any) -> None:
        self.games = saved.get("games") if isinstance(saved, dict) else None  # type: ignore[assignment]


BROKEN: dict[type[First], str] = {
    Undocumented: "docstring must say",
    Stubborn: r"it chose 'even': not legal",
    Dependent: "it raised AssertionError.*no rules",
    Trusting: "it raised AssertionError.*no rounds",
    Moody: "the same dice brought",
    Scribbling: "changed the observation's view",
    Forging: "changed the observation's history",
    Forgetful: "the same dice brought",
    Unsavable: "what it saves doesn't come back from JSON",
    Mute: r"needs restore\(saved\)",
    Spoilt: "it raised TypeError",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_found_and_named(broken: type[First]) -> None:
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_strategy_contract(broken, FEW)


class Coroutine(First):
    """Thinks aloud, as a coroutine."""

    async def choose(self, observation: Observation) -> Thought:
        return Thought(observation.legal_moves[0])


@pytest.mark.parametrize("kept", [First, Coroutine])
def test_a_plain_strategy_and_a_coroutine_keep_it(kept: type[Strategy]) -> None:
    check_strategy_contract(kept, FEW)
