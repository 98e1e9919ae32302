"""Plays one move too often, so that an opponent can exploit it."""

from agent_league.players.observation import Move, Observation

FIRST_MOVE_RATE = 0.75


class Biased:
    """Plays the first of the legal moves three times out of four, else any other: a habit to be read."""

    instant = True
    memory = 1

    def choose(self, observation: Observation) -> Move:
        first = observation.legal_moves[0]
        return first if observation.random.random() < FIRST_MOVE_RATE else observation.other_than(first)
