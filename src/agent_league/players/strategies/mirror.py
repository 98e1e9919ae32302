"""Copies the opponent's last move."""

from agent_league.players.observation import Observation, Thought


class Mirror:
    """Copies the opponent's last move where it is legal; else plays any."""

    instant = True
    memory = 1

    def choose(self, observation: Observation) -> Thought:
        copied = [theirs for _, theirs in observation.lately() if observation.is_legal(theirs)]
        if copied:
            return Thought(copied[0], reason="the opponent's last move")
        return Thought(observation.random.choice(observation.legal_moves), reason="there is no last move to copy")
