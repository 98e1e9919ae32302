"""The prisoner's dilemma: totals worked out by hand, and amounts that make no dilemma."""

from collections.abc import Callable
from typing import Any

import pytest

from agent_league.games.base import BadParameters
from agent_league.games.prisoners_dilemma import PRISONERS_DILEMMA

Way = Callable[[list[str]], str]
"""What somebody does, by the other's moves so far."""
COOPERATE, DEFECT = "cooperate", "defect"


def always(move: str) -> Way:
    return lambda _: move


def tit_for_tat(others: list[str]) -> str:
    return others[-1] if others else COOPERATE


def totals(a: Way, b: Way, **parameters: Any) -> tuple[float, float]:
    game = PRISONERS_DILEMMA.with_parameters(parameters)
    state = game.rules.new(game.parameters)
    while game.rules.actors(state):
        made = [[pair[seat] for pair in state["rounds"]] for seat in (0, 1)]
        state = game.rules.apply(state, {0: a(made[1]), 1: b(made[0])})
    return game.rules.returns(state)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (tit_for_tat, tit_for_tat, (150, 150)),
        (tit_for_tat, always(DEFECT), (49, 54)),
        (always(DEFECT), tit_for_tat, (54, 49)),
        (always(COOPERATE), always(DEFECT), (0, 250)),
        (always(DEFECT), always(DEFECT), (50, 50)),
        (always(COOPERATE), tit_for_tat, (150, 150)),
    ],
)
def test_fifty_rounds_pay_what_they_pay_by_hand(a: Way, b: Way, expected: tuple[int, int]) -> None:
    assert totals(a, b) == expected


@pytest.mark.parametrize("rounds", [1, 2, 7, 100])
def test_tit_for_tat_loses_one_round_to_one_who_always_defects(rounds: int) -> None:
    game = PRISONERS_DILEMMA.with_parameters({"repeat": rounds})
    if rounds == 1:
        state = game.rules.apply(game.rules.new(game.parameters), {0: COOPERATE, 1: DEFECT})
        assert game.rules.returns(state) == (0, 5)
    else:
        assert totals(tit_for_tat, always(DEFECT), repeat=rounds) == (rounds - 1, rounds + 4)


def test_other_amounts_are_paid_and_shown() -> None:
    amounts = {"temptation": 7.5, "reward": 4, "punishment": -1, "sucker": -2}
    game = PRISONERS_DILEMMA.with_parameters({**amounts, "repeat": 2})
    state = game.rules.new(game.parameters)
    assert game.rules.view(state, 1)["game"]["payoffs"] == [
        [COOPERATE, COOPERATE, 4, 4],
        [COOPERATE, DEFECT, -2, 7.5],
        [DEFECT, COOPERATE, 7.5, -2],
        [DEFECT, DEFECT, -1, -1],
    ]
    assert totals(always(DEFECT), always(COOPERATE), **amounts, repeat=2) == (15, -4)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"temptation": 3}, "temptation > reward > punishment > sucker must hold, found 3, 3, 1 and 0"),
        ({"punishment": 4}, "temptation > reward > punishment > sucker must hold"),
        ({"sucker": 1}, "temptation > reward > punishment > sucker must hold"),
        ({"temptation": 6}, r"2 x reward must be more than temptation \+ sucker, found 6, 3, 1 and 0"),
        ({"reward": "3"}, "reward must be a number from -1000000 to 1000000, found '3'"),
        ({"reward": True}, "reward must be a number"),
        ({"sucker": float("-inf")}, "sucker must be a number"),
        ({"sucker": float("nan")}, "sucker must be a number"),
        ({"temptation": 10**400}, "temptation must be a number"),
        ({"bribe": 1}, "there is no parameter 'bribe'"),
    ],
)
def test_amounts_that_make_no_dilemma_are_named(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameters, match=sentence):
        PRISONERS_DILEMMA.rules.new(parameters)


def test_a_result_tells_what_both_have_earned() -> None:
    game = PRISONERS_DILEMMA.with_parameters({"repeat": 2})
    state = game.rules.new(game.parameters)
    assert "payoffs" not in game.result_fields(state, [], ("P01", "P02"))
    for _ in range(2):
        state = game.rules.apply(state, {0: COOPERATE, 1: DEFECT})
    said = [{"P01": COOPERATE, "P02": DEFECT}] * 2
    assert game.result_fields(state, said, ("P01", "P02")) == {
        "choices": {"P01": [COOPERATE] * 2, "P02": [DEFECT] * 2},
        "payoffs": {"P01": 0, "P02": 10},
    }
