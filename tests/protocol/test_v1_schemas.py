"""The JSON Schemas of `league.v1` in `docs/schemas/v1`: draft-07, and at least as strict as the base schema of 001."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from agent_league.protocol.schemas import build_message_schemas_v1
from agent_league.protocol.v1 import MESSAGES
from tests.protocol.examples_v1 import BASE, BASE_SCHEMA, FORMATS, example

FOLDER = Path(__file__).parents[2] / "docs" / "schemas" / "v1"
SCHEMAS = build_message_schemas_v1()
VALIDATORS = {message_type: Draft7Validator(schema, format_checker=FORMATS) for message_type, schema in SCHEMAS.items()}


def test_there_is_a_schema_file_for_every_message_and_none_beside() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{message_type}.json" for message_type in MESSAGES}


@pytest.mark.parametrize("message_type", MESSAGES)
def test_a_schema_file_is_what_the_code_says(message_type: str) -> None:
    written = json.loads((FOLDER / f"{message_type}.json").read_text("utf-8"))
    assert written == SCHEMAS[message_type], "run `league dev schemas docs/schemas`"


@pytest.mark.parametrize("message_type", MESSAGES)
def test_a_schema_is_a_valid_one_of_draft_07(message_type: str) -> None:
    schema = SCHEMAS[message_type]
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == BASE_SCHEMA["$schema"]
    assert schema["title"] == message_type
    assert "$defs" not in json.dumps(schema)


@pytest.mark.parametrize("message_type", MESSAGES)
def test_the_base_schema_is_in_every_schema(message_type: str) -> None:
    """The same formats, types and bounds for each field of the envelope."""
    schema = SCHEMAS[message_type]
    assert set(BASE_SCHEMA["required"]) <= set(schema["required"])
    for name, rule in BASE_SCHEMA["properties"].items():
        own = schema["properties"][name]
        assert {key: own.get(key) for key in rule if key != "enum"} == {k: v for k, v in rule.items() if k != "enum"}


@pytest.mark.parametrize("message_type", MESSAGES)
def test_an_example_is_valid_by_its_schema_and_by_the_base_schema(message_type: str) -> None:
    BASE.validate(example(message_type))
    VALIDATORS[message_type].validate(example(message_type))


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": "league.v2"},
        {"message_type": "MOVE_REQUEST"},
        {"league_id": "league_2025_even_odd"},
        {"league_id": "550e8400-e29b-41d4-a716-44665544000"},
        {"conversation_id": "conv-r1m1-001"},
        {"round_id": -1},
        {"round_id": "1"},
        {"match_id": None},
        {"sender": "referee:REF01"},
        {"timestamp": "2025-12-13"},
        {"timestamp": "2025-13-41T22:05:00.000Z"},
        {"timestamp": "2025-12-13T22:05:00.000"},
    ],
    ids=str,
)
def test_a_wrong_envelope_is_not_valid(wrong: dict[str, Any]) -> None:
    """By the base schema too: this shows that the formats are checked."""
    for message_type in MESSAGES:
        message = example(message_type, **wrong)
        assert not BASE.is_valid(message), message_type
        assert not VALIDATORS[message_type].is_valid(message), message_type


@pytest.mark.parametrize("message_type", MESSAGES)
def test_a_message_that_lacks_a_field_of_the_example_s_top_level_is_not_valid(message_type: str) -> None:
    message = example(message_type)
    optional = {"player_id", "reason"}
    for name in set(message) - optional:
        assert not VALIDATORS[message_type].is_valid({key: message[key] for key in message if key != name}), name
