"""Players that wait for others while they choose, such as language models: played by the rules alone all the same.

Each move is waited for in turn. What a model used and how often its fallback moved for it is added up.
"""

import asyncio
import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_league.log import JsonLogger
from agent_league.players.observation import Observation, Strategy, Thought, Usage


@dataclass(slots=True)
class MeteredUsage:
    """What a language model used in one game; None: it has none, or, of the cost, that isn't known."""

    tokens: int | None = None
    cost: float | None = None
    fallbacks: int = 0
    illegal: int | None = None
    late: int | None = None

    def add(self, usage: Usage) -> None:
        """Add what one move used."""
        self.tokens = (self.tokens or 0) + usage.input_tokens + usage.output_tokens
        self.illegal = (self.illegal or 0) + usage.illegal_answers
        self.late = (self.late or 0) + usage.late_answers
        self.fallbacks += usage.fallback is not None
        if usage.cost_usd is not None:
            self.cost = (self.cost or 0.0) + usage.cost_usd

    def get_columns(self) -> tuple[int | None, float | None, int | None, int | None]:
        """Return tokens, cost, illegal and late answers, as a row has them."""
        return self.tokens, self.cost, self.illegal, self.late


class ModelMeter:
    """Delegates everything to a strategy and adds up what its language model used."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._usage = MeteredUsage()
        self.first_fallback = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    async def choose(self, observation: Observation) -> Any:
        said: Any = self._strategy.choose(observation)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, Thought) and said.usage is not None:
            self._usage.add(said.usage)
            if why := said.usage.fallback:
                self.first_fallback = self.first_fallback or f"another strategy moved for it: {why}"
        return said

    @property
    def is_spent(self) -> bool:
        """Whether a language model's budget allows it no further question."""
        return getattr(self._strategy, "exhaustion", None) is not None

    def take_usage(self) -> MeteredUsage:
        """Return what was used since the last time; nothing was, if no move was asked for."""
        used = self._usage
        self._usage = MeteredUsage() if used.tokens is None else MeteredUsage(tokens=0, illegal=0, late=0)
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
