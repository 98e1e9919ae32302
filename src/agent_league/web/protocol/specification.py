"""The protocol as files: a specification in Markdown, and an example of every message as a JSON-RPC frame.

All of it is generated from the models, the table of methods, the error codes and the default settings.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from agent_league.config.models import CircuitBreakerConfig, RetryPolicy, TimeoutConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.authorization import (
    UNKNOWN_TOKEN,
    invalid_token_refusal,
    missing_token_refusal,
    unregistered_refusal,
)
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope
from agent_league.protocol.envelope import Message, Sender
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.v2.errors import ERROR_MEANINGS, write_league_error
from agent_league.protocol.version import CURRENT_VERSION, MINIMUM_VERSION, PROTOCOL_V2
from agent_league.web.protocol.messages import (
    MessageDescription,
    describe_message,
    indent_json,
)
from agent_league.web.rendering import LiveSite, render

SPECIFICATION_FILE = "protocol-spec.md"
EXAMPLES = "messageexamples"
REGISTRATION_TYPES = (
    *("REFEREE_REGISTER_REQUEST", "REFEREE_REGISTER_RESPONSE"),
    *("LEAGUE_REGISTER_REQUEST", "LEAGUE_REGISTER_RESPONSE"),
)
ERROR_TYPES = ("LEAGUE_ERROR", "GAME_ERROR")
CALLER_WORDS: Mapping[Caller, str] = {
    Caller.ANYBODY: "anybody",
    Caller.AGENT: "player or referee",
    Caller.REFEREE: "referee",
    Caller.ADMIN: "organiser",
    Caller.MANAGER: "league manager",
    Caller.MATCH_REFEREE: "referee",
    Caller.MATCH_PLAYER: "player",
}
"""Sender of a method's request; that of an applicant depends on its message."""


def write_specification() -> dict[str, str]:
    """Generate all files: path -> text."""
    frames = dict(_example_frames())
    examples = {f"{EXAMPLES}/{path}.json": indent_json(frame) + "\n" for path, frame in frames.items()}
    return {SPECIFICATION_FILE: _render_specification(frames), **examples}


def example_path(message_type: str) -> str:
    """Return the path of a message's example, relative to the examples folder and without extension."""
    if message_type in REGISTRATION_TYPES:
        return f"registration/{message_type}"
    return f"errors/{message_type}" if message_type in ERROR_TYPES else f"gameflow/{message_type}"


def _example_frames() -> Iterator[tuple[str, dict[str, Any]]]:
    for message_type in sorted(v2.MESSAGES):
        found = describe_message(message_type)
        message = orjson.loads(found.example)
        if message_type == v2.LeagueError.TYPE:
            for code, error in _league_error_examples():
                yield f"{example_path(message_type)}.{code}", _result_frame(error)
        elif message_type == v2.GameError.TYPE:
            yield f"{example_path(message_type)}.{ErrorCode.INVALID_PARITY_CHOICE}", _request_frame(found, message)
            yield (
                f"{example_path(message_type)}.{ErrorCode.TIMEOUT_ERROR}",
                _request_frame(found, _timeout_error(message)),
            )
        else:
            yield (
                example_path(message_type),
                _result_frame(message) if found.answers else _request_frame(found, message),
            )


def _request_frame(found: MessageDescription, message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": found.asked_by[0].name, "params": message, "id": 1}


def _result_frame(message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": message, "id": 1}


def _timeout_error(error: Mapping[str, Any]) -> dict[str, Any]:
    code = ErrorCode.TIMEOUT_ERROR
    named = {"error_code": code.value, "error_name": code.name, "error_description": code.name}
    return {**error, **named, "message": "no answer within 30 s"}


def _league_error_examples() -> Iterator[tuple[ErrorCode, dict[str, Any]]]:
    """Yield the LEAGUE_ERROR for a standings query in every way that the manager can refuse it."""
    question = orjson.loads(describe_message(v2.LeagueQuery.TYPE).example)
    unsigned = {name: value for name, value in question.items() if name != "auth_token"}
    unknown, known = "player:P99", str(question["sender"])
    refused: list[tuple[dict[str, Any], Refusal | None]] = [
        ({**question, "timestamp": 5}, None),
        ({name: question[name] for name in question if name not in ("timestamp", "conversation_id")}, None),
        ({**question, "protocol": "league.v3"}, None),
        ({**question, "timestamp": "2025-01-15T10:30:00+02:00"}, None),
        ({**unsigned, "sender": unknown}, _unknown_sender_refusal(unknown)),
        ({**unsigned, "sender": "referee:REF99"}, _unknown_sender_refusal("referee:REF99")),
        ({**unsigned, "sender": known}, missing_token_refusal("the auth_token from your registration")),
        (question, invalid_token_refusal(UNKNOWN_TOKEN)),
    ]
    for message, refusal in refused:
        told = refusal or _envelope_refusal(message)
        error = write_league_error(
            told,
            sender=str(Role.LEAGUE_MANAGER),
            timestamp="2025-01-15T10:30:01Z",
            conversation_id=str(message.get("conversation_id", "conv-error-001")),
            original_message_type=v2.LeagueQuery.TYPE,
            caller=message["sender"],
            has_token="auth_token" in message,
        )
        yield told.code, error.to_wire()


def _unknown_sender_refusal(text: str) -> Refusal:
    sender = Sender.parse(text)
    assert sender is not None  # noqa: S101 - ours
    return unregistered_refusal(sender)


def _envelope_refusal(message: Mapping[str, Any]) -> Refusal:
    try:
        check_envelope(message, v2.LeagueQuery.TYPE)
    except Refusal as refusal:
        return refusal
    raise AssertionError(f"nothing is wrong with {message}")


def _render_specification(frames: Mapping[str, Any]) -> str:
    described = {name: describe_message(name) for name in v2.MESSAGES}
    flow = [name for name in sorted(v2.MESSAGES) if name not in (*REGISTRATION_TYPES, *ERROR_TYPES)]
    chapters = {"Agent Registration": REGISTRATION_TYPES, "Game Flow": flow, "Error Handling": ERROR_TYPES}
    invitation = {"protocol": PROTOCOL_V2, "message_type": "..."}
    told = {
        "protocol": PROTOCOL_V2,
        "version_now": CURRENT_VERSION,
        "version_least": MINIMUM_VERSION,
        "examples": EXAMPLES,
        "frame": indent_json(_request_frame(described[v2.GameInvitation.TYPE], invitation)),
        "methods": METHODS.values(),
        "messages": [described[name] for name in sorted(v2.MESSAGES)],
        "chapters": [(title, [described[name] for name in names]) for title, names in chapters.items()],
        "example_paths": {
            name: [path for path in frames if path.partition(".")[0] == example_path(name)] for name in v2.MESSAGES
        },
        "error_codes": [(code, ERROR_MEANINGS[code]) for code in ErrorCode],
        "timeouts": TimeoutConfig().model_dump(),
        "retries": RetryPolicy(),
        "breaker": CircuitBreakerConfig(),
        "direction": _direction,
        "serving_roles": _serving_roles,
        "cell": _cell,
    }
    return render("specification.md", LiveSite(), told)


def _direction(found: MessageDescription) -> str:
    """Return who sends a message to whom."""
    requests = [f"{_sending_role(method, found)} → {_serving_roles(method)}" for method in found.asked_by]
    replies = [f"{_serving_roles(method)} → {_requesting_role(method)}" for method in found.answers]
    return "; ".join(dict.fromkeys([*requests, *replies])) or "any agent → whoever called it"


def _requesting_role(method: Method) -> str:
    return (
        _applicant_role(method.request)
        if method.caller is Caller.APPLICANT and method.request
        else CALLER_WORDS[method.caller]
    )


def _sending_role(method: Method, found: MessageDescription) -> str:
    return (
        _applicant_role(v2.MESSAGES[found.message_type])
        if method.caller is Caller.APPLICANT
        else CALLER_WORDS[method.caller]
    )


def _applicant_role(request: type[Message]) -> str:
    return "player" if "player_meta" in request.model_fields else "referee"


def _serving_roles(method: Method) -> str:
    return ", ".join(role.replace("_", " ") for role in sorted(method.served_by))


def _cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")
