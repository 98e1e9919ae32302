"""The rules of a league of `league.v1` (seed 001): a double round robin, and draws from 0 to 99."""

from collections.abc import Collection

from agent_league.config.models import LeagueConfig
from agent_league.protocol.version import PROTOCOL_V1

V1_GAME = "even_odd"
"""The game of seed 001, whose numbers these are."""
V1_NUMBERS = {"min_number": 0, "max_number": 99}


def with_v1_rules(league: LeagueConfig, *, said: Collection[str], keep_format: bool = False) -> LeagueConfig:
    """The same league as it is played where all its players speak `league.v1`.

    Parameters of the game that the organiser has `said` by name stand, and so does a format that is to be kept.
    """
    numbers = {name: value for name, value in V1_NUMBERS.items() if name not in said}
    update: dict[str, object] = {"protocol": PROTOCOL_V1}
    if league.game_type == V1_GAME:
        update["game_parameters"] = {**league.game_parameters, **numbers}
    if not keep_format:
        update["scheduling"] = league.scheduling.model_copy(update={"format": "double_round_robin"})
    return league.model_copy(update=update)
