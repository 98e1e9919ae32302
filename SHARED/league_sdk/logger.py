"""Re-export: `JsonLogger`."""

from agent_league.log import JsonLogger

__all__ = ["JsonLogger"]
