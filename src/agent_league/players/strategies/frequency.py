"""Against the opponent's habit."""

from collections import Counter

from agent_league.players.observation import Move, Observation


class Frequency:
    """Plays something else than the opponent's most frequent move."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        counts = Counter(observation.opponent_moves).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            return observation.random.choice(observation.legal_moves)
        return observation.other_than(counts[0][0])
