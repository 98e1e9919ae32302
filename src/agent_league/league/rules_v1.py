"""The rules of a `league.v1` league (seed 001): a double round robin, and numbers drawn from 0 to 99."""

from collections.abc import Collection

from agent_league.config.models import LeagueConfig
from agent_league.protocol.version import PROTOCOL_V1

V1_GAME_TYPE = "even_odd"
"""The game of seed 001, to which the number range applies."""
V1_NUMBER_RANGE = {"min_number": 0, "max_number": 99}


def apply_v1_rules(
    league: LeagueConfig, *, explicit_parameters: Collection[str], keep_format: bool = False
) -> LeagueConfig:
    """Return the league's settings for players that all speak `league.v1`.

    Game parameters named in `explicit_parameters` were set by the organiser and stay; `keep_format` keeps the format.
    """
    numbers = {name: value for name, value in V1_NUMBER_RANGE.items() if name not in explicit_parameters}
    update: dict[str, object] = {"protocol": PROTOCOL_V1}
    if league.game_type == V1_GAME_TYPE:
        update["game_parameters"] = {**league.game_parameters, **numbers}
    if not keep_format:
        update["scheduling"] = league.scheduling.model_copy(update={"format": "double_round_robin"})
    return league.model_copy(update=update)
