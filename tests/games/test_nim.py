"""Nim: who wins by the xor rule, for all small heaps, and heaps that make no game."""

from functools import cache, reduce
from itertools import combinations_with_replacement
from operator import xor
from typing import Any

import pytest

from agent_league.games.base import BadParameters
from agent_league.games.nim import NIM

RULES = NIM.rules
SMALL = [heaps for count in (1, 2, 3) for heaps in combinations_with_replacement(range(1, 6), count)]


@cache
def first_wins(heaps: tuple[int, ...], misere: bool) -> bool:
    """Whether the seat to move wins, by trying everything."""
    state = {"heaps": list(heaps), "misere": misere, "turn": 0}
    if not RULES.actors(state):
        return RULES.returns(state)[0] > 0
    after = [RULES.apply(state, {0: move})["heaps"] for move in RULES.legal(state, 0)]
    return any(not first_wins(tuple(sorted(left)), misere) for left in after)


@pytest.mark.parametrize("heaps", SMALL, ids=str)
def test_the_first_seat_wins_unless_the_heaps_cancel_out(heaps: tuple[int, ...]) -> None:
    assert first_wins(heaps, False) == (reduce(xor, heaps) != 0)


@pytest.mark.parametrize("heaps", SMALL, ids=str)
def test_where_the_last_one_loses_only_heaps_of_one_turn_it_around(heaps: tuple[int, ...]) -> None:
    cancel_out = reduce(xor, heaps) == 0
    assert first_wins(heaps, True) == (cancel_out if max(heaps) == 1 else not cancel_out)


@pytest.mark.parametrize(("misere", "returns"), [(False, (1, -1)), (True, (-1, 1))])
def test_who_takes_the_last_one_wins_or_loses_it(misere: bool, returns: tuple[int, int]) -> None:
    state = RULES.new({"heaps": [1, 2], "misere": misere})
    for move in ([1, 1], [0, 1], [1, 1]):
        (seat,) = RULES.actors(state)
        assert move in RULES.legal(state, seat)
        state = RULES.apply(state, {seat: move})
    assert (RULES.actors(state), RULES.returns(state)) == ((), returns)


def test_a_move_is_a_heap_and_how_many_of_it() -> None:
    state = RULES.new({"heaps": [2, 1]})
    assert RULES.legal(state, 0) == [[0, 1], [0, 2], [1, 1]]
    assert RULES.apply(state, {0: [0, 2]}) == {"heaps": [0, 1], "misere": False, "turn": 1}
    assert RULES.legal({"heaps": [0, 1], "misere": False, "turn": 1}, 1) == [[1, 1]]


@pytest.mark.parametrize("heaps", [[], [0], [1, -1], [26], [1] * 11, [True], [1.0], "345", None, 5, [[3]]])
def test_heaps_that_make_no_game_are_named(heaps: Any) -> None:
    with pytest.raises(BadParameters, match=r"heaps must be a list of 1 to 10 whole numbers from 1 to 25, found "):
        RULES.new({"heaps": heaps})


@pytest.mark.parametrize("misere", [None, 0, 1, "true"])
def test_misere_is_true_or_false(misere: Any) -> None:
    with pytest.raises(BadParameters, match="misere must be true or false, found "):
        RULES.new({"misere": misere})
