"""The JSON Schemas in `docs/schemas`: made from the models, true to the examples and to what our agents send."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.protocol.schemas import build_message_schema, build_message_schemas, strip_notes
from agent_league.protocol.v2 import MESSAGES
from tests.protocol.examples import ALL, Example, name_of

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SCHEMAS = build_message_schemas()
VALIDATORS = {message_type: Draft202012Validator(schema) for message_type, schema in SCHEMAS.items()}


def test_there_is_a_schema_file_for_every_message_and_none_beside() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert files == {f"{message_type}.json" for message_type in MESSAGES}


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_a_schema_file_is_what_the_code_says(message_type: str) -> None:
    written = json.loads((FOLDER / f"{message_type}.json").read_text("utf-8"))
    assert written == SCHEMAS[message_type], "run `league dev schemas docs/schemas`"


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_a_schema_is_a_valid_schema(message_type: str) -> None:
    schema = SCHEMAS[message_type]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == message_type


@pytest.mark.parametrize("example", ALL, ids=name_of)
def test_an_example_of_the_seeds_is_valid_by_what_we_accept(example: Example) -> None:
    Draft202012Validator(build_message_schema(MESSAGES[example.message_type])).validate(example.message)


COMMON = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
META = ("display_name", "version", "game_types", "contact_endpoint")
ERROR = ("error_code", "error_description", "affected_player", "action_required")
SEED_004: Mapping[str, tuple[str, ...]] = {
    "REFEREE_REGISTER_REQUEST": ("referee_meta", *(f"referee_meta.{name}" for name in META)),
    "REFEREE_REGISTER_RESPONSE": ("status", "referee_id"),
    "LEAGUE_REGISTER_REQUEST": ("player_meta", *(f"player_meta.{name}" for name in META)),
    "LEAGUE_REGISTER_RESPONSE": ("status", "player_id"),
    "GAME_INVITATION": ("league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id"),
    "CHOOSE_PARITY_CALL": (
        *("match_id", "player_id", "game_type", "deadline", "context"),
        *("context.opponent_id", "context.round_id", "context.your_standings"),
    ),
    "CHOOSE_PARITY_RESPONSE": ("match_id", "player_id", "parity_choice"),
    "GAME_OVER": (
        *("match_id", "game_type", "game_result", "game_result.status"),
        *("game_result.drawn_number", "game_result.number_parity", "game_result.choices"),
    ),
    "GAME_ERROR": ERROR,
    "LEAGUE_ERROR": ERROR,
}
"""The fields that seed 004 calls required."""
NULLABLE = {
    "REFEREE_REGISTER_RESPONSE": {"referee_id"},
    "LEAGUE_REGISTER_RESPONSE": {"player_id"},
    "GAME_OVER": {"game_result.drawn_number", "game_result.number_parity"},
    "LEAGUE_ERROR": {"affected_player", "action_required"},
}
"""Those of them that the protocol sends as null: after a refusal, a technical loss, or where no player is concerned."""


@pytest.mark.parametrize("message_type", sorted(MESSAGES))
def test_a_message_without_a_field_that_seed_004_requires_is_not_valid(
    sent: list[dict[str, Any]], message_type: str
) -> None:
    told = [message for message in sent if message["message_type"] == message_type]
    validator = VALIDATORS[message_type]
    for path in (*COMMON, *SEED_004.get(message_type, ())) if told else ():
        assert not any(validator.is_valid(changed(message, path)) for message in told), path
        may_be_null = path in NULLABLE.get(message_type, ())
        assert validator.is_valid(changed(told[0], path, None)) is may_be_null, path


def changed(message: Mapping[str, Any], path: str, *value: None) -> dict[str, Any]:
    """The message without a field, or with another value in it."""
    name, dot, inner = path.partition(".")
    without = {key: field for key, field in message.items() if key != name}
    if dot:
        return {**without, name: changed(message[name], inner, *value)}
    return {**without, **({name: value[0]} if value else {})}


def test_every_table_of_seed_004_is_about_messages_that_are_sent(sent: list[dict[str, Any]]) -> None:
    assert set(SEED_004) <= {message["message_type"] for message in sent}


@pytest.mark.parametrize("message_type", sorted(name for name, model in MESSAGES.items() if model.ALWAYS_SENT))
def test_what_is_always_sent_is_more_than_what_we_insist_on(message_type: str) -> None:
    """Else the entry says nothing; and what we accept stays as generous as it is."""
    model = MESSAGES[message_type]
    accepted = strip_notes(build_message_schema(model), "format")
    assert accepted != SCHEMAS[message_type]
    assert set(accepted["required"]) <= set(SCHEMAS[message_type]["required"])


def test_everything_that_our_agents_send_is_valid(sent: list[dict[str, Any]]) -> None:
    for message in sent:
        VALIDATORS[message["message_type"]].validate(message)


@pytest.mark.parametrize(
    "wrong", [{"protocol": "league.v1"}, {"message_type": "SOMETHING"}, {"sender": 5}, {"timestamp": None}]
)
def test_a_wrong_envelope_is_not_valid(wrong: dict[str, Any]) -> None:
    for example in ALL:
        assert not VALIDATORS[example.message_type].is_valid({**example.message, **wrong}), name_of(example)


def test_a_message_without_its_type_is_not_valid() -> None:
    for example in ALL:
        bare = {name: value for name, value in example.message.items() if name != "message_type"}
        assert not VALIDATORS[example.message_type].is_valid(bare), name_of(example)
