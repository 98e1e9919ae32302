"""Whether a game against a player that chooses at random is luck, by counting. Pure; knows no game by name."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from agent_league.games.base import CHANCE, REPEATING, Move, Rules, State, is_long, winning_seat
from agent_league.games.registry import Game
from agent_league.games.repeated import Repeated

MOST_OPTIONS = 1000
"""Moves or outcomes of more than so many are not counted."""

Odds = dict[int | None, Fraction]
"""How likely which seat wins, and how likely nobody."""


def luck_against_random(game: Game) -> float | None:
    """The chance to win one game against random, where every choice gives the same; None: it matters what one does,
    or that can't be counted (only games of one choice each, made at once, can).
    """
    rules = game.rules.single if isinstance(game.rules, Repeated) else game.rules
    start = rules.new({name: value for name, value in game.parameters.items() if name not in REPEATING})
    if rules.actors(start) != (0, 1):
        return None
    options = [rules.legal(start, seat) for seat in (0, 1)]
    if any(is_long(moves) or len(moves) > MOST_OPTIONS for moves in options):
        return None
    odds = [[_odds(rules, start, seat, own, options[1 - seat]) for own in options[seat]] for seat in (0, 1)]
    if any(one is None or one != of_seat[0] for of_seat in odds for one in of_seat):
        return None
    return float(sum((of_seat[0] or {}).get(seat, Fraction()) for seat, of_seat in enumerate(odds)) / 2)


def _odds(rules: Rules, start: State, seat: int, own: Move, others: Sequence[Move]) -> Odds | None:
    """What comes of a move against all answers alike; None where the game goes on after that."""
    odds: Odds = {}
    for other in others:
        for state, share in _ends(rules, rules.apply(start, {seat: own, 1 - seat: other})):
            if rules.actors(state):
                return None
            winner = winning_seat(rules.returns(state))
            odds[winner] = odds.get(winner, Fraction()) + share / len(others)
    return odds


def _ends(rules: Rules, state: State) -> Iterator[tuple[State, Fraction]]:
    """The state itself, or what a draw makes of it, with its probability."""
    if rules.actors(state) != (CHANCE,):
        yield state, Fraction(1)
        return
    outcomes = rules.legal(state, CHANCE)
    total = sum(Fraction(weight) for _, weight in outcomes)
    for outcome, weight in outcomes:
        yield rules.apply(state, {CHANCE: outcome}), Fraction(weight) / total
