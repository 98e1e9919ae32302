"""The JSON Schemas in `docs/schemas`: made from the models, true to the examples and to what our agents send."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.protocol.schemas import message_schemas
from agent_league.protocol.v2 import MESSAGES
from tests.protocol.examples import ALL, Example, name_of

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS = message_schemas()
VALIDATORS = {message_type: Draft202012Validator(schema) for message_type, schema in SCHEMAS.items()}


def test_there_is_a_schema_file_for_every_message_and_none_beside() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert files == {f"{message_type}.json" for message_type in MESSAGES}


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_a_schema_file_is_what_the_code_says(message_type: str) -> None:
    written = json.loads((FOLDER / f"{message_type}.json").read_text("utf-8"))
    assert written == SCHEMAS[message_type], "run `league schemas docs/schemas`"


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_a_schema_is_a_valid_schema(message_type: str) -> None:
    schema = SCHEMAS[message_type]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == message_type


@pytest.mark.parametrize("example", ALL, ids=name_of)
def test_an_example_of_the_seeds_is_valid(example: Example) -> None:
    VALIDATORS[example.message_type].validate(example.message)


def test_everything_that_our_agents_send_is_valid(sent: list[dict[str, Any]]) -> None:
    for message in sent:
        VALIDATORS[message["message_type"]].validate(message)


@pytest.mark.parametrize("example", ALL, ids=name_of)
@pytest.mark.parametrize(
    "wrong", [{"protocol": "league.v1"}, {"message_type": "SOMETHING"}, {"sender": 5}, {"timestamp": None}]
)
def test_a_wrong_envelope_is_not_valid(example: Example, wrong: dict[str, Any]) -> None:
    assert not VALIDATORS[example.message_type].is_valid({**example.message, **wrong})


@pytest.mark.parametrize("example", ALL, ids=name_of)
def test_a_message_without_its_type_is_not_valid(example: Example) -> None:
    bare = {name: value for name, value in example.message.items() if name != "message_type"}
    assert not VALIDATORS[example.message_type].is_valid(bare)
