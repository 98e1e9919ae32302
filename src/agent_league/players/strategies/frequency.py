"""Against the opponent's habit."""

from agent_league.players.observation import Move, Observation, counted


class Frequency:
    """Expects the opponent's most frequent move, and plays what pays best against it."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        counts = counted(observation.opponent_moves)
        if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
            return observation.random.choice(observation.legal_moves)
        return observation.best_reply(counts[0][0])
