"""Descriptions of the messages of both protocols: fields in words, a JSON Schema, and a valid example.

All of it is generated from the models with which the league itself reads and writes messages.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from agent_league.model.agents import Role
from agent_league.protocol import v1, v2
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.schemas import build_message_schema_v1, build_sent_schema, strip_notes
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

Schema = Mapping[str, Any]
V1_KEY_PREFIX = f"{PROTOCOL_V1}."
"""Prefix of the key of a v1 message, as some message types exist in both protocols."""
MAX_DEPTH = 6

CALLER_SENDERS: Mapping[Caller, str] = {
    Caller.APPLICANT: "player:agent_alpha",
    Caller.AGENT: "player:P01",
    Caller.REFEREE: "referee:REF01",
    Caller.ADMIN: "league_manager",
    Caller.MANAGER: "league_manager",
    Caller.MATCH_REFEREE: "referee:REF01",
    Caller.MATCH_PLAYER: "player:P01",
}
REPLY_SENDERS = {Role.LEAGUE_MANAGER: "league_manager", Role.REFEREE: "referee:REF01", Role.PLAYER: "player:P01"}
TYPE_EXAMPLES: Mapping[str, Any] = {
    "string": "…",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}
"""Values for fields without an example of their own."""
PLAYER_TOKEN = "tok-p01-…"  # noqa: S105 - stands for one


@dataclass(frozen=True, slots=True)
class MessageField:
    """A field of a message; nested fields have dotted names: `player_meta.display_name`."""

    name: str
    kind: str
    is_required: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class MessageDescription:
    """Description of a message type."""

    key: str
    message_type: str
    protocol: str
    says: str
    fields: tuple[MessageField, ...]
    schema: str
    example: str
    asked_by: tuple[Method, ...]
    """The methods whose request it is."""
    answers: tuple[Method, ...]
    """The methods whose reply it is."""


@cache
def summarise_messages() -> Mapping[str, tuple[tuple[str, str, str], ...]]:
    """Return protocol -> its messages, each as key, type and purpose."""
    older = tuple(
        (f"{V1_KEY_PREFIX}{name}", name, _join_lines(model.__doc__)) for name, model in sorted(v1.MESSAGES.items())
    )
    newer = tuple((name, name, _join_lines(model.__doc__)) for name, model in sorted(v2.MESSAGES.items()))
    return {PROTOCOL_V2: newer, PROTOCOL_V1: older}


@cache
def describe_message(key: str) -> MessageDescription:
    """Describe a message by its key, one of those in `summarise_messages`."""
    if key.startswith(V1_KEY_PREFIX):
        return _describe_v1_message(key.removeprefix(V1_KEY_PREFIX))
    model = v2.MESSAGES[key]
    schema = build_sent_schema(model)
    asked = tuple(method for method in METHODS.values() if method.request is model)
    answers = tuple(method for method in METHODS.values() if method.reply is model)
    sender = _example_sender(asked, answers)
    never_sent = model.NEVER_SENT.split()
    envelope: dict[str, Any] = {"sender": sender, **dict.fromkeys(never_sent)}
    if sender.startswith("player:"):
        envelope.setdefault("auth_token", PLAYER_TOKEN)
    if "match_id" in never_sent:
        envelope["conversation_id"] = "conv-league-001"
    example = model.model_validate(_build_example(schema, schema, envelope)).to_wire()
    fields = tuple(_describe_fields(schema, schema))  # before the notes go from the schema
    return MessageDescription(
        key,
        key,
        PROTOCOL_V2,
        _join_lines(model.__doc__),
        fields,
        indent_json(strip_notes(schema, "format")),
        indent_json(example),
        asked,
        answers,
    )


def _describe_v1_message(message_type: str) -> MessageDescription:
    model = v1.MESSAGES[message_type]
    schema = build_message_schema_v1(model)
    envelope = {"sender": model.SENDER, **({"match_id": model.MATCH_ID} if model.MATCH_ID else {})}
    example = model.model_validate(_build_example(schema, schema, envelope)).to_wire()
    fields = tuple(_describe_fields(schema, schema))
    key = f"{V1_KEY_PREFIX}{message_type}"
    published = indent_json(strip_notes(schema))
    says = _join_lines(model.__doc__)
    return MessageDescription(key, message_type, PROTOCOL_V1, says, fields, published, indent_json(example), (), ())


def indent_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _join_lines(words: str | None) -> str:
    return " ".join((words or "").split())


def _example_sender(asked: Iterable[Method], answers: Iterable[Method]) -> str:
    """Return the sender for a message's example."""
    callers = [method.caller for method in asked]
    if callers:
        is_referee = any(method.name == "register_referee" for method in asked)
        return "referee:referee_alpha" if is_referee else CALLER_SENDERS[callers[0]]
    return next((REPLY_SENDERS[role] for method in answers for role in sorted(method.served_by)), "league_manager")


def _build_example(part: Schema, root: Schema, known: Mapping[str, Any]) -> dict[str, Any]:
    """Build an object that is valid against its schema, with all its fields but optional ones that would be null."""
    required = part.get("required", ())
    values = {
        name: known[name] if name in known else _choose_example(field, root)
        for name, field in part.get("properties", {}).items()
    }
    return {name: value for name, value in values.items() if value is not None or name in required}


def _choose_example(field: Schema, root: Schema) -> Any:
    """The field's own example, an object made of its fields' examples, or a value of its type."""
    options = [_resolve_reference(option, root) for option in field.get("anyOf", (field,))]
    chosen = next((option for option in options if option.get("type") != "null"), options[0])
    kind, items = chosen.get("type", ""), _resolve_reference(chosen.get("items", {}), root)
    own = field.get("examples", [None])[0]
    if "const" in chosen:
        return chosen["const"]
    if "examples" in field and own is None and (len(options) > 1 or "default" in field):
        return None
    if "properties" in chosen:
        made = _build_example(chosen, root, {})
        return {**own, **{name: value for name, value in made.items() if name not in own}} if own else made
    if "properties" in items:
        return [_build_example(items, root, {})]
    if own is not None:
        return own
    return chosen["enum"][0] if "enum" in chosen else TYPE_EXAMPLES.get(kind)


def _describe_fields(schema: Schema, root: Schema, prefix: str = "", depth: int = 0) -> Iterator[MessageField]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        meaning = _join_lines(part.get("description"))
        yield MessageField(f"{prefix}{name}", _describe_type(part, root), name in required, meaning)
        inner, within = _find_object(part, root)
        if inner and depth < MAX_DEPTH:
            yield from _describe_fields(inner, root, f"{prefix}{name}{within}.", depth + 1)


def _find_object(part: Schema, root: Schema) -> tuple[Schema | None, str]:
    """Return the object schema inside a field, directly or in a list, and the suffix for its name: "" or "[]"."""
    for option in part.get("anyOf", (part,)):
        found = _resolve_reference(option, root)
        if found.get("type") == "array":
            inner = _resolve_reference(found.get("items", {}), root)
            if "properties" in inner:
                return inner, "[]"
        if "properties" in found:
            return found, ""
    return None, ""


def _describe_type(part: Schema, root: Schema) -> str:
    """Describe the type of a field in words."""
    if options := part.get("anyOf"):
        return " or ".join(dict.fromkeys(_describe_type(option, root) for option in options))
    part = _resolve_reference(part, root)
    if "const" in part:
        return f'"{part["const"]}"'
    if "enum" in part:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in part["enum"])
    kind = part.get("type")
    if kind == "array":
        return f"list of {_describe_type(part.get('items', {}), root)}"
    return str(kind) if kind else "anything"


def _resolve_reference(part: Schema, root: Schema) -> Schema:
    """Return a part of a schema with its `$ref`, if any, replaced by the definition."""
    place = part.get("$ref")
    if not place:
        return part
    found: Schema = root.get("$defs", root.get("definitions", {}))[place.rpartition("/")[2]]
    return found
