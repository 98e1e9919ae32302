"""Base of the strategies for the prisoner's dilemma; in a game with other moves they play any legal one."""

from abc import ABC, abstractmethod

from agent_league.players.observation import Observation, Thought

COOPERATE = "cooperate"
DEFECT = "defect"
GAMES = ("prisoners_dilemma",)


class DilemmaStrategy(ABC):
    """Cooperates or defects, as `should_defect` says."""

    games = GAMES
    instant = True

    def choose(self, observation: Observation) -> Thought:
        if not observation.is_legal(COOPERATE) or not observation.is_legal(DEFECT):
            return Thought(observation.random.choice(observation.legal_moves), reason="the game is no dilemma")
        reason = "the first round"
        for mine, theirs in observation.lately():
            reason = f"after {mine} against {theirs}"
        return Thought(DEFECT if self.should_defect(observation) else COOPERATE, reason=reason)

    @abstractmethod
    def should_defect(self, observation: Observation) -> bool:
        """Whether to defect now."""
