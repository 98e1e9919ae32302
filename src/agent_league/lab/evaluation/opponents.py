"""The simple opponents of an evaluation, each a built-in strategy, and the exact chances against the random one.

Pure; knows no game by name.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from agent_league.games.base import CHANCE, REPEAT_PARAMETERS, Move, Rules, State, winning_seat
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game
from agent_league.games.repeated import RepeatedRules
from agent_league.lab.evaluation.model import WinChances

EARLIER_VERSION = "earlier version"
NO_EARLIER_VERSION = "no earlier version was named: give its address or its strategy with --earlier"
NOTHING_TO_COPY = "in this game each has more than one move, and what the other did last is none that could be copied"
RANDOM_TRIALS = 50
MAX_COUNTED_ENDS = 200_000
"""Games with more final states than this are not enumerated."""

WinnerOdds = dict[int | None, Fraction]
"""Probability of winning by seat; None stands for a draw."""


@dataclass(frozen=True, slots=True)
class PracticeOpponent:
    """A simple opponent."""

    name: str
    strategy: str
    """The strategy's name; the earlier version may have an address instead."""
    description: str
    left_out_reason: str = ""
    """Why it doesn't play; empty: it does."""


def choose_opponents(game: Game, earlier: str | None = None) -> tuple[PracticeOpponent, ...]:
    """Choose the opponents: random, always first, always last, a mirror if moves can be copied, the earlier version.

    `earlier` is the earlier version's address or strategy.
    """
    rules, start = _open_single_game(game)
    mirrors = any(_is_single_move_game(rules, start, Random(number)) for number in range(RANDOM_TRIALS))  # noqa: S311 - a game
    first, last = _describe_extreme_moves(rules, start)
    return (
        PracticeOpponent("random", "random", "plays any legal move"),
        PracticeOpponent("always first", "first_legal", f"plays the first legal move{first}"),
        PracticeOpponent("always last", "last_legal", f"plays the last legal move{last}"),
        PracticeOpponent("mirror", "mirror", "copies the last move of the other", "" if mirrors else NOTHING_TO_COPY),
        PracticeOpponent(EARLIER_VERSION, earlier or "", earlier or "", "" if earlier else NO_EARLIER_VERSION),
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


def chances_against_random(game: Game) -> WinChances | None:
    """Compute the chances to win one game against random with the worst and the best move, sides alternating.

    None if the game can't be enumerated: only games of one simultaneous move each can.
    """
    rules, start = _open_single_game(game)
    if rules.actors(start) != (0, 1):
        return None
    options = (rules.legal(start, 0), rules.legal(start, 1))
    after = rules.apply(start, {0: options[0][0], 1: options[1][0]})
    draws = len(rules.legal(after, CHANCE)) if rules.actors(after) == (CHANCE,) else 1
    if len(options[0]) * len(options[1]) * draws > MAX_COUNTED_ENDS:
        return None
    odds = _compute_odds(rules, start, options)
    if odds is None:
        return None
    wins = [[one.get(seat, Fraction()) for one in odds[seat]] for seat in (0, 1)]
    return WinChances(
        least=float(sum(map(min, wins)) / 2),
        most=float(sum(map(max, wins)) / 2),
        alike=all(one == of_seat[0] for of_seat in odds for one in of_seat),
        single=not isinstance(game.rules, RepeatedRules),
    )


def _compute_odds(
    rules: Rules, start: State, options: tuple[Sequence[Move], Sequence[Move]]
) -> tuple[list[WinnerOdds], list[WinnerOdds]] | None:
    """Compute the odds of each move of each seat against uniform replies; None if the game isn't over after them."""
    odds: tuple[list[WinnerOdds], list[WinnerOdds]] = ([{} for _ in options[0]], [{} for _ in options[1]])
    for a, one in enumerate(options[0]):
        for b, other in enumerate(options[1]):
            weights: Counter[int | None] = Counter()
            for state, weight in _final_states(rules, rules.apply(start, {0: one, 1: other})):
                if rules.actors(state):
                    return None
                weights[winning_seat(rules.returns(state))] += weight
            whole = Fraction(weights.total())
            for own, answers in ((odds[0][a], options[1]), (odds[1][b], options[0])):
                for winner, weight in weights.items():
                    own[winner] = own.get(winner, Fraction()) + weight / whole / len(answers)
    return odds


def _final_states(rules: Rules, state: State) -> Iterator[tuple[State, Any]]:
    """Yield the state itself, or each outcome of a chance move, with its weight."""
    if rules.actors(state) != (CHANCE,):
        yield state, 1
        return
    for outcome, weight in rules.legal(state, CHANCE):
        yield rules.apply(state, {CHANCE: outcome}), weight if isinstance(weight, int) else Fraction(weight)


def _open_single_game(game: Game) -> tuple[Rules, State]:
    """Return rules and start of the game, of a repeated one those of a single game."""
    rules = game.rules.single if isinstance(game.rules, RepeatedRules) else game.rules
    return rules, rules.new({name: value for name, value in game.parameters.items() if name not in REPEAT_PARAMETERS})
