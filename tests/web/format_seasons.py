"""Seasons of other formats than a round robin, to look at."""

from typing import Any

from agent_league.config.models import SchedulingConfig
from agent_league.league.state import LeagueState
from tests.web.seasons import season_of

CUP = {
    "stages": [
        {"format": "groups", "settings": {"group_size": 4}, "advance": 2},
        {"format": "knockout", "settings": {"best_of": 3}},
    ]
}
"""Groups of four, then a knockout."""


def formatted_season(players: int, played: int | None, scheduling: dict[str, Any], **season: Any) -> LeagueState:
    return season_of(players, played, scheduling=SchedulingConfig.model_validate(scheduling), **season)


def knockout_season(players: int, played: int | None = None, **settings: Any) -> LeagueState:
    return formatted_season(players, played, {"format": "knockout", "settings": settings})


def cup_season(played: int | None) -> LeagueState:
    """Eight players in two groups; twelve matches, then the knockout of four."""
    return formatted_season(8, played, CUP)


def swiss_season(players: int, played: int | None) -> LeagueState:
    return formatted_season(players, played, {"format": "swiss"})
