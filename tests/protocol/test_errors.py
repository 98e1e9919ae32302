"""The error codes, to the letter of the protocol, and the form in which a refusal travels."""

from typing import Any

import pytest

from agent_league import errors
from agent_league.errors import AgentLeagueError, CallFailed, ErrorCode, JsonRpcErrorCode, Refusal
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
    assert {code for code in ErrorCode if code.is_retryable} == {ErrorCode("E001"), ErrorCode("E009")}


def test_the_codes_of_frames_are_those_of_json_rpc() -> None:
    assert {code.name: int(code) for code in JsonRpcErrorCode} == {
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


def written(refusal: Refusal, **about: Any) -> dict[str, Any]:
    """A refusal as the manager sends it."""
    where = {"sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "conv-7"}
    return write_league_error(refusal, **{**where, "original_message_type": "LEAGUE_QUERY", **about}).to_wire()


def test_a_refusal_travels_with_name_sentence_context_and_what_is_to_be_done() -> None:
    refusal = Refusal(ErrorCode.PLAYER_NOT_REGISTERED, "nobody of that name", player_id="P99")
    assert written(refusal, caller="player:P99", has_token=True) == {
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
        "affected_player": "P99",
        "action_required": "LEAGUE_REGISTER_REQUEST",
        "context": {"action": "LEAGUE_QUERY", "player_id": "P99", "provided_token": "[redacted]"},
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("code", "caller", "expected"),
    [
        (ErrorCode.AUTH_TOKEN_INVALID, "player:P01", ("P01", "LEAGUE_REGISTER_REQUEST")),
        (ErrorCode.AUTH_TOKEN_MISSING, "player:P01", ("P01", "LEAGUE_QUERY")),
        (ErrorCode.INVALID_TIMESTAMP, "player:P01", ("P01", "LEAGUE_QUERY")),
        (ErrorCode.REFEREE_NOT_REGISTERED, "player:P01", ("P01", "REFEREE_REGISTER_REQUEST")),
        (ErrorCode.AUTH_TOKEN_INVALID, "referee:REF01", (None, None)),
        (ErrorCode.AUTH_TOKEN_INVALID, "league_manager", (None, None)),
        (ErrorCode.INVALID_MESSAGE_FORMAT, "somebody", (None, None)),
        (ErrorCode.INVALID_MESSAGE_FORMAT, ["player:P01"], (None, None)),
        (ErrorCode.MISSING_REQUIRED_FIELD, None, (None, None)),
    ],
)
def test_the_player_that_called_is_the_one_affected_and_nobody_where_no_player_did(
    code: ErrorCode, caller: Any, expected: tuple[str | None, str | None]
) -> None:
    error = written(Refusal(code, "no"), caller=caller)
    assert (error["affected_player"], error["action_required"]) == expected


def test_a_refused_call_without_a_message_is_named_by_its_method() -> None:
    error = written(Refusal(ErrorCode.MATCH_NOT_FOUND, "no"), original_message_type=None, method="get_match")
    assert error["context"] == {"action": "get_match"}


def test_a_token_that_has_nothing_to_do_with_the_refusal_is_not_spoken_of() -> None:
    error = written(Refusal(ErrorCode.INVALID_TIMESTAMP, "no"), has_token=True)
    assert error["context"] == {"action": "LEAGUE_QUERY"}
