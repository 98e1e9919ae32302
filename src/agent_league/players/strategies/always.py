"""Plays always the same move; in games without it, any legal one."""

from typing import ClassVar

from agent_league.players.observation import Move, Observation


class Always:
    """Plays one move whatever happens."""

    instant = True
    memory = 1
    move: ClassVar[Move]

    def choose(self, observation: Observation) -> Move:
        return self.move if observation.is_legal(self.move) else observation.random.choice(observation.legal_moves)


class AlwaysEven(Always):
    """Plays "even" whatever happens."""

    games = ("even_odd",)
    move = "even"


class AlwaysOdd(Always):
    """Plays "odd" whatever happens."""

    games = ("even_odd",)
    move = "odd"


class AlwaysCooperate(Always):
    """Cooperates whatever happens."""

    games = ("prisoners_dilemma",)
    move = "cooperate"


class AlwaysDefect(Always):
    """Defects whatever happens."""

    games = ("prisoners_dilemma",)
    move = "defect"
