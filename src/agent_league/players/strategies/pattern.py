"""Plays against the continuation of a repeating pattern in the opponent's moves."""

from agent_league.players.observation import Move, Observation, Thought
from agent_league.text import quote

MAX_PATTERN_LENGTH = 5


class Pattern:
    """Expects what followed when the opponent's last moves came up before, and plays what pays best against it."""

    instant = True

    def choose(self, observation: Observation) -> Thought:
        expected = self.predict_next_move(observation.opponent_moves)
        if expected is None:
            reason = "the last move never came up before"
            return Thought(observation.random.choice(observation.legal_moves), reason=reason)
        reason = f"expects {quote(expected)}, which came next when the last moves came up before"
        return Thought(observation.best_reply(expected), reason=reason)

    @staticmethod
    def predict_next_move(moves: list[Move]) -> Move | None:
        """The move that followed the longest suffix of `moves` when it last occurred before; None if none did."""
        for length in range(min(MAX_PATTERN_LENGTH, len(moves) - 1), 0, -1):
            recent = moves[-length:]
            for start in range(len(moves) - length - 1, -1, -1):
                if moves[start : start + length] == recent:
                    return moves[start + length]
        return None
