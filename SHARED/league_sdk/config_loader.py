"""Re-export: `ConfigLoader`."""

from agent_league.config import ConfigLoader

__all__ = ["ConfigLoader"]
