"""One move that is being thought about, as the model's tools and checks see it."""

from dataclasses import dataclass

from agent_league.players.observation import Observation

ANSWER = "final_result"
"""The tool by which pydantic-ai takes an answer; no other may be called so."""
MOST_CALLS = 5
"""Of other tools, in one move."""


@dataclass(slots=True)
class Turn:
    """Counts what is done about one move."""

    observation: Observation
    attempts: int = 0
    calls: int = 0
    letters: int = 0
    """Of what is asked, for a cost that nobody tells."""
