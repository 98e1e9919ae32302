"""What the ideas for the prisoner's dilemma share: its two words, and any legal move where a game has other ones."""

from abc import ABC, abstractmethod

from agent_league.players.observation import Move, Observation

COOPERATE = "cooperate"
DEFECT = "defect"
GAMES = ("prisoners_dilemma",)


class Dilemma(ABC):
    """Cooperates or defects."""

    games = GAMES
    instant = True

    def choose(self, observation: Observation) -> Move:
        if not observation.is_legal(COOPERATE) or not observation.is_legal(DEFECT):
            return observation.random.choice(observation.legal_moves)
        return DEFECT if self.defects(observation) else COOPERATE

    @abstractmethod
    def defects(self, observation: Observation) -> bool:
        """Whether to defect now."""
