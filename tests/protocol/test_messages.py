"""The 23 messages of `league.v2`: which there are, and how they are written."""

import pytest

from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import MESSAGES
from tests.protocol.test_golden import OF_THE_SEEDS

OURS = {
    *("LEAGUE_QUERY_RESPONSE", "START_LEAGUE", "MANAGE_LEAGUE", "REQUEST_MATCH"),
    *("START_MATCH", "GAME_MOVE_CALL", "GAME_MOVE_RESPONSE"),
}
ENVELOPE = {"sender": "player:P01", "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "conv-1"}


def test_there_are_24_message_types() -> None:
    assert set(MESSAGES) == OF_THE_SEEDS | OURS
    assert len(MESSAGES) == 24


@pytest.mark.parametrize("model", MESSAGES.values(), ids=MESSAGES)
def test_a_model_is_called_like_its_type(model: type[Message]) -> None:
    words = model.TYPE.split("_")
    assert model.__name__.removesuffix("Notice") == "".join(word.capitalize() for word in words)


def test_a_written_message_carries_protocol_and_type() -> None:
    message = v2.LeagueQuery.write(**ENVELOPE, query_type="GET_STANDINGS")
    assert message.to_wire() == {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        **ENVELOPE,
        "query_type": "GET_STANDINGS",
    }


def test_a_null_that_was_given_travels_and_a_field_that_was_not_given_does_not() -> None:
    written = v2.LeagueRegisterResponse.write(**ENVELOPE, status="REJECTED", player_id=None, reason="League full")
    wire = written.to_wire()
    assert wire["player_id"] is None
    assert "auth_token" not in wire


@pytest.mark.parametrize(
    ("field", "value"),
    [("round_id", "1"), ("round_id", 1.0), ("match_id", 7), ("auth_token", 5), ("conversation_id", 1)],
)
def test_types_are_exact(field: str, value: object) -> None:
    fields = {"protocol": "league.v2", "message_type": "GAME_INVITATION", **ENVELOPE, "match_id": "R1M1"}
    with pytest.raises(ValueError, match=field):
        v2.GameInvitation.model_validate({**fields, field: value})


@pytest.mark.parametrize("choice", ["Even", "EVEN", " even", "even ", "", "both", 0, None, True, ["even"]])
def test_a_choice_is_even_or_odd_to_the_letter(choice: object) -> None:
    fields = {"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE", **ENVELOPE}
    with pytest.raises(ValueError, match="parity_choice"):
        v2.ChooseParityResponse.model_validate({**fields, "parity_choice": choice})
