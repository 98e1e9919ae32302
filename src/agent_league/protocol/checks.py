"""The checks on an arriving message, in the order of the protocol.

Protocol (E018), required envelope fields (E003), types (E002), timestamp (E021); then the receiver checks token and
sender; then the message's own fields (E003, E002 or the field's own code). Each refusal names the field, what was
expected and what came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from agent_league.clock import parse_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol.envelope import Message, MessagePart, Sender
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import SECRET_FIELDS, shorten

P = TypeVar("P", bound=MessagePart)

REQUIRED_FIELDS = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
TEXT_TYPES, INTEGER_TYPES = (str, type(None)), (int, type(None))
OPTIONAL_FIELDS: Mapping[str, tuple[type, ...]] = {
    "auth_token": TEXT_TYPES,
    "league_id": TEXT_TYPES,
    "round_id": INTEGER_TYPES,
    "match_id": TEXT_TYPES,
}
MAX_SHOWN_FIELDS = 20
"""Missing fields that a refusal names; a list of empty objects may lack thousands."""


class SharedParams(dict[str, Any]):
    """The fields of a broadcast that several agents of this process share: parsed once, never changed."""

    parsed_message: MessagePart | None = None
    envelope: "Envelope | None" = None
    """The envelope, once it was checked: it doesn't depend on who receives the message."""


@dataclass(slots=True)
class Envelope:
    """The checked envelope of a message; the message's own fields are not parsed yet."""

    message_type: str
    sender: Sender
    conversation_id: str
    auth_token: str | None
    league_id: str | None


def check_envelope(params: Mapping[str, Any], expected_type: str) -> Envelope:
    """Check the envelope of a `league.v2` message; raises a Refusal for the first fault in the protocol's order."""
    if type(params) is SharedParams:
        if params.envelope is None or params.envelope.message_type != expected_type:
            params.envelope = _check_envelope(params, expected_type)
        return params.envelope
    return _check_envelope(params, expected_type)


def _check_envelope(params: Mapping[str, Any], expected_type: str) -> Envelope:
    if params.get("protocol") != PROTOCOL_V2:
        check_required_fields(params, PROTOCOL_V2, REQUIRED_FIELDS)
    for name in REQUIRED_FIELDS:
        if not isinstance(params.get(name), str):
            check_required_fields(params, PROTOCOL_V2, REQUIRED_FIELDS)
            raise wrong_type_refusal(name, "a string", params[name])
    for name, kinds in OPTIONAL_FIELDS.items():
        value = params.get(name)
        if type(value) not in kinds:
            raise wrong_type_refusal(name, "an integer" if int in kinds else "a string", value)
    if params["message_type"] != expected_type:
        raise wrong_type_refusal("message_type", repr(expected_type), params["message_type"])
    sender = Sender.parse(params["sender"])
    if sender is None:
        raise wrong_type_refusal("sender", "'league_manager', 'referee:ID' or 'player:ID'", params["sender"])
    if parse_utc(params["timestamp"]) is None:
        raise timestamp_refusal(params["timestamp"], "timestamp")
    return Envelope(
        message_type=expected_type,
        sender=sender,
        conversation_id=params["conversation_id"],
        auth_token=params.get("auth_token"),
        league_id=params.get("league_id"),
    )


def check_required_fields(message: Mapping[str, Any], expected: str, required: Sequence[str]) -> None:
    """Raise a Refusal if a message is of another protocol or lacks required envelope fields."""
    protocol = message.get("protocol")
    if protocol is not None and protocol != expected:
        raise Refusal(
            ErrorCode.PROTOCOL_VERSION_MISMATCH,
            f"'protocol' must be '{expected}'",
            field="protocol",
            expected=expected,
            received=describe_value(protocol),
        )
    missing = [name for name in required if message.get(name) is None]
    if missing:
        raise Refusal(
            ErrorCode.MISSING_REQUIRED_FIELD,
            f"missing in the envelope: {', '.join(missing)}",
            missing_fields=missing,
        )


def check_timestamp(text: str, field: str) -> None:
    """Raise a Refusal unless the text is ISO-8601 in UTC."""
    if parse_utc(text) is None:
        raise timestamp_refusal(text, field)


def timestamp_refusal(text: str, field: str) -> Refusal:
    """Build the refusal of a field that must be a timestamp."""
    return Refusal(
        ErrorCode.INVALID_TIMESTAMP,
        f"'{field}' must be ISO-8601 in UTC, ending in Z or +00:00",
        field=field,
        expected="2025-01-15T10:30:00Z",
        received=describe_value(text),
    )


def parse_fields(model: type[P], params: Mapping[str, Any]) -> P:
    """Parse a message's own fields; raises a Refusal that names all missing fields or the first wrong one."""
    known = params.parsed_message if type(params) is SharedParams else None
    if type(known) is model:
        return known
    try:
        message = model.model_validate(params)
    except ValidationError as error:
        raise _validation_refusal(model, error) from None
    if type(params) is SharedParams:
        params.parsed_message = message
    return message


def describe_value(value: Any, field: str = "") -> Any:
    """Shorten a received value so that it can be sent back; only the type of tokens, objects and lists."""
    if field.rpartition(".")[2] in SECRET_FIELDS:
        return f"({type(value).__name__})"
    if isinstance(value, str):
        return shorten(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return f"({type(value).__name__})"


def wrong_type_refusal(field: str, expected: str, value: Any) -> Refusal:
    """Build the refusal of a field with a wrong value."""
    return Refusal(
        ErrorCode.INVALID_MESSAGE_FORMAT,
        f"'{field}' must be {expected}",
        field=field,
        expected=expected,
        received=describe_value(value, field),
    )


def _validation_refusal(model: type[MessagePart], error: ValidationError) -> Refusal:
    problems = error.errors(include_url=False, include_context=False)
    missing = [_format_path(problem["loc"]) for problem in problems if problem["type"] == "missing"]
    if missing:
        named = missing[:MAX_SHOWN_FIELDS]
        more = f" and {len(missing) - len(named)} more" if len(missing) > len(named) else ""
        return Refusal(ErrorCode.MISSING_REQUIRED_FIELD, f"missing: {', '.join(named)}{more}", missing_fields=named)
    first = problems[0]
    field = _format_path(first["loc"])
    codes = model.CODES if issubclass(model, Message) else {}
    return Refusal(
        codes.get(field, ErrorCode.INVALID_MESSAGE_FORMAT),
        f"'{field}': {first['msg']}",
        field=field,
        expected=first["msg"],
        received=describe_value(first["input"], field),
    )


def _format_path(location: tuple[int | str, ...]) -> str:
    return ".".join(map(shorten, location))
