"""Any legal move, all equally likely."""

from agent_league.players.observation import Move, Observation


class RandomChoice:
    """Plays any legal move of any game, all equally likely."""

    instant = True
    is_uniform = True
    memory = 1

    def choose(self, observation: Observation) -> Move:
        return observation.random.choice(observation.legal_moves)
