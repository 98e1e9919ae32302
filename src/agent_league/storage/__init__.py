"""Storage: the league's store, and the files of `SHARED/data` at the seeds' paths, each written atomically."""

from agent_league.storage.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__all__ = ["MatchRepository", "PlayerHistoryRepository", "RoundsRepository", "StandingsRepository"]
