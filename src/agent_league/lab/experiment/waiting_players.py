"""Players that wait for others while they choose, such as language models: played by the rules alone all the same.

Each move is waited for in turn. What a model used and how often its fallback moved for it is added up.
"""

import asyncio
import inspect
import tempfile
from collections.abc import Callable
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import Observation, Strategy, Thought


class ModelMeter:
    """Delegates everything to a strategy and adds up what its language model used."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.tokens: int | None = None
        self.cost: float | None = None
        self.fallbacks = 0
        self.first_fallback = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    async def choose(self, observation: Observation) -> Any:
        said: Any = self._strategy.choose(observation)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, Thought) and said.usage is not None:
            usage = said.usage
            self.tokens = (self.tokens or 0) + usage.input_tokens + usage.output_tokens
            if usage.cost_usd is not None:
                self.cost = (self.cost or 0.0) + usage.cost_usd
            if usage.fallback is not None:
                self.fallbacks += 1
                self.first_fallback = self.first_fallback or f"another strategy moved for it: {usage.fallback}"
        return said

    def take_usage(self) -> tuple[int | None, float | None, int]:
        """Return and reset tokens, dollars and the moves that the fallback made."""
        used = (self.tokens, self.cost, self.fallbacks)
        self.tokens, self.cost, self.fallbacks = (None if self.tokens is None else 0), None, 0
        return used


class BlockingStrategy:
    """A strategy whose `choose` waits for that of another one, in an event loop of its own."""

    def __init__(self, strategy: Strategy, runner: asyncio.Runner) -> None:
        self.meter = ModelMeter(strategy)
        self._runner = runner
        self._folder = tempfile.TemporaryDirectory(prefix="league-")  # its log is thrown away: the rows say all
        self._log = JsonLogger("player", log_root=self._folder.name)
        if prepare := getattr(strategy, "prepare", None):
            runner.run(_call_inside(prepare, self._log))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.meter, name)

    def choose(self, observation: Observation) -> Any:
        return self._runner.run(self.meter.choose(observation))

    def close(self) -> None:
        """Close the strategy's connections."""
        try:
            if close := getattr(self.meter, "close", None):
                self._runner.run(_call_inside(close))
        finally:
            self._log.close()
            self._folder.cleanup()


async def _call_inside(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function inside the event loop, and wait for what it returns."""
    returned = function(*arguments)
    if inspect.isawaitable(returned):
        await returned
