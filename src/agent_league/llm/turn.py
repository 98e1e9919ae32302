"""The state of one move for which the model is asked, shared with its tools and checks."""

from dataclasses import dataclass, field

from pydantic_ai.usage import RunUsage

from agent_league.llm.budget import CHARACTERS_PER_TOKEN
from agent_league.players.observation import Observation

ANSWER_TOOL = "final_result"
"""Name of pydantic-ai's tool for the final answer; MCP tools of this name are left out."""
MAX_TOOL_CALLS = 5
"""Calls of MCP tools for one move."""
MAX_TOKENS = 2**53
"""Larger counts reported by a server are cut to this."""


@dataclass(slots=True, eq=False)
class ModelTurn:
    """Counts requests, tokens and tool calls for one move."""

    observation: Observation
    usage: RunUsage = field(default_factory=RunUsage)
    attempts: int = 0
    unbilled_attempts: int = 0
    """Attempts that can't have used tokens."""
    tool_calls: int = 0
    prompt_length: int = 0
    """Characters of the prompt, to estimate tokens that the server doesn't report."""
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
        return None if self.usage.cost is None else max(float(self.usage.cost), 0.0)

    @property
    def charged_tokens(self) -> int:
        """Tokens to charge: those reported by the server; for other requests, estimated from the prompt."""
        counted = self.usage.requests - self.usage.unmeasured_requests if self.input_tokens else 0
        uncounted = (self.attempts - self.unbilled_attempts - counted) * self.prompt_length // CHARACTERS_PER_TOKEN
        return self.input_tokens + self.output_tokens + uncounted
