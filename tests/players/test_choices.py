"""What a person types, and what a person is offered."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent_league.players.moves import build_choice_prompt, is_help_request, list_choices, parse_choice, wrap_items

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
    assert offered[:3] == [f"#1 {'x' * 60}...", "#2 move 0", "#3 move 1"]
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
