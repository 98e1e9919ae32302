"""The checks on an arriving message of `league.v1`: all that is missing is named, and each fault has its code."""

from typing import Any

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol.v1 import MESSAGES
from agent_league.protocol.v1.checks import check_v1_envelope
from tests.protocol.examples_v1 import BASE_SCHEMA, example

REQUIRED: list[str] = BASE_SCHEMA["required"]
OTHER_TYPES: list[object] = [7, True, [], {}]


def refused(message: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        check_v1_envelope(message)
    return caught.value


@pytest.mark.parametrize("message_type", MESSAGES)
def test_an_example_passes(message_type: str) -> None:
    assert check_v1_envelope(example(message_type)) == message_type


@pytest.mark.parametrize("step", ["REQUEST", "RESPONSE", "VALIDATION"])
def test_the_other_spelling_of_a_play_is_accepted(step: str) -> None:
    assert check_v1_envelope(example(f"PLAY_{step}", message_type=f"MOVE_{step}")) == f"PLAY_{step}"


@pytest.mark.parametrize("protocol", ["league.v2", "league.v3", "", 1, ["league.v1"]])
def test_another_protocol_is_refused_with_e018(protocol: object) -> None:
    refusal = refused(example("GAME_START", protocol=protocol))
    assert refusal.code is ErrorCode.PROTOCOL_VERSION_MISMATCH
    assert refusal.context["expected"] == "league.v1"


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_field_is_refused_with_e003_and_named(name: str) -> None:
    message = example("GAME_START")
    for lacking in ({key: message[key] for key in message if key != name}, {**message, name: None}):
        refusal = refused(lacking)
        assert refusal.code is ErrorCode.MISSING_REQUIRED_FIELD
        assert refusal.context["missing_fields"] == [name]


def test_all_missing_fields_are_named_at_once() -> None:
    assert refused({}).context["missing_fields"] == REQUIRED
    assert refused({"protocol": "league.v1", "round_id": 0}).context["missing_fields"] == [
        name for name in REQUIRED if name not in ("protocol", "round_id")
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, value) for name in REQUIRED if name not in ("protocol", "round_id") for value in OTHER_TYPES),
        *(("round_id", value) for value in ("1", 1.0, True, -1, [1])),
        ("message_type", "CHOOSE_PARITY_CALL"),
        ("message_type", "MOVE_SOMETHING"),
        ("league_id", "league_2025_even_odd"),
        ("league_id", "urn:uuid:550e8400-e29b-41d4-a716-446655440000"),
        ("conversation_id", "880e8400-e29b-41d4-a716-44665544000g"),
        ("conversation_id", "880e8400-e29b-41d4-a716-446655440003\n"),
        ("sender", "player:P01"),
        ("sender", "player_"),
        ("sender", "referee_01"),
    ],
)
def test_a_field_that_holds_something_else_is_refused_with_e002(field: str, value: object) -> None:
    refusal = refused(example("GAME_START", **{field: value}))
    assert (refusal.code, refusal.context["field"]) == (ErrorCode.INVALID_MESSAGE_FORMAT, field)


@pytest.mark.parametrize(
    "timestamp", ["2025-12-13T22:05:02", "2025-12-13T22:05:02+02:00", "yesterday", "", "2025-12-13"]
)
def test_a_timestamp_that_isnt_utc_is_refused_with_e021(timestamp: str) -> None:
    assert refused(example("GAME_START", timestamp=timestamp)).code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize(
    "timestamp", ["2025-12-13T21:30:00.123456+00:00", "2025-12-13T21:30:00.000Z", "2025-12-13T21:30:00Z"]
)
def test_every_form_of_utc_that_the_seed_shows_passes(timestamp: str) -> None:
    assert check_v1_envelope(example("GAME_START", timestamp=timestamp)) == "GAME_START"


def test_a_conversation_id_may_have_capitals() -> None:
    """The seed's own LEAGUE_COMPLETE has."""
    assert "AA0e" in example("LEAGUE_COMPLETE")["conversation_id"]
    assert check_v1_envelope(example("LEAGUE_COMPLETE")) == "LEAGUE_COMPLETE"


def test_faults_are_found_in_the_order_of_the_protocol() -> None:
    """Protocol, what is missing, types, timestamp."""
    wrong = example("GAME_START", protocol="league.v9", sender=None, league_id=5, timestamp="noon")
    codes = []
    for mended in (
        {},
        {"protocol": "league.v1"},
        {"sender": "referee"},
        {"league_id": example("GAME_START")["league_id"]},
    ):
        wrong |= mended
        codes.append(refused(wrong).code.value)
    assert codes == ["E018", "E003", "E002", "E021"]
