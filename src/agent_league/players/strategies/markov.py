"""Against a habit of transitions."""

from itertools import pairwise

from agent_league.players.observation import Move, Observation, counted


class Markov:
    """Expects the move that most often followed the opponent's last one, and plays what pays best against it."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        moves = observation.opponent_moves
        last = moves[-1] if moves else None
        followers = counted([after for before, after in pairwise(moves) if before == last])
        if not followers:
            return observation.random.choice(observation.legal_moves)
        return observation.best_reply(followers[0][0])
