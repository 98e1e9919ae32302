"""Always the same parity."""

from agent_league.players.observation import Move, Observation


class AlwaysEven:
    """Plays "even" whatever happens."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        return "even"


class AlwaysOdd:
    """Plays "odd" whatever happens."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        return "odd"
