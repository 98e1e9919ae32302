"""Moves as a JSON Schema, there and back; none of it takes longer for a longer range."""

from collections.abc import Sequence
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.games.move_schema import MAX_INTEGER, UnsupportedMoveSchema, moves_to_schema, schema_to_moves

WRITTEN: list[tuple[range, dict[str, Any]]] = [
    (range(1, 1_000_001), {"type": "integer", "minimum": 1, "maximum": 1_000_000}),
    (range(-500, 500), {"type": "integer", "minimum": -500, "maximum": 499}),
    (range(0, 10_000, 5), {"type": "integer", "minimum": 0, "maximum": 9995, "multipleOf": 5}),
    (range(-9, 3000, 3), {"type": "integer", "minimum": -9, "maximum": 2997, "multipleOf": 3}),
    (range(MAX_INTEGER), {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER - 1}),
]


@pytest.mark.parametrize(("moves", "schema"), WRITTEN)
def test_a_range_is_told_by_its_ends_and_read_again(moves: range, schema: dict[str, Any]) -> None:
    assert moves_to_schema(moves) == schema
    assert schema_to_moves(schema) == moves


def test_a_range_that_counts_down_is_told_as_one_that_counts_up() -> None:
    assert moves_to_schema(range(900, 0, -1)) == {"type": "integer", "minimum": 1, "maximum": 900}
    assert moves_to_schema(range(900, -1, -3)) == {"type": "integer", "minimum": 0, "maximum": 900, "multipleOf": 3}


def test_steps_that_are_no_multiples_have_no_schema() -> None:
    assert moves_to_schema(range(1, 10_000, 2)) is None


def test_a_schema_allows_exactly_the_moves() -> None:
    moves = range(-6, 12, 3)
    schema = moves_to_schema(moves)
    assert schema is not None
    valid = Draft202012Validator(schema).is_valid
    assert [number for number in range(-20, 20) if valid(number)] == list(moves)


READ: list[tuple[dict[str, Any], Sequence[Any]]] = [
    ({"enum": ["rock", "paper"]}, ("rock", "paper")),
    ({"type": "string", "enum": ["rock", None]}, ("rock",)),
    ({"const": [0, 1]}, ([0, 1],)),
    ({"type": "boolean"}, (False, True)),
    ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 5}, range(2, 5)),
    ({"type": "integer", "minimum": 0.5, "maximum": 3.5}, range(1, 4)),
    ({"type": "integer", "minimum": 1, "exclusiveMinimum": 2, "maximum": 9, "exclusiveMaximum": 9}, range(3, 9)),
    ({"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 4.0}, range(4, 11, 4)),
    ({"type": "integer", "minimum": 5, "maximum": 4}, range(5, 5)),
    ({"$schema": "any", "title": "t", "description": "d", "default": 1, "examples": [1], "const": 1}, (1,)),
]


@pytest.mark.parametrize(("schema", "moves"), READ)
def test_what_others_may_write_is_turned_into_moves(schema: dict[str, Any], moves: Sequence[Any]) -> None:
    assert schema_to_moves(schema) == moves


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "of the type None there is no list of moves"),
    ({"type": "string", "pattern": "^a"}, "of the type 'string'"),
    ({"type": ["integer", "string"], "minimum": 1, "maximum": 2}, r"of the type \['integer', 'string'\]"),
    ({"enum": "abc"}, "of the type None"),
    ({"const": None}, "of the type None"),
    ({"enum": [1, 2], "minimum": 2}, "of the type None"),
    ({"type": "integer"}, "it has no minimum"),
    ({"type": "integer", "minimum": 1}, "it has no maximum"),
    ({"type": "integer", "maximum": 1}, "it has no minimum"),
    ({"type": "integer", "minimum": 1, "maximum": 9, "not": {"const": 3}}, "'not' isn't understood beside an integer"),
    ({"type": "integer", "minimum": "1", "maximum": 9}, "'minimum' must be a number, found '1'"),
    ({"type": "integer", "minimum": True, "maximum": 9}, "'minimum' must be a number, found True"),
    ({"type": "integer", "minimum": 0, "maximum": 10**30}, "beyond 9007199254740992"),
    ({"type": "integer", "minimum": -1e300, "maximum": 0}, "beyond 9007199254740992"),
    ({"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 0}, "'multipleOf' must be a whole number from 1 on"),
    ({"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 1.5}, "'multipleOf' must be a whole number"),
]


@pytest.mark.parametrize(("schema", "problem"), REFUSED)
def test_what_cannot_be_turned_into_moves_is_refused_with_a_sentence(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnsupportedMoveSchema, match=problem):
        schema_to_moves(schema)
