"""The rules of Odds and Evens: one or two fingers each, and the parity of the sum decides. Pure."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.base import check_parameter_names
from agent_league.games.matrix import MatrixRules


class OddsAndEvensRules(MatrixRules):
    """Seat 0 wins when the sum is odd, seat 1 when it is even."""

    moves = (1, 2)

    def payoff_table(self, config: Mapping[str, Any]) -> list[list[Any]]:
        check_parameter_names(config)
        return [[a, b, 1, -1] if (a + b) % 2 else [a, b, -1, 1] for a in self.moves for b in self.moves]
