"""What is kept: the files of `SHARED/data` at the seeds' paths, each written whole or not at all."""

from agent_league.storage.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__all__ = ["MatchRepository", "PlayerHistoryRepository", "RoundsRepository", "StandingsRepository"]
