"""Kuhn poker: what all thirty endings pay, the known value of the game, and cards that stay hidden."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from agent_league.games.base import CHANCE
from agent_league.games.kuhn_poker import KUHN_POKER

RULES = KUHN_POKER.rules
DEALS = ["JQ", "JK", "QJ", "QK", "KJ", "KQ"]
WAYS = {"p": "pass", "b": "bet"}
ENDINGS = {
    "JQ": {"pp": -1, "bp": 1, "bb": -2, "pbp": -1, "pbb": -2},
    "JK": {"pp": -1, "bp": 1, "bb": -2, "pbp": -1, "pbb": -2},
    "QJ": {"pp": 1, "bp": 1, "bb": 2, "pbp": -1, "pbb": 2},
    "QK": {"pp": -1, "bp": 1, "bb": -2, "pbp": -1, "pbb": -2},
    "KJ": {"pp": 1, "bp": 1, "bb": 2, "pbp": -1, "pbb": 2},
    "KQ": {"pp": 1, "bp": 1, "bb": 2, "pbp": -1, "pbb": 2},
}
"""Cards of both seats, how the betting went, and what seat 0 is paid."""
SHOWDOWNS = ("pp", "bb", "pbb")
FOLDS = ("bp", "pbp")
Way = Callable[[str, str], Fraction]
"""How often somebody bets, with this card after this betting."""


def dealt(cards: str, betting: str = "") -> Any:
    state = RULES.apply(RULES.new({}), {CHANCE: list(cards)})
    for letter in betting:
        (seat,) = RULES.actors(state)
        state = RULES.apply(state, {seat: WAYS[letter]})
    return state


def found_endings(cards: str, betting: str = "") -> dict[str, float]:
    state = dealt(cards, betting)
    if not RULES.actors(state):
        return {betting: RULES.returns(state)[0]}
    return {end: paid for letter in WAYS for end, paid in found_endings(cards, betting + letter).items()}


def test_all_thirty_endings_pay_what_the_table_says() -> None:
    assert {cards: found_endings(cards) for cards in DEALS} == ENDINGS


@pytest.mark.parametrize("cards", DEALS)
@pytest.mark.parametrize("betting", [*SHOWDOWNS, *FOLDS])
def test_what_one_wins_the_other_loses(cards: str, betting: str) -> None:
    assert sum(RULES.returns(dealt(cards, betting))) == 0


def test_all_six_deals_are_alike() -> None:
    assert RULES.actors(RULES.new({})) == (CHANCE,)
    assert [("".join(cards), weight) for cards, weight in RULES.legal(RULES.new({}), CHANCE)] == [
        (cards, 1) for cards in DEALS
    ]


def value(ways: tuple[Way, Way], state: Any = None) -> Fraction:
    """What seat 0 is paid on average; each seat decides by its view alone."""
    state = RULES.new({}) if state is None else state
    actors = RULES.actors(state)
    if not actors:
        return Fraction(int(RULES.returns(state)[0]))
    (seat,) = actors
    if seat == CHANCE:
        return sum((value(ways, dealt("".join(cards))) for cards, _ in RULES.legal(state, CHANCE)), Fraction(0)) / 6
    view = RULES.view(state, seat)
    often = ways[seat](view["card"], "".join(move[0] for move in view["betting"]))
    chances = {"bet": often, "pass": 1 - often}
    return sum(
        (share * value(ways, RULES.apply(state, {seat: move})) for move, share in chances.items() if share), Fraction(0)
    )


def first_at_its_best(bluff: Fraction) -> Way:
    """Harold Kuhn's solutions for seat 0, one for every share of bluffs up to a third."""
    shares = {
        ("J", ""): bluff,
        ("Q", ""): Fraction(0),
        ("K", ""): 3 * bluff,
        ("J", "pb"): Fraction(0),
        ("Q", "pb"): bluff + Fraction(1, 3),
        ("K", "pb"): Fraction(1),
    }
    return lambda card, betting: shares[card, betting]


def second_at_its_best(card: str, betting: str) -> Fraction:
    thirds = {("J", "p"): 1, ("J", "b"): 0, ("Q", "p"): 0, ("Q", "b"): 1, ("K", "p"): 3, ("K", "b"): 3}
    return Fraction(thirds[card, betting], 3)


def pure_ways(*bettings: str) -> list[Way]:
    """Every way to play that never draws lots."""
    situations = list(product("JQK", bettings))

    def way(bets: tuple[int, ...]) -> Way:
        chosen = dict(zip(situations, bets, strict=True))
        return lambda card, betting: Fraction(chosen[card, betting])

    return [way(bets) for bets in product((0, 1), repeat=len(situations))]


@pytest.mark.parametrize("bluff", [Fraction(0), Fraction(1, 6), Fraction(1, 3)], ids=str)
def test_between_two_who_play_at_their_best_seat_0_loses_an_eighteenth(bluff: Fraction) -> None:
    assert value((first_at_its_best(bluff), second_at_its_best)) == Fraction(-1, 18)


def test_nobody_does_better_against_one_who_plays_at_its_best() -> None:
    assert max(value((way, second_at_its_best)) for way in pure_ways("", "pb")) == Fraction(-1, 18)
    first = first_at_its_best(Fraction(1, 6))
    assert min(value((first, way)) for way in pure_ways("p", "b")) == Fraction(-1, 18)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("betting", ["", "p", "b", "pb", *FOLDS])
def test_without_a_showdown_a_seat_never_sees_the_other_card(betting: str, seat: int) -> None:
    own, others = "Q", "JK"
    views = [RULES.view(dealt(own + other if seat == 0 else other + own, betting), seat) for other in others]
    assert views[0] == views[1]
    assert (views[0]["card"], views[0]["other_card"]) == ("Q", None)


@pytest.mark.parametrize("betting", SHOWDOWNS)
def test_a_showdown_lays_both_cards_open(betting: str) -> None:
    state = dealt("JK", betting)
    assert [RULES.view(state, seat)["other_card"] for seat in (0, 1)] == ["K", "J"]


@pytest.mark.parametrize(("betting", "pot"), [("", 2), ("p", 2), ("b", 3), ("pb", 3), ("bb", 4), ("bp", 3)])
def test_the_pot_holds_what_both_put_in(betting: str, pot: int) -> None:
    assert RULES.view(dealt("JK", betting), 0)["pot"] == pot
    assert RULES.view(dealt("JK", betting), 1)["betting"] == [WAYS[letter] for letter in betting]


def test_before_the_deal_there_is_nothing_to_see() -> None:
    assert RULES.view(RULES.new({}), 0) == {"card": None, "other_card": None, "betting": [], "pot": 2}
