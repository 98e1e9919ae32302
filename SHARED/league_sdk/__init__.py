"""The toolkit of the seeds under its own names; everything lives in `agent_league`."""

try:
    from agent_league.config import ConfigLoader
    from agent_league.log import JsonLogger
    from agent_league.storage import (
        MatchRepository,
        PlayerHistoryRepository,
        RoundsRepository,
        StandingsRepository,
    )
except ModuleNotFoundError as error:
    if error.name != "agent_league":
        raise
    raise ModuleNotFoundError(
        "league_sdk needs the package agent_league, which this Python doesn't have. Use the Python in .venv, which any"
        " ./league command sets up, or run `pip install -r requirements.txt` in the folder above SHARED.",
        name=error.name,
    ) from None

__all__ = [
    "ConfigLoader",
    "JsonLogger",
    "MatchRepository",
    "PlayerHistoryRepository",
    "RoundsRepository",
    "StandingsRepository",
]
