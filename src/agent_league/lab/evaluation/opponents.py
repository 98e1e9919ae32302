"""The simple opponents of an evaluation, each a built-in strategy."""

from collections import Counter
from dataclasses import dataclass
from random import Random

from agent_league.games.base import CHANCE, REPEATING, Rules, State
from agent_league.games.draw import outcome_at
from agent_league.games.registry import Game
from agent_league.games.repeated import Repeated

EARLIER = "earlier version"
NOTHING_TO_COPY = "in this game each has more than one move, and what the other did last is none that could be copied"
TRIALS = 50


@dataclass(frozen=True, slots=True)
class Opponent:
    """A simple opponent."""

    name: str
    strategy: str
    says: str
    left_out: str = ""
    """Why it doesn't play; empty: it does."""


def opponents_of(game: Game) -> tuple[Opponent, ...]:
    """Choose the opponents for a game: random, always first, always last, and a mirror if moves can be copied."""
    rules = game.rules.single if isinstance(game.rules, Repeated) else game.rules
    start = rules.new({name: value for name, value in game.parameters.items() if name not in REPEATING})
    mirrors = any(_each_moves_once(rules, start, Random(number)) for number in range(TRIALS))  # noqa: S311 - a game
    first, last = _ends(rules, start)
    return (
        Opponent("random", "random", "plays any legal move"),
        Opponent("always first", "first_legal", f"plays the first legal move{first}"),
        Opponent("always last", "last_legal", f"plays the last legal move{last}"),
        Opponent("mirror", "mirror", "copies the last move of the other", "" if mirrors else NOTHING_TO_COPY),
    )


def _each_moves_once(rules: Rules, state: State, dice: Random) -> bool:
    """Whether each seat moves exactly once in a random game: only then can the mirror copy a move."""
    moved: Counter[int] = Counter()
    while actors := rules.actors(state):
        if actors == (CHANCE,):
            state = rules.apply(state, {CHANCE: outcome_at(dice.random(), rules.legal(state, CHANCE))})
            continue
        moved.update(actors)
        if max(moved.values()) > 1:
            return False
        state = rules.apply(state, {seat: dice.choice(rules.legal(state, seat)) for seat in actors})
    return moved[0] == moved[1] == 1


def _ends(rules: Rules, start: State) -> tuple[str, str]:
    """Name the first and the last legal move if both players move at once with the same moves; else empty."""
    if rules.actors(start) != (0, 1) or rules.legal(start, 0) != rules.legal(start, 1):
        return "", ""
    legal = rules.legal(start, 0)
    return f" ({legal[0]})", f" ({legal[-1]})"
