"""The budget of a player's model: limits of tokens and cost, and what was used so far. Plain numbers."""

from dataclasses import dataclass

from agent_league.players.observation import Usage

LETTERS_A_TOKEN = 4
"""An estimate, for requests whose tokens the server doesn't report."""


class Spent(Exception):
    """The budget allows no further request to the model."""


@dataclass(slots=True)
class Budget:
    """Adds up tokens and cost of moves; a limit of None means no limit."""

    max_tokens: int | None
    max_cost_usd: float | None
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: bool = False
    moves: int = 0
    fallbacks: int = 0

    def take(self, usage: Usage, tokens: int) -> None:
        """Add a move's usage; `tokens` are those to charge, which may be estimated."""
        self.tokens += tokens
        self.cost_usd += usage.cost_usd or 0.0
        self.unpriced |= usage.cost_usd is None and usage.attempts > 0
        self.moves += 1
        self.fallbacks += usage.fallback is not None

    def exhausted(self, tokens: int = 0, cost_usd: float = 0.0) -> str | None:
        """Why the model may not be asked any more, or None; `tokens` and `cost_usd` are those of unfinished moves."""
        if self.max_tokens is not None and self.tokens + tokens >= self.max_tokens:
            return f"its {self.max_tokens} tokens are spent"
        if self.max_cost_usd is not None and self.cost_usd + cost_usd >= self.max_cost_usd:
            return f"its ${self.max_cost_usd:g} are spent"
        return None

    def summary(self) -> str:
        cost = "not known" if self.unpriced and not self.cost_usd else f"${self.cost_usd:.6f}"
        return f"moves: {self.moves} ({self.fallbacks} by the fallback), tokens: {self.tokens}, cost: {cost}"
