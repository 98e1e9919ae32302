"""The budget of a player's model: limits of tokens and cost, and what was used so far. Plain numbers."""

from dataclasses import dataclass

from agent_league.players.observation import Usage

CHARACTERS_PER_TOKEN = 4
"""An estimate, for requests whose tokens the server doesn't report."""


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
