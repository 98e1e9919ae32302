"""Descriptions of the messages of both protocols: fields in words, a JSON Schema, and a valid example.

All of it is generated from the models with which the league itself reads and writes messages.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from markupsafe import Markup, escape

from agent_league.errors import ErrorCode
from agent_league.model.agents import Role
from agent_league.protocol import v1, v2
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.schemas import build_message_schemas, build_message_schemas_v1
from agent_league.protocol.tool_descriptions import FIELDS, MEANINGS
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.text import to_printable
from agent_league.web.protocol.samples import SENDERS_V1, build_sample, resolve_reference

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

FIELD_WORDS: Mapping[str, str] = {
    "original_message_type": "The type of the message that was refused.",
    "played": "Matches played.",
    "wins": "Matches won.",
    "draws": "Matches drawn.",
    "losses": "Matches lost.",
    "style": "How the player spells its calls.",
    "failures_in_a_row": "How often in a row it gave no usable answer.",
    "win_points": "For a win.",
    "draw_points": "For a draw.",
    "loss_points": "For a loss.",
    "technical_loss_points": "For a loss without a usable answer.",
    "referee_token_sha256": "The hash of the token that this referee shows, where it is one that shows its own.",
    "model": "Which model it was.",
    "input_tokens": "Tokens that it read.",
    "output_tokens": "Tokens that it wrote.",
    "cost_usd": "What it cost; null where nobody knows the price.",
    "attempts": "How often it was asked.",
    "fallback": "Why the move is not the model's own; null where it is.",
}
"""Descriptions of fields that the tool descriptions don't cover."""
V1_FIELD_WORDS: Mapping[str, str] = {
    "protocol": "Always league.v1.",
    "league_id": "The league, as a UUID.",
    "round_id": "The number of the round; 0 before the first.",
    "match_id": "The match; outside a match a word such as REGISTRATION.",
    "conversation_id": "What ties an answer to its question, as a UUID; an answer repeats it.",
    "sender": "Who says it: league_manager, referee or player_ID.",
    "player_id": "The player, such as player_001.",
    "contact_endpoint": "Where it is called: mcp://HOST:PORT/NAME, or http://HOST:PORT/mcp.",
    "game_info": "What is to be played, and against whom.",
    "your_role": "The challenger is asked first, the defender second.",
    "timeout_seconds": "So long the answer may take.",
    "game_state": "Where the game stands.",
    "current_player": "Who is asked first.",
    "rules": "What it is played by.",
    "single_round": "Whether one round decides it.",
    "timeout_per_move": "So long a move may take, in seconds.",
    "turn_number": "Which turn it is, from 1.",
    "game_specific_state": "What the game shows.",
    "previous_plays": "What was played before.",
    "view": "What the player may see.",
    "play": "The move.",
    "action": "What is done: choose.",
    "value": "What is chosen.",
    "reasoning": "Why, in the player's own words.",
    "validation": "What the referee says of the move.",
    "loser": "The player who lost, or null.",
    "game_summary": "How it went.",
    "random_number": "The number that was drawn.",
    "number_parity": "Whether that number is even or odd.",
    "winner_reason": "Why, in a sentence.",
    "moves": "Turn by turn: each player's move stands under its id.",
    "turn": "Which turn it was, from 1.",
    "number": "The number that was drawn.",
    "league_info": "The league and its schedule.",
    "total_players": "Players in all.",
    "schedule": "All rounds with their matches.",
    "player1": "One player.",
    "player2": "The other one.",
    "round_summary": "The round in numbers.",
    "final_standings": "How the league ended.",
    "rankings": "The final table.",
    "win_rate": "The share of matches won.",
    "status": "How it stands or how it ended.",
    "error": "What was wrong with the move.",
}

CODE_WORDS: Mapping[ErrorCode, str] = {
    **MEANINGS,
    ErrorCode.TIMEOUT_ERROR: "no answer came within the limit",
    ErrorCode.CONNECTION_ERROR: "the agent couldn't be reached",
    ErrorCode.RATE_LIMIT_EXCEEDED: "too many requests from one address; wait a little",
    ErrorCode.INTERNAL_SERVER_ERROR: "our own fault; what it was stands in the log",
    ErrorCode.DUPLICATE_REGISTRATION: "somebody is registered under this name already",
    ErrorCode.INVALID_TIMESTAMP: "a moment that is not ISO-8601 in UTC, ending in Z or +00:00",
}
"""Meaning of each error code of the league protocol."""


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
    schema = _v2_schemas()[key]
    asked = tuple(method for method in METHODS.values() if method.request is model)
    answers = tuple(method for method in METHODS.values() if method.reply is model)
    example = model.model_validate(build_sample(schema, _example_sender(asked, answers))).to_wire()
    fields = tuple(_describe_fields(schema, schema, key, FIELD_WORDS))
    return MessageDescription(
        key,
        key,
        PROTOCOL_V2,
        _join_lines(model.__doc__),
        fields,
        indent_json(schema),
        indent_json(example),
        asked,
        answers,
    )


def _describe_v1_message(message_type: str) -> MessageDescription:
    model = v1.MESSAGES[message_type]
    schema = _v1_schemas()[message_type]
    told = build_sample(schema, SENDERS_V1[message_type], PROTOCOL_V1)
    if model.MATCH_ID:
        told["match_id"] = model.MATCH_ID
    example = model.model_validate(told).to_wire()
    fields = tuple(_describe_fields(schema, schema, message_type, {**FIELD_WORDS, **V1_FIELD_WORDS}))
    key = f"{V1_KEY_PREFIX}{message_type}"
    says, schema_text, example_text = _join_lines(model.__doc__), indent_json(schema), indent_json(example)
    return MessageDescription(key, message_type, PROTOCOL_V1, says, fields, schema_text, example_text, (), ())


def indent_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def mark_code(text: str) -> Markup:
    """Escape a text and turn what is between backticks into `<code>`."""
    parts = to_printable(" ".join(text.split())).split("`")
    marked = (f"<code>{escape(part)}</code>" if at % 2 else str(escape(part)) for at, part in enumerate(parts))
    return Markup("".join(marked))  # noqa: S704 - each part was escaped


_v2_schemas = cache(build_message_schemas)
_v1_schemas = cache(build_message_schemas_v1)


def _join_lines(words: str | None) -> str:
    return " ".join((words or "").split())


def _example_sender(asked: Iterable[Method], answers: Iterable[Method]) -> str:
    """Return the sender for a message's example."""
    callers = [method.caller for method in asked]
    if callers:
        is_referee = any(method.name == "register_referee" for method in asked)
        return "referee:referee_alpha" if is_referee else CALLER_SENDERS[callers[0]]
    return next((REPLY_SENDERS[role] for method in answers for role in sorted(method.served_by)), "league_manager")


def _describe_fields(
    schema: Schema, root: Schema, model: str, more: Mapping[str, str], prefix: str = "", depth: int = 0
) -> Iterator[MessageField]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        meaning = _field_meaning(model, name, more)
        yield MessageField(
            f"{prefix}{name}",
            _describe_type(part, root),
            name in required,
            meaning or _join_lines(part.get("description")),
        )
        inner, within = _find_object(part, root)
        if inner and depth < MAX_DEPTH:
            title = str(inner.get("title", ""))
            yield from _describe_fields(inner, root, title, more, f"{prefix}{name}{within}.", depth + 1)


def _field_meaning(model: str, name: str, more: Mapping[str, str]) -> str:
    if name in more:
        return more[name]
    known = FIELDS.get(f"{model}.{name}") or FIELDS.get(name, "")
    return known if isinstance(known, str) else str(known.get("description", ""))


def _find_object(part: Schema, root: Schema) -> tuple[Schema | None, str]:
    """Return the object schema inside a field, directly or in a list, and the suffix for its name: "" or "[]"."""
    for option in part.get("anyOf", (part,)):
        found = resolve_reference(option, root)
        if found.get("type") == "array":
            inner = resolve_reference(found.get("items", {}), root)
            if "properties" in inner:
                return inner, "[]"
        if "properties" in found:
            return found, ""
    return None, ""


def _describe_type(part: Schema, root: Schema) -> str:
    """Describe the type of a field in words."""
    if options := part.get("anyOf"):
        return " or ".join(dict.fromkeys(_describe_type(option, root) for option in options))
    part = resolve_reference(part, root)
    if "const" in part:
        return f'"{part["const"]}"'
    if "enum" in part:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in part["enum"])
    kind = part.get("type")
    if kind == "array":
        return f"list of {_describe_type(part.get('items', {}), root)}"
    return str(kind) if kind else "anything"
