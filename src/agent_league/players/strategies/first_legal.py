"""The first of the legal moves."""

from agent_league.players.observation import Move, Observation


class FirstLegal:
    """Plays the first of the legal moves, always."""

    instant = True
    memory = 1

    def choose(self, observation: Observation) -> Move:
        return observation.legal_moves[0]
