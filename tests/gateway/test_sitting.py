"""What a person types, and what a person is asked."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent_league.gateway.sitting import chosen, question


@pytest.mark.parametrize(
    ("typed", "legal", "meant"),
    [
        ("1", ("even", "odd"), "even"),
        (" 2 ", ("even", "odd"), "odd"),
        ("3", ("even", "odd"), None),
        ("0", ("even", "odd"), None),
        ("Odd", ("even", "odd"), "odd"),
        ("e", ("even", "odd"), "even"),
        ("", ("even", "odd"), None),
        ("x", ("even", "odd"), None),
        ("r", ("rock", "rope", "paper"), None),
        ("roc", ("rock", "rope", "paper"), "rock"),
        ("rock", ("rock", "rocket"), "rock"),
        ("2", (2, 3, 1), 2),
        ("4", (2, 3, 1), None),
        ("[0, 1]", ([0, 1], [1, 1]), [0, 1]),
        ("2", ([0, 1], [1, 1]), [1, 1]),
    ],
)
def test_a_move_is_chosen_by_name_number_or_beginning(typed: str, legal: Sequence[Any], meant: Any) -> None:
    assert chosen(typed, legal) == meant


def test_a_question_is_short_whatever_the_referee_calls_a_move_and_every_move_has_a_number() -> None:
    legal = ["x" * 400_000, *(f"move {number}" for number in range(1000))]
    asked = question(legal)
    assert asked.startswith(f"1 {'x' * 60}..., 2 move 0, 3 move 1, ")
    assert asked.endswith("30 move 28, ... (1001 in all) > ")
    assert (chosen("1", legal), chosen("1001", legal)) == (legal[0], legal[1000])


def test_moves_that_are_numbers_have_no_other_number() -> None:
    assert question([3, 1, 2]) == "3, 1, 2 > "


def test_of_a_long_range_a_number_is_typed_as_it_is() -> None:
    many = range(5, 10**15, 5)
    assert question(many) == "one of the whole numbers from 5 to 999999999999995 in steps of 5 > "
    assert [chosen(typed, many) for typed in (" 10 ", "3", "x", "")] == [10, None, None, None]
