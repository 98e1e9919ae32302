"""The configuration in `SHARED/config`: read and validated into frozen models."""

from agent_league.config.loader import ConfigLoader
from agent_league.config.models import (
    DEFAULT_KEY_VARIABLE,
    AgentsConfig,
    GamesRegistry,
    LeagueConfig,
    LlmSettings,
    McpServer,
    ModelPrice,
    PlayerDefaults,
    RefereeDefaults,
    SystemConfig,
)

__all__ = [
    "DEFAULT_KEY_VARIABLE",
    "AgentsConfig",
    "ConfigLoader",
    "GamesRegistry",
    "LeagueConfig",
    "LlmSettings",
    "McpServer",
    "ModelPrice",
    "PlayerDefaults",
    "RefereeDefaults",
    "SystemConfig",
]
