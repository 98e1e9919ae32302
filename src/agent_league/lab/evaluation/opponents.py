"""The simple opponents of an evaluation, each a built-in strategy."""

from collections import Counter
from dataclasses import dataclass
from random import Random

from agent_league.games.base import CHANCE, REPEAT_PARAMETERS, Rules, State
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game
from agent_league.games.repeated import RepeatedRules

EARLIER_VERSION = "earlier version"
NOTHING_TO_COPY = "in this game each has more than one move, and what the other did last is none that could be copied"
RANDOM_TRIALS = 50


@dataclass(frozen=True, slots=True)
class PracticeOpponent:
    """A simple opponent."""

    name: str
    strategy: str
    description: str
    left_out_reason: str = ""
    """Why it doesn't play; empty: it does."""


def choose_opponents(game: Game) -> tuple[PracticeOpponent, ...]:
    """Choose the opponents for a game: random, always first, always last, and a mirror if moves can be copied."""
    rules = game.rules.single if isinstance(game.rules, RepeatedRules) else game.rules
    start = rules.new({name: value for name, value in game.parameters.items() if name not in REPEAT_PARAMETERS})
    mirrors = any(_is_single_move_game(rules, start, Random(number)) for number in range(RANDOM_TRIALS))  # noqa: S311 - a game
    first, last = _describe_extreme_moves(rules, start)
    return (
        PracticeOpponent("random", "random", "plays any legal move"),
        PracticeOpponent("always first", "first_legal", f"plays the first legal move{first}"),
        PracticeOpponent("always last", "last_legal", f"plays the last legal move{last}"),
        PracticeOpponent("mirror", "mirror", "copies the last move of the other", "" if mirrors else NOTHING_TO_COPY),
    )


def _is_single_move_game(rules: Rules, state: State, dice: Random) -> bool:
    """Whether each seat moves exactly once in a random game: only then can the mirror copy a move."""
    moved: Counter[int] = Counter()
    while actors := rules.actors(state):
        if actors == (CHANCE,):
            state = rules.apply(state, {CHANCE: select_outcome(dice.random(), rules.legal(state, CHANCE))})
            continue
        moved.update(actors)
        if max(moved.values()) > 1:
            return False
        state = rules.apply(state, {seat: dice.choice(rules.legal(state, seat)) for seat in actors})
    return moved[0] == moved[1] == 1


def _describe_extreme_moves(rules: Rules, start: State) -> tuple[str, str]:
    """Name the first and the last legal move if both players move at once with the same moves; else empty."""
    if rules.actors(start) != (0, 1) or rules.legal(start, 0) != rules.legal(start, 1):
        return "", ""
    legal = rules.legal(start, 0)
    return f" ({legal[0]})", f" ({legal[-1]})"
