"""Win-stay, lose-shift for the prisoner's dilemma; cooperates first."""

from agent_league.players.observation import Move, Observation
from agent_league.players.strategies.dilemma import COOPERATE, GAMES
from agent_league.players.strategies.win_stay_lose_shift import WinStayLoseShift


class Pavlov(WinStayLoseShift):
    """Cooperates first, then repeats its move as long as that paid well, and else changes it."""

    games = GAMES

    def opening_move(self, observation: Observation) -> Move:
        return COOPERATE if observation.is_legal(COOPERATE) else super().opening_move(observation)
