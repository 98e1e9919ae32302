"""What a model may use and has used: the budget of a player, and the requests, tokens and tool calls of one move."""

import math
from dataclasses import dataclass, field

from pydantic_ai.usage import RunUsage

from agent_league.config import ModelPrice
from agent_league.llm.answers import AnswerForm
from agent_league.players.observation import Observation, Usage

CHARACTERS_PER_TOKEN = 4
"""An estimate, for requests whose tokens the server doesn't report."""
ANSWER_TOOL = "final_result"
"""Name of pydantic-ai's tool for the final answer; MCP tools of this name are left out."""
MAX_TOOL_CALLS = 5
"""Calls of MCP tools for one move."""
TOKENS_PER_PRICE = 1_000_000
"""Prices are for so many tokens."""
MAX_REPORTED_COST_USD = 1e6
"""Higher costs of one request are not believed."""
MAX_TOKENS = 2**53
"""Larger counts reported by a server are cut to this."""


class BudgetExhausted(Exception):
    """The budget allows no further request to the model."""


@dataclass(slots=True)
class ModelBudget:
    """Adds up tokens and cost of moves; a limit of None means no limit."""

    max_tokens: int | None
    max_cost_usd: float | None
    tokens: int = 0
    cost_usd: float = 0.0
    has_unpriced_moves: bool = False
    moves: int = 0
    fallbacks: int = 0

    def record_move(self, usage: Usage, tokens: int) -> None:
        """Add a move's usage; `tokens` are those to charge, which may be estimated."""
        self.tokens += tokens
        self.cost_usd += usage.cost_usd or 0.0
        self.has_unpriced_moves |= usage.cost_usd is None and usage.attempts > 0
        self.moves += 1
        self.fallbacks += usage.fallback is not None

    def exhaustion_reason(self, tokens: int = 0, cost_usd: float = 0.0) -> str | None:
        """Why the model may not be asked any more, or None; `tokens` and `cost_usd` are those of unfinished moves."""
        if self.max_tokens is not None and self.tokens + tokens >= self.max_tokens:
            return f"its {self.max_tokens} tokens are spent"
        if self.max_cost_usd is not None and self.cost_usd + cost_usd >= self.max_cost_usd:
            return f"its ${self.max_cost_usd:g} are spent"
        return None

    def summary(self) -> str:
        cost = "not known" if self.has_unpriced_moves and not self.cost_usd else f"${self.cost_usd:.6f}"
        return f"moves: {self.moves} ({self.fallbacks} by the fallback), tokens: {self.tokens}, cost: {cost}"


@dataclass(slots=True, eq=False)
class ModelTurn:
    """Counts requests, tokens and tool calls for one move."""

    observation: Observation
    form: AnswerForm
    price: ModelPrice | None = None
    """What the owner says that tokens cost."""
    usage: RunUsage = field(default_factory=RunUsage)
    attempts: int = 0
    unbilled_attempts: int = 0
    """Attempts that can't have used tokens."""
    tool_calls: int = 0
    prompt_length: int = 0
    """Characters of the prompt, to estimate tokens that the server doesn't report."""
    reported_cost_usd: float | None = None
    """What the server says that the requests cost."""
    thoughts: list[str] = field(default_factory=list)
    """What the model wrote before its answers, by itself."""
    answers: int = 0
    """Answers that came, whatever they said."""
    is_late: bool = False
    reasoning: str = ""
    """Why the model plays its move, as it says itself."""
    advice: str = ""
    """For the player's owner, if the model failed."""

    @property
    def input_tokens(self) -> int:
        return min(max(self.usage.input_tokens, 0), MAX_TOKENS)

    @property
    def output_tokens(self) -> int:
        return min(max(self.usage.output_tokens, 0), MAX_TOKENS)

    @property
    def cost_usd(self) -> float | None:
        """The cost by the owner's price, else as the server says, else by the library's price list; None: unknown."""
        if self.price is not None:
            spent = (self.input_tokens + self._uncounted_tokens) * self.price.input
            return (spent + self.output_tokens * self.price.output) / TOKENS_PER_PRICE
        if self.reported_cost_usd is not None:
            return self.reported_cost_usd
        return None if self.usage.cost is None else max(float(self.usage.cost), 0.0)

    def report_cost(self, cost_usd: float) -> None:
        """Add what the server says that a request cost; anything but a plausible amount is ignored."""
        if math.isfinite(cost_usd) and 0 <= cost_usd <= MAX_REPORTED_COST_USD:
            self.reported_cost_usd = (self.reported_cost_usd or 0.0) + cost_usd

    @property
    def charged_tokens(self) -> int:
        """Tokens to charge: those reported by the server; for other requests, estimated from the prompt."""
        return self.input_tokens + self.output_tokens + self._uncounted_tokens

    @property
    def _uncounted_tokens(self) -> int:
        counted = self.usage.requests - self.usage.unmeasured_requests if self.input_tokens else 0
        return (self.attempts - self.unbilled_attempts - counted) * self.prompt_length // CHARACTERS_PER_TOKEN
