"""What the model may cost in its player's life, and what it has cost so far. Plain numbers."""

from dataclasses import dataclass

from agent_league.players.observation import Usage

LETTERS_A_TOKEN = 4
"""About; for what nobody has counted."""


class Spent(Exception):
    """No further question."""


@dataclass(slots=True)
class Budget:
    """Adds up; a limit of None is none."""

    max_tokens: int | None
    max_cost_usd: float | None
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: bool = False
    moves: int = 0
    fallbacks: int = 0

    def take(self, usage: Usage, tokens: int) -> None:
        """Counts a move."""
        self.tokens += tokens
        self.cost_usd += usage.cost_usd or 0.0
        self.unpriced |= usage.cost_usd is None and usage.attempts > 0
        self.moves += 1
        self.fallbacks += usage.fallback is not None

    def exhausted(self, tokens: int = 0, cost_usd: float = 0.0) -> str | None:
        """Why the model may not be asked any more; on top comes what moves have used that aren't counted yet."""
        if self.max_tokens is not None and self.tokens + tokens >= self.max_tokens:
            return f"its {self.max_tokens} tokens are spent"
        if self.max_cost_usd is not None and self.cost_usd + cost_usd >= self.max_cost_usd:
            return f"its ${self.max_cost_usd:g} are spent"
        return None

    def summary(self) -> str:
        cost = "not known" if self.unpriced and not self.cost_usd else f"${self.cost_usd:.6f}"
        return f"moves: {self.moves} ({self.fallbacks} by the fallback), tokens: {self.tokens}, cost: {cost}"
