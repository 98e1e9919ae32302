"""The toolkit of the seeds under its own names; everything lives in `agent_league`."""

from agent_league.config import ConfigLoader
from agent_league.log import JsonLogger
from agent_league.storage import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__all__ = [
    "ConfigLoader",
    "JsonLogger",
    "MatchRepository",
    "PlayerHistoryRepository",
    "RoundsRepository",
    "StandingsRepository",
]
