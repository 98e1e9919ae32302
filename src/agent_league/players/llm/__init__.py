"""The strategy `llm`: a language model chooses the moves.

This module is light; what thinks is loaded when a player with this strategy is made, and needs `agent-league[llm]`.
"""

from collections.abc import Callable

from agent_league.config import PlayerDefaults
from agent_league.errors import ConfigError
from agent_league.players.observation import Strategy


class Llm:
    """What the entry point names: makes a strategy out of the settings, or says what is missing."""

    @staticmethod
    def configured(defaults: PlayerDefaults, remark: Callable[[str], None] | None = None) -> Strategy:
        try:
            from agent_league.players.llm.thinking import Thinker  # noqa: PLC0415 - it imports pydantic-ai
        except ImportError as error:
            missing = error.name or str(error)
            problem = f"needs {missing}, which isn't installed; pip install 'agent-league[llm]'"
            raise ConfigError("strategy llm", "", problem) from None
        return Thinker(defaults.llm, remark)
