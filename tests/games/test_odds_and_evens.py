"""Odds and Evens: the parity of the sum decides, for whom by seat."""

import pytest

from agent_league.games.odds_and_evens import ODDS_AND_EVENS
from agent_league.games.repeated import RepeatedRules

RULES = ODDS_AND_EVENS.rules


@pytest.mark.parametrize(("a", "b", "returns"), [(1, 1, (-1, 1)), (1, 2, (1, -1)), (2, 1, (1, -1)), (2, 2, (-1, 1))])
def test_an_odd_sum_wins_for_seat_0_and_an_even_one_for_seat_1(a: int, b: int, returns: tuple[int, int]) -> None:
    assert isinstance(RULES, RepeatedRules)
    single = RULES.single
    state = single.new({})
    assert (single.actors(state), list(single.legal(state, 0)), list(single.legal(state, 1))) == (
        (0, 1),
        [1, 2],
        [1, 2],
    )
    state = single.apply(state, {0: a, 1: b})
    assert (single.actors(state), single.returns(state)) == ((), returns)
    assert [a, b, *returns] in state["payoffs"]


def test_a_match_is_fifteen_rounds_and_who_reads_the_other_wins_them_all() -> None:
    """Seat 1 shows one finger all the time; seat 0 always shows two."""
    state = RULES.new(ODDS_AND_EVENS.parameters)
    while RULES.actors(state):
        state = RULES.apply(state, {0: 2, 1: 1})
    assert (state["rounds"], state["wins"], RULES.returns(state)) == ([[2, 1]] * 15, [15, 0], (15, -15))
