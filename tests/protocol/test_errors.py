"""The error codes, to the letter of the protocol, and the form in which a refusal travels."""

import pytest

from agent_league import errors
from agent_league.errors import AgentLeagueError, CallFailed, ErrorCode, FrameCode, Refusal
from agent_league.protocol.v2.errors import write_league_error

CODES = {
    "E001": "TIMEOUT_ERROR",
    "E002": "INVALID_MESSAGE_FORMAT",
    "E003": "MISSING_REQUIRED_FIELD",
    "E004": "INVALID_PARITY_CHOICE",
    "E005": "PLAYER_NOT_REGISTERED",
    "E007": "MATCH_NOT_FOUND",
    "E008": "LEAGUE_NOT_FOUND",
    "E009": "CONNECTION_ERROR",
    "E010": "INVALID_MOVE",
    "E011": "AUTH_TOKEN_MISSING",
    "E012": "AUTH_TOKEN_INVALID",
    "E013": "REFEREE_NOT_REGISTERED",
    "E014": "RATE_LIMIT_EXCEEDED",
    "E015": "INTERNAL_SERVER_ERROR",
    "E016": "SERVICE_UNAVAILABLE",
    "E017": "DUPLICATE_REGISTRATION",
    "E018": "PROTOCOL_VERSION_MISMATCH",
    "E021": "INVALID_TIMESTAMP",
}


def test_the_codes_and_their_names_are_those_of_the_protocol() -> None:
    assert {code.value: code.name for code in ErrorCode} == CODES


def test_only_silence_and_lost_connections_are_tried_again() -> None:
    assert {code for code in ErrorCode if code.retryable} == {ErrorCode("E001"), ErrorCode("E009")}


def test_the_codes_of_frames_are_those_of_json_rpc() -> None:
    assert {code.name: int(code) for code in FrameCode} == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
    }


def test_every_error_of_the_package_has_one_root_and_stands_in_the_drawing() -> None:
    drawing = errors.__doc__ or ""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in kinds:
        assert issubclass(kind, AgentLeagueError)
        assert kind.__name__.startswith("_") or kind.__name__ in drawing


@pytest.mark.parametrize(
    ("failure", "code"),
    [(errors.PeerTimeout("x"), "E001"), (errors.PeerUnreachable("x"), "E009"), (errors.BadAnswer("x"), "E002")],
)
def test_a_failed_call_has_the_code_of_what_happened(failure: CallFailed, code: str) -> None:
    assert failure.code == ErrorCode(code)


def test_a_refusal_travels_with_name_sentence_context_and_retryable() -> None:
    refusal = Refusal(ErrorCode.PLAYER_NOT_REGISTERED, "nobody of that name", player_id="P99")
    message = write_league_error(
        refusal,
        sender="league_manager",
        timestamp="2025-01-15T10:00:00Z",
        conversation_id="conv-7",
        original_message_type="LEAGUE_QUERY",
    )
    assert message.to_wire() == {
        "protocol": "league.v2",
        "message_type": "LEAGUE_ERROR",
        "sender": "league_manager",
        "timestamp": "2025-01-15T10:00:00Z",
        "conversation_id": "conv-7",
        "error_code": "E005",
        "error_name": "PLAYER_NOT_REGISTERED",
        "error_description": "PLAYER_NOT_REGISTERED",
        "message": "nobody of that name",
        "original_message_type": "LEAGUE_QUERY",
        "context": {"player_id": "P99"},
        "retryable": False,
    }
