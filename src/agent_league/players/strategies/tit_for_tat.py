"""Tit for tat."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.dilemma import DEFECT, DilemmaStrategy


class TitForTat(DilemmaStrategy):
    """Cooperates first, then does what the opponent did in the last round."""

    memory = 1

    def should_defect(self, observation: Observation) -> bool:
        return [theirs for _, theirs in observation.lately()] == [DEFECT]
