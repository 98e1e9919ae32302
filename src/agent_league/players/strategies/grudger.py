"""Defects for ever after the opponent's first defection."""

from agent_league.players.observation import Observation
from agent_league.players.strategies.dilemma import DEFECT, DilemmaStrategy


class Grudger(DilemmaStrategy):
    """Cooperates until the opponent defects, and never again after that."""

    memory = 1

    def should_defect(self, observation: Observation) -> bool:
        """Whether anybody defected last: after the opponent's first defection the own last move is always one."""
        return any(DEFECT in pair for pair in observation.lately())
