"""Whom a player is evaluated against: simple agents, each a built-in strategy."""

from dataclasses import dataclass

from agent_league.games.registry import Game


@dataclass(frozen=True, slots=True)
class Opponent:
    """A simple agent."""

    name: str
    strategy: str
    says: str


RANDOM = Opponent("random", "random", "plays any legal move")
MIRROR = Opponent("mirror", "mirror", "copies the last move of the other")
FIRST = Opponent("first", "first_legal", "always plays the first legal move")
PARITIES = (
    Opponent("always even", "always_even", "always plays even"),
    Opponent("always odd", "always_odd", "always plays odd"),
)
EARLIER = "earlier version"


def opponents_of(game: Game) -> tuple[Opponent, ...]:
    """Random, deterministic and mirror; Even/Odd has two that never change their mind."""
    deterministic = PARITIES if game.game_type == "even_odd" else (FIRST,)
    return (RANDOM, *deterministic, MIRROR)
