"""Win-stay, lose-shift."""

from agent_league.players.observation import Move, Observation, Thought
from agent_league.text import quote

GOOD_OUTCOMES = ("WIN", "DRAW")


class WinStayLoseShift:
    """Repeats its move as long as that paid at least the average of the game, and else changes it."""

    instant = True
    memory = 1

    def choose(self, observation: Observation) -> Thought:
        latest = observation.lately()
        if not latest or not observation.is_legal(latest[0][0]):
            return Thought(self.opening_move(observation), reason="there is no move to repeat")
        mine, theirs = latest[0]
        if _was_successful(observation, mine, theirs):
            return Thought(mine, reason=f"{quote(mine)} went well against {quote(theirs)}")
        return Thought(observation.other_than(mine), reason=f"{quote(mine)} went badly against {quote(theirs)}")

    def opening_move(self, observation: Observation) -> Move:
        """Choose a move when there is none to repeat."""
        return observation.random.choice(observation.legal_moves)


def _was_successful(observation: Observation, mine: Move, theirs: Move) -> bool:
    """Whether the round paid at least the average; without payoffs, whether the last match wasn't lost."""
    paid = {(repr(own), repr(other)): value for own, other, value, _ in observation.payoffs}
    value = paid.get((repr(mine), repr(theirs)))
    if value is not None:
        return value >= sum(paid.values()) / len(paid)
    games = observation.against_opponent
    return not games or games[-1].outcome in GOOD_OUTCOMES
