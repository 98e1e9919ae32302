"""The rules of the prisoner's dilemma: cooperate or defect. Pure."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import BadParameters, check_parameter_names
from agent_league.games.matrix import MatrixRules
from agent_league.text import quote

DEFAULTS = {"temptation": 5, "reward": 3, "punishment": 1, "sucker": 0}
MAX_PAYOFF = 1_000_000


class PrisonersDilemmaRules(MatrixRules):
    """Payoffs are parameters, and must make a dilemma."""

    moves = ("cooperate", "defect")

    def payoff_table(self, config: Mapping[str, Any]) -> list[list[Any]]:
        check_parameter_names(config, *DEFAULTS)
        temptation, reward, punishment, sucker = (_read_payoff(config, name) for name in DEFAULTS)
        found = f"{temptation!r}, {reward!r}, {punishment!r} and {sucker!r}"
        if not temptation > reward > punishment > sucker:
            raise BadParameters(f"temptation > reward > punishment > sucker must hold, found {found}")
        if 2 * reward <= temptation + sucker:
            raise BadParameters(f"2 x reward must be more than temptation + sucker, found {found}")
        cooperate, defect = self.moves
        return [
            [cooperate, cooperate, reward, reward],
            [cooperate, defect, sucker, temptation],
            [defect, cooperate, temptation, sucker],
            [defect, defect, punishment, punishment],
        ]


def _read_payoff(config: Mapping[str, Any], name: str) -> float:
    value = config.get(name, DEFAULTS[name])
    if not isinstance(value, int | float) or isinstance(value, bool) or not -MAX_PAYOFF <= value <= MAX_PAYOFF:
        raise BadParameters(f"{name} must be a number from -{MAX_PAYOFF} to {MAX_PAYOFF}, found {quote(value)}")
    return value
