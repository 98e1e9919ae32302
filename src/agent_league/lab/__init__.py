"""Players tried out in great numbers: rules and strategies alone, or whole leagues in one process."""

from agent_league.lab.tournament import Tournament

__all__ = ["Tournament"]
