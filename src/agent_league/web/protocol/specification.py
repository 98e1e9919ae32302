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
    summarise_messages,
)

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
    files = {SPECIFICATION_FILE: "\n".join(_specification_lines()) + "\n"}
    for path, frame in _example_frames():
        files[f"{EXAMPLES}/{path}.json"] = indent_json(frame) + "\n"
    return files


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


def _specification_lines() -> Iterator[str]:
    yield "# League Protocol Specification"
    yield ""
    yield f"**Protocol**: `{PROTOCOL_V2}`, version {CURRENT_VERSION} (agents from {MINIMUM_VERSION} on can take part)"
    yield ""
    yield "Written by `league spec` from the models that the league itself reads and writes with. It describes what we"
    yield "send; what we accept is more generous ([interoperation](../docs/interoperation.md)). An example of every"
    yield f"message as it travels is in [{EXAMPLES}]({EXAMPLES}), JSON Schemas are in [docs/schemas](../docs/schemas)."
    yield from _transport_chapter()
    yield from _methods_chapter()
    yield from _message_types_chapter()
    for title, kinds in _message_chapters():
        yield from ("", f"## {title}")
        for kind in kinds:
            yield from _message_section(describe_message(kind))
    yield from _error_codes_section()
    yield from _limits_chapter()


def _transport_chapter() -> Iterator[str]:
    yield from ("", "## Transport", "")
    yield "JSON-RPC 2.0 at `POST /mcp`, UTF-8. A request has the message in `params`, its reply in `result`; what the"
    yield "league refuses is a `result` with a LEAGUE_ERROR. `GET /health` answers on every agent."
    yield ""
    yield "```json"
    yield indent_json(
        _request_frame(describe_message(v2.GameInvitation.TYPE), {"protocol": PROTOCOL_V2, "message_type": "..."})
    )
    yield "```"


def _methods_chapter() -> Iterator[str]:
    limits = TimeoutConfig()
    yield from ("", "## Methods", "", "| Method | Served by | Request | Reply | Limit | Who may call it |")
    yield "|---|---|---|---|---|---|"
    for method in METHODS.values():
        request = f"`{method.request.TYPE}`" if method.request else "-"
        plain = '`{"status": "ok"}`' if method.request else "an object of its own"
        reply = f"`{method.reply.TYPE}`" if method.reply else plain
        limit = f"{getattr(limits, method.timeout_setting):g} s"
        yield f"| `{method.name}` | {_serving_roles(method)} | {request} | {reply} | {limit} | {method.caller} |"


def _message_types_chapter() -> Iterator[str]:
    yield from ("", "## Message Types", "", "| Message type | Direction | Description |", "|---|---|---|")
    for key, message_type, says in summarise_messages()[PROTOCOL_V2]:
        yield f"| [`{message_type}`](#{message_type.lower()}) | {_direction(describe_message(key))} | {_cell(says)} |"


def _message_chapters() -> Iterator[tuple[str, list[str]]]:
    yield "Agent Registration", list(REGISTRATION_TYPES)
    yield "Game Flow", [name for name in sorted(v2.MESSAGES) if name not in (*REGISTRATION_TYPES, *ERROR_TYPES)]
    yield "Error Handling", list(ERROR_TYPES)


def _message_section(found: MessageDescription) -> Iterator[str]:
    yield from ("", f"### {found.message_type}", "", found.says, "")
    yield f"**Direction**: {_direction(found)}  "
    if found.answers:
        yield f"**Answer to**: {', '.join(f'`{method.name}`' for method in found.answers)}  "
    elif found.asked_by:
        yield f"**Method**: {', '.join(f'`{method.name}`' for method in found.asked_by)}  "
    examples = [path for path, _ in _example_frames() if path.partition(".")[0] == example_path(found.message_type)]
    links = ", ".join(f"[{path.rpartition('/')[2]}]({EXAMPLES}/{path}.json)" for path in examples)
    yield f"**Example**: {links}"
    yield from ("", "| Field | Type | Required | Description |", "|---|---|---|---|")
    for field in found.fields:
        required = "yes" if field.is_required else "no"
        yield f"| `{field.name}` | {_cell(field.kind)} | {required} | {_cell(field.meaning)} |"


def _error_codes_section() -> Iterator[str]:
    yield from ("", "### Error codes", "", "| Code | Name | Description | Tried again |", "|---|---|---|---|")
    for code in ErrorCode:
        again = "yes" if code.is_retryable else "no"
        yield f"| `{code.value}` | `{code.name}` | {_cell(ERROR_MEANINGS[code])} | {again} |"


def _limits_chapter() -> Iterator[str]:
    yield from ("", "## Timeouts and Retries", "", "| Setting in `timeouts` of system.json | Seconds |", "|---|---|")
    for name, seconds in TimeoutConfig().model_dump().items():
        yield f"| `{name}` | {seconds:g} |"
    policy, breaker = RetryPolicy(), CircuitBreakerConfig()
    yield ""
    yield f"- A question is asked {policy.max_retries} times in all, then its player loses technically."
    yield f"- Before the next attempt {policy.base_delay_sec:g} s x 2^k are waited, and up to a tenth of it more."
    suspended = f"{breaker.failure_threshold} failures in a row suspend an agent"
    yield f"- {suspended}; it is tried again after {breaker.probe_after_sec:g} s."


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
