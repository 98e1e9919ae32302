"""Tit for tat that defects first."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.tit_for_tat import TitForTat


class SuspiciousTitForTat(TitForTat):
    """Plays tit for tat, but defects first."""

    def should_defect(self, observation: Observation) -> bool:
        return not observation.lately() or super().should_defect(observation)
