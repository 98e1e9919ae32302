"""Plays against the opponent's most frequent move."""

from agent_league.players.observation import Observation, Thought, count_moves
from agent_league.text import quote


class Frequency:
    """Expects the opponent's most frequent move, and plays what pays best against it."""

    instant = True

    def choose(self, observation: Observation) -> Thought:
        moves = observation.opponent_moves
        counts = count_moves(moves)
        if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
            return Thought(observation.random.choice(observation.legal_moves), reason="no move is the most frequent")
        expected, count = counts[0]
        reason = f"expects {quote(expected)}, played {count} times of {len(moves)}"
        return Thought(observation.best_reply(expected), reason=reason)
