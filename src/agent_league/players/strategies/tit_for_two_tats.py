"""Tit for two tats."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.dilemma import DEFECT, Dilemma


class TitForTwoTats(Dilemma):
    """Defects only after the opponent has defected twice in a row."""

    def defects(self, observation: Observation) -> bool:
        return [theirs for _, theirs in observation.lately(2)] == [DEFECT, DEFECT]
