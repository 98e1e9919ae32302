"""What you do to me."""

from agent_league.players.observation import Move, Observation


class Mirror:
    """Copies the opponent's last move where it is legal; else plays any."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        copied = [theirs for _, theirs in observation.lately() if observation.is_legal(theirs)]
        return copied[0] if copied else observation.random.choice(observation.legal_moves)
