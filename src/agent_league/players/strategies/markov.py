"""Plays against the move that most often followed the opponent's last one (first-order Markov chain)."""

from itertools import compress, repeat
from operator import eq

from agent_league.players.observation import Observation, Thought, count_moves
from agent_league.text import quote


class Markov:
    """Expects the move that most often followed the opponent's last one, and plays what pays best against it."""

    instant = True

    def choose(self, observation: Observation) -> Thought:
        moves = observation.opponent_moves
        last = moves[-1] if moves else None
        followers = count_moves(compress(moves[1:], map(eq, moves, repeat(last))))
        if not followers:
            reason = "nothing has followed the last move yet"
            return Thought(observation.random.choice(observation.legal_moves), reason=reason)
        expected, count = followers[0]
        total = sum(number for _, number in followers)
        reason = f"expects {quote(expected)}, which followed {quote(last)} {count} times of {total}"
        return Thought(observation.best_reply(expected), reason=reason)
