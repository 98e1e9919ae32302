"""Tit for tat that forgives some defections."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.tit_for_tat import TitForTat

FORGIVEN = 1 / 3
"""The highest rate at which defection doesn't pay, with the default payoffs 5, 3, 1 and 0."""


class GenerousTitForTat(TitForTat):
    """Plays tit for tat, but lets one defection in three pass."""

    def defects(self, observation: Observation) -> bool:
        return super().defects(observation) and observation.random.random() >= FORGIVEN
