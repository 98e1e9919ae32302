"""One move that is being thought about, as the model's tools and checks see it."""

from dataclasses import dataclass, field

from pydantic_ai.usage import RunUsage

from agent_league.llm.budget import LETTERS_A_TOKEN
from agent_league.players.observation import Observation

ANSWER = "final_result"
"""The tool by which pydantic-ai takes an answer; no other may be called so."""
MOST_CALLS = 5
"""Of other tools, in one move."""
MOST_TOKENS = 2**53
"""What a server counts beyond that is nonsense."""


@dataclass(slots=True, eq=False)
class Turn:
    """Counts what is done about one move."""

    observation: Observation
    spent: RunUsage = field(default_factory=RunUsage)
    attempts: int = 0
    free: int = 0
    """Of these, the ones that nobody can have thought about."""
    calls: int = 0
    letters: int = 0
    """Of what is asked, for a cost that nobody tells."""
    advice: str = ""
    """For the player's owner, where it failed."""

    @property
    def input_tokens(self) -> int:
        return min(max(self.spent.input_tokens, 0), MOST_TOKENS)

    @property
    def output_tokens(self) -> int:
        return min(max(self.spent.output_tokens, 0), MOST_TOKENS)

    @property
    def cost_usd(self) -> float | None:
        return None if self.spent.cost is None else max(float(self.spent.cost), 0.0)

    @property
    def tokens(self) -> int:
        """What to charge: the tokens that were told; for questions of which nobody told any, our letters."""
        counted = self.spent.requests - self.spent.unmeasured_requests if self.input_tokens else 0
        uncounted = (self.attempts - self.free - counted) * self.letters // LETTERS_A_TOKEN
        return self.input_tokens + self.output_tokens + uncounted
