"""Fool me once."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.dilemma import DEFECT, Dilemma


class Grudger(Dilemma):
    """Cooperates until the opponent defects, and never again after that."""

    def defects(self, observation: Observation) -> bool:
        """A grudge needs no memory: after one defection our own last move is always another."""
        return any(DEFECT in pair for pair in observation.lately())
