"""Legal moves: found by what somebody says, described, offered to a person, and parsed as they are typed."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from agent_league.players.moves import (
    build_choice_prompt,
    describe_legal_moves,
    find_equal_moves,
    find_meant_moves,
    is_help_request,
    list_choices,
    parse_choice,
    wrap_items,
)
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


WORDS = ("even", "odd")
HEAPS = ([0, 1], [1, 1], [1, 2])
DISCS = ("x0", "x1", "x3")


@pytest.mark.parametrize(
    ("typed", "legal", "meant"),
    [
        ("1", WORDS, "even"),
        (" 2 ", WORDS, "odd"),
        ("#2", WORDS, "odd"),
        ("3", WORDS, None),
        ("#3", WORDS, None),
        ("0", WORDS, None),
        ("Odd", WORDS, "odd"),
        ('"odd"', WORDS, "odd"),
        ("e", WORDS, "even"),
        ("", WORDS, None),
        ("x", WORDS, None),
        ("?", WORDS, None),
        ("r", ("rock", "rope", "paper"), None),
        ("roc", ("rock", "rope", "paper"), "rock"),
        ("rock", ("rock", "rocket"), "rock"),
        ("bxc3", ("Bxc3", "bxc3", "bxc3+"), "bxc3"),
        ("BXC3", ("Bxc3", "bxc3"), None),
        ("2", (2, 3, 1), 2),
        ("#2", (2, 3, 1), 3),
        ("4", (2, 3, 1), None),
        ("true", (1, 2), None),
        ("1", (True, False), True),
        ("[0, 1]", HEAPS, [0, 1]),
        ("[1,2]", HEAPS, [1, 2]),
        ("1 2", HEAPS, [1, 2]),
        ("1,1", HEAPS, [1, 1]),
        ("#3", HEAPS, [1, 2]),
        ("2", HEAPS, None),
        ("[0", HEAPS, [0, 1]),
        ("[" * 300, HEAPS, None),
        ("1", DISCS, "x1"),
        ("2", DISCS, None),
        ("#2", DISCS, "x1"),
    ],
)
def test_a_move_is_chosen_by_name_json_place_numbers_or_beginning(typed: str, legal: Sequence[Any], meant: Any) -> None:
    assert parse_choice(typed, legal) == meant


def test_what_is_offered_is_short_whatever_the_referee_calls_a_move_and_every_move_has_a_place() -> None:
    legal = ["x" * 400_000, *(f"move {number}" for number in range(1000))]
    offered = list_choices(legal)
    assert offered[:3] == [f"#1 {'x' * 57}...", "#2 move 0", "#3 move 1"]
    assert offered[-2:] == ["#30 move 28", "... (1001 in all)"]
    assert (parse_choice("#1", legal), parse_choice("#1001", legal)) == (legal[0], legal[1000])


def test_a_long_range_is_offered_by_its_ends_and_a_number_is_typed_as_it_is() -> None:
    many = range(5, 10**15, 5)
    assert list_choices(many) == ["the whole numbers from 5 to 999999999999995 in steps of 5"]
    assert [parse_choice(typed, many) for typed in (" 10 ", "3", "x", "", "#1")] == [10, None, None, None, None]


@pytest.mark.parametrize(
    ("legal", "offered", "what"),
    [
        ([3, 1, 2], ["3", "1", "2"], "the number"),
        (WORDS, ["#1 even", "#2 odd"], "the move, its beginning or its number"),
        (DISCS, ["#1 x0", "#2 x1", "#3 x3"], "the move, or #1 for the first"),
        (["\x1b[2J"], [r"#1 \x1b[2J"], "the move, or #1 for the first"),
    ],
)
def test_the_question_says_what_a_number_means(legal: Sequence[Any], offered: list[str], what: str) -> None:
    assert list_choices(legal) == offered
    assert build_choice_prompt(legal) == f"{what} (? shows the rules) > "


def test_help_is_asked_for_where_no_move_is_called_so() -> None:
    assert [is_help_request(typed, WORDS) for typed in ("?", " HELP\n", "even", "")] == [True, True, False, False]
    assert [is_help_request(typed, ("help", "hinder")) for typed in ("?", "help")] == [True, False]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (38, ["Moves: #1 [0, 1], #2 [0, 2], #3 [0, 3]"]),
        (37, ["Moves: #1 [0, 1], #2 [0, 2],", "#3 [0, 3]"]),
        (5, ["Moves: #1 [0, 1],", "#2 [0, 2],", "#3 [0, 3]"]),
    ],
)
def test_no_choice_is_broken_between_lines(width: int, lines: list[str]) -> None:
    assert wrap_items(["Moves: #1 [0, 1]", "#2 [0, 2]", "#3 [0, 3]"], width).split("\n") == lines
