"""What the model may cost in its player's life, and what it has cost so far. Plain numbers."""

from dataclasses import dataclass

from agent_league.players.observation import Usage

LETTERS_A_TOKEN = 4
"""About; for what nobody has counted."""


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

    def take(self, usage: Usage, uncounted_letters: int = 0) -> None:
        """Counts a move; of questions whose cost nobody told, what we asked is counted by its letters."""
        self.tokens += usage.input_tokens + usage.output_tokens + uncounted_letters // LETTERS_A_TOKEN
        self.cost_usd += usage.cost_usd or 0.0
        self.unpriced |= usage.cost_usd is None and usage.attempts > 0
        self.moves += 1
        self.fallbacks += usage.fallback is not None

    @property
    def exhausted(self) -> str | None:
        """Why the model may not be asked any more."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"its {self.max_tokens} tokens are spent"
        if self.max_cost_usd is not None and self.cost_usd >= self.max_cost_usd:
            return f"its ${self.max_cost_usd:g} are spent"
        return None

    def summary(self) -> str:
        cost = "not known" if self.unpriced and not self.cost_usd else f"${self.cost_usd:.6f}"
        return f"moves: {self.moves} ({self.fallbacks} by the fallback), tokens: {self.tokens}, cost: {cost}"
