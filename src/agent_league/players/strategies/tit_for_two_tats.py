"""Tit for two tats."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.dilemma import DEFECT, DilemmaStrategy


class TitForTwoTats(DilemmaStrategy):
    """Defects only after the opponent has defected twice in a row."""

    def should_defect(self, observation: Observation) -> bool:
        return [theirs for _, theirs in observation.lately(2)] == [DEFECT, DEFECT]
