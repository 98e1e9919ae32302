"""Tit for tat that forgives some defections."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.tit_for_tat import TitForTat

FORGIVENESS_RATE = 1 / 3
"""The highest rate at which defection doesn't pay, with the default payoffs 5, 3, 1 and 0."""


class GenerousTitForTat(TitForTat):
    """Plays tit for tat, but lets one defection in three pass."""

    def should_defect(self, observation: Observation) -> bool:
        return super().should_defect(observation) and observation.random.random() >= FORGIVENESS_RATE
