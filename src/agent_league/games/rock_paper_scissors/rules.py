"""The rules of Rock, Paper, Scissors. Pure."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import check_parameter_names
from agent_league.games.matrix import MatrixRules


class RockPaperScissorsRules(MatrixRules):
    """Each move beats the one before it, and rock beats scissors."""

    moves = ("rock", "paper", "scissors")

    def payoff_table(self, config: Mapping[str, Any]) -> list[list[Any]]:
        check_parameter_names(config)
        paid = ([0, 0], [1, -1], [-1, 1])
        return [
            [a, b, *paid[(own - other) % 3]] for own, a in enumerate(self.moves) for other, b in enumerate(self.moves)
        ]
