"""Re-export: the models of the configuration files."""

from agent_league.config import (
    AgentsConfig,
    GamesRegistry,
    LeagueConfig,
    PlayerDefaults,
    RefereeDefaults,
    SystemConfig,
)

__all__ = [
    "AgentsConfig",
    "GamesRegistry",
    "LeagueConfig",
    "PlayerDefaults",
    "RefereeDefaults",
    "SystemConfig",
]
