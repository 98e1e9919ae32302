"""Finding the move that is meant, also among more than anybody could go through."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from agent_league.players.moves import describe_legal_moves, find_equal_moves, find_meant_moves
from agent_league.players.observation import MAX_PAYOFF_ROWS, Observation

MANY = range(0, 10**15, 5)


class Five:
    """A number of some library."""

    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize(
    ("move", "legal", "found"),
    [
        ("odd", ("even", "odd"), ["odd"]),
        (True, [1, 2], [1]),
        (3, [1, 2], []),
        ([0, 1], [[0, 1]], [[0, 1]]),
        (10, MANY, [10]),
        (True, range(3), [1]),
        (10.0, MANY, [10]),
        (Five(), MANY, [5]),
        (3, MANY, []),
        (10**15, MANY, []),
        (10.5, MANY, []),
        ("10", MANY, []),
        (None, MANY, []),
        ([10], MANY, []),
    ],
)
def test_an_equal_move_is_found_in_the_referees_own_spelling(move: Any, legal: Sequence[Any], found: list[Any]) -> None:
    assert find_equal_moves(move, legal) == found
    assert [type(one) for one in find_equal_moves(move, legal)] == [type(one) for one in found]


@pytest.mark.parametrize(
    ("said", "legal", "found"),
    [
        ("3", [1, 2, 3], [3]),
        ("[0, 1]", [[0, 1]], [[0, 1]]),
        ("1", ["1", 1], ["1"]),
        ("10", MANY, [10]),
        ("-5", range(-500, 500), [-5]),
        ("010", MANY, []),
        ("ten", MANY, []),
        ("9" * 5000, MANY, []),
    ],
)
def test_the_text_of_a_number_stands_for_it(said: str, legal: Sequence[Any], found: list[Any]) -> None:
    assert find_meant_moves(said, legal) == found


def seen(legal: Sequence[Any], **more: Any) -> Observation:
    return Observation("highest", "R1M1", "P01", "P02", legal, random=Random(7), **more)


def test_another_move_is_found_without_going_through_all() -> None:
    observation = seen(range(3))
    assert {observation.other_than(1) for _ in range(50)} == {0, 2}
    assert {observation.other_than("x") for _ in range(50)} == {0, 1, 2}
    assert seen(range(4, 5)).other_than(4) == 4
    assert seen(MANY).other_than(10) in MANY


class Counted(str):
    """A move that counts how often one of its kind is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


def test_the_best_reply_among_many_moves_is_looked_up_and_not_searched_for_again_and_again() -> None:
    moves = [Counted(number) for number in range(2000)]
    payoffs = [[f"{number}", "them", number % 1999, 0] for number in range(2000)]
    assert seen(moves, view={"payoffs": payoffs}).best_reply("them") == "1998"
    assert Counted.compared < 10_000
    lists = [[number] for number in range(3)]
    table = [[[number], "them", number, 0] for number in range(9)]
    assert seen(lists, view={"payoffs": table}).best_reply("them") == [2]


def test_of_a_table_of_payoffs_so_much_is_read() -> None:
    assert len(seen([1], view={"payoffs": [[1, 1, 0, 0]] * 10_000}).payoffs) == MAX_PAYOFF_ROWS


def test_the_best_reply_is_found_without_going_through_all() -> None:
    payoffs = [[10, 5, 2, 0], [15, 5, 3, 0], [16, 5, 9, 0], ["x", 5, 9, 0]]
    assert seen(MANY, view={"payoffs": payoffs}).best_reply(5) == 15


def test_moves_are_told_to_people_within_bounds() -> None:
    assert describe_legal_moves(("even", "odd")) == "'even', 'odd'"
    assert describe_legal_moves(list(range(30))).endswith("18, 19, ... (30 in all)")
    assert describe_legal_moves(MANY) == "the whole numbers from 0 to 999999999999995 in steps of 5"
