"""The plain words: how legal moves are offered, and the reason of a result."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent_league.games.base import MAX_LISTED_MOVES, describe_range, is_legal_move, is_long_range
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.game_messages import PlainWire, RepeatedWire, legal_move_fields
from agent_league.games.registry import Game
from tests.games.highest import HIGHEST

PLAYERS = ("P01", "P02")


@pytest.mark.parametrize(
    ("legal", "told"),
    [
        (("even", "odd"), {"valid_options": ["even", "odd"]}),
        (range(3), {"valid_options": [0, 1, 2]}),
        (range(256), {"valid_options": list(range(256))}),
        (range(257), {"move_schema": {"type": "integer", "minimum": 0, "maximum": 256}}),
        (list(range(300)), {"valid_options": list(range(300))}),
        (range(1, 601, 2), {"valid_options": list(range(1, 601, 2))}),
    ],
)
def test_moves_are_listed_unless_they_are_a_long_range(legal: Sequence[Any], told: dict[str, Any]) -> None:
    assert legal_move_fields(legal) == told


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        (range(MAX_LISTED_MOVES), False),
        (range(MAX_LISTED_MOVES + 1), True),
        (list(range(1000)), False),
        (range(0), False),
    ],
)
def test_only_a_range_longer_than_a_list_may_be_is_long(moves: Sequence[Any], expected: bool) -> None:
    assert is_long_range(moves) is expected


def test_a_range_is_told_in_words() -> None:
    assert describe_range(range(1, 11)) == "the whole numbers from 1 to 10"
    assert describe_range(range(9, -1, -3)) == "the whole numbers from 0 to 9 in steps of 3"


def test_a_question_lists_the_moves_or_tells_their_schema_and_never_both() -> None:
    rest = {"move_type": "highest", "context": {"a": 1}, "step": 3, "your_role": "PLAYER_B"}
    schema = {"type": "integer", "minimum": 0, "maximum": 10**15}
    wire = PlainWire()
    listed = wire.question("highest", {"a": 1}, (1, 2), 3, "PLAYER_B")
    assert listed == {"move_request": {**rest, "valid_options": [1, 2]}}
    long = wire.question("highest", {"a": 1}, range(10**15 + 1), 3, "PLAYER_B")
    assert long == {"move_request": {**rest, "move_schema": schema}}


@pytest.mark.parametrize(
    ("legal", "move", "allowed"),
    [
        (range(10**15), 7, True),
        (range(10**15), -1, False),
        (range(10**15), True, False),
        (range(10**15), 7.0, False),
        (range(10**15), "7", False),
        (range(10**15), [7], False),
        ([1, 2], True, False),
        ([[0, 1]], [0, 1], True),
        ([[0, 1]], [0, True], False),
        ([[0, 1]], [0, 1.0], False),
        ([[0, 1]], [0, 1, 1], False),
        ([{"a": [1]}], {"a": [1]}, True),
        ([{"a": [1]}], {"a": [True]}, False),
        ([{"a": 1}], {"a": 1, "b": 2}, False),
    ],
)
def test_a_legal_move_has_the_same_value_and_the_same_types(legal: Sequence[Any], move: Any, allowed: bool) -> None:
    assert is_legal_move(legal, move) is allowed


def test_a_reason_counts_the_moves() -> None:
    one, two = {"P01": 1}, {"P02": 2}
    assert PlainWire().reason(None, [one], PLAYERS, "P01") == "P01 won after 1 move"
    assert PlainWire().reason(None, [one, two], PLAYERS, None) == "draw after 2 moves"


@pytest.mark.parametrize(
    ("wins", "scores", "first_to", "winner", "amounts", "reason"),
    [
        ([3, 1], [2, -2], None, "P01", False, "P01 won 3 to 1 after 5 rounds"),
        ([1, 3], [-2, 2], None, "P02", False, "P02 won 3 to 1 after 5 rounds"),
        ([2, 2], [0, 0], None, None, False, "draw, 2 to 2 after 5 rounds"),
        ([3, 1], [105, 90.5], None, "P01", True, "P01 won 105 to 90.5 after 5 rounds"),
        ([2, 1], [-1, 1], None, "P02", False, "P02 won 1 to -1 after 5 rounds"),
        ([3, 1], [4, 9], 3, "P01", True, "P01 won 3 to 1 after 5 rounds"),
    ],
)
def test_a_match_of_several_games_tells_how_it_stood(
    wins: list[int], scores: list[float], first_to: int | None, winner: str | None, amounts: bool, reason: str
) -> None:
    state = {"wins": wins, "scores": scores, "rounds": [None] * 5, "first_to": first_to}
    assert RepeatedWire(PlainWire(), amounts=amounts).reason(state, [], PLAYERS, winner) == reason


def test_a_repeated_game_has_these_words_and_tells_amounts_where_they_count() -> None:
    state = {"wins": [0, 2], "scores": [3, 9], "rounds": [[1, 2], [2, 7]], "first_to": None}

    def told(game: Game) -> str:
        return game.with_parameters({"repeat": 2}).wire.reason(state, [], PLAYERS, "P02")

    assert told(EVEN_ODD) == "P02 won 2 to 0 after 2 rounds"
    assert told(HIGHEST) == "P02 won 9 to 3 after 2 rounds"


def test_a_game_that_is_played_once_again_has_its_own_words_back() -> None:
    thrice = EVEN_ODD.with_parameters({"repeat": 3})
    assert thrice.wire.method == "make_move"
    assert thrice.with_parameters({"repeat": 1}).wire is EVEN_ODD.wire
