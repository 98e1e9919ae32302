"""Every example message of the seeds is read, and nothing in it is lost."""

import pytest

from agent_league.errors import Refusal
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.v2 import MESSAGES
from tests.protocol.examples import ALL, EXAMPLES, FRAGMENTS, GOLDEN, REQUESTS, Example, name_of

OF_THE_SEEDS = {
    "REFEREE_REGISTER_REQUEST",
    "REFEREE_REGISTER_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
    "LEAGUE_REGISTER_RESPONSE",
    "ROUND_ANNOUNCEMENT",
    "ROUND_COMPLETED",
    "GAME_INVITATION",
    "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL",
    "CHOOSE_PARITY_RESPONSE",
    "GAME_OVER",
    "MATCH_RESULT_REPORT",
    "LEAGUE_STANDINGS_UPDATE",
    "LEAGUE_COMPLETED",
    "LEAGUE_QUERY",
    "LEAGUE_ERROR",
    "GAME_ERROR",
}


def test_every_golden_file_is_among_the_examples() -> None:
    files = {path.name for folder in ("league.v2", "fragments") for path in (GOLDEN / folder).iterdir()}
    assert {example.name for example in ALL} == files
    assert len(EXAMPLES) == 40
    assert len(FRAGMENTS) == 2


def test_the_examples_show_the_messages_of_the_seeds() -> None:
    assert {example.message_type for example in EXAMPLES} == OF_THE_SEEDS


@pytest.mark.parametrize("example", ALL, ids=name_of)
def test_an_example_is_read_without_loss(example: Example) -> None:
    assert MESSAGES[example.message_type].model_validate(example.message).to_wire() == example.message


@pytest.mark.parametrize("example", ALL, ids=name_of)
def test_fields_that_nobody_knows_survive_at_every_level(example: Example) -> None:
    strange = {"x_strange": {"deep": [1, None, "ä"]}}
    objects = {name: {**value, **strange} for name, value in example.message.items() if isinstance(value, dict)}
    message = {**example.message, **objects, **strange}
    assert MESSAGES[example.message_type].model_validate(message).to_wire() == message


@pytest.mark.parametrize("example", REQUESTS, ids=name_of)
def test_an_example_request_passes_all_checks(example: Example) -> None:
    envelope = check_envelope(example.message, example.message_type)
    assert str(envelope.sender) == example.message["sender"]
    assert envelope.conversation_id == example.message["conversation_id"]
    assert parse_fields(MESSAGES[example.message_type], example.message).to_wire() == example.message


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_of_one_type_is_not_taken_for_another(example: Example) -> None:
    other = "START_MATCH"
    with pytest.raises(Refusal):
        check_envelope(example.message, other)
