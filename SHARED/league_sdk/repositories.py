"""Re-export: the repositories over `SHARED/data`."""

from agent_league.storage import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__all__ = ["MatchRepository", "PlayerHistoryRepository", "RoundsRepository", "StandingsRepository"]
