"""MCP tool definitions of the methods: title, description, and exact input and output schemas.

Built on first use, so that an agent whose tools are never listed doesn't pay for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.protocol.checks import REQUIRED_FIELDS
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import Caller, Effect, Method
from agent_league.protocol.schemas import build_message_schema, build_schema
from agent_league.protocol.v2.errors import ERROR_MEANINGS, LeagueError

JsonSchema = dict[str, Any]
TOKEN_ERRORS = (ErrorCode.AUTH_TOKEN_MISSING, ErrorCode.AUTH_TOKEN_INVALID)
MESSAGE_ERRORS = (ErrorCode.INVALID_MESSAGE_FORMAT, ErrorCode.MISSING_REQUIRED_FIELD, ErrorCode.LEAGUE_NOT_FOUND)
WITHOUT_TOKEN = frozenset({Caller.ANYBODY, Caller.APPLICANT})

FILLED_IN = "Filled in where it is left out."
TOKEN_DESCRIPTION = "The caller's token; also taken from the header Authorization: Bearer."  # noqa: S105 - not a token
_OWNER = "Left out, it is the owner of the token; give it where no token tells who you are."
LEFT_OUT_SENDER: Mapping[Caller, str] = {
    Caller.APPLICANT: "Left out, it is made of the display name; a free id that it names (player:P07) is given.",
    **dict.fromkeys((Caller.AGENT, Caller.REFEREE, Caller.MATCH_REFEREE, Caller.MATCH_PLAYER), _OWNER),
}
"""What becomes of a `sender` that is left out, if it isn't just filled in."""
REFUSAL_FIELDS: Mapping[str, Any] = {
    "error_code": "string",
    "error_name": "string",
    "message": "string",
    "affected_player": ["string", "null"],
    "action_required": ["string", "null"],
    "context": "object",
    "retryable": "boolean",
}
"""The fields of a LEAGUE_ERROR that every refusal has -> their JSON types."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The MCP tool of a method."""

    name: str
    title: str
    description: str
    input_schema: JsonSchema
    output_schema: JsonSchema
    reads_only: bool
    idempotent: bool


@cache
def define_tool(method: Method) -> ToolDefinition:
    """Build the tool definition of a method; cached."""
    return ToolDefinition(
        name=method.name,
        title=method.title,
        description=_describe_tool(method),
        input_schema=_build_input_schema(method),
        output_schema=_build_output_schema(method),
        reads_only=method.effect is Effect.READS,
        idempotent=method.effect is not Effect.CHANGES,
    )


def _describe_tool(method: Method) -> str:
    codes = dict.fromkeys(
        (
            *method.errors,
            *(MESSAGE_ERRORS if method.request else ()),
            *(() if method.caller in WITHOUT_TOKEN else TOKEN_ERRORS),
        )
    )
    sentences = [method.description, f"Who may call it: {method.caller}."]
    if codes:
        meanings = "; ".join(f"{code.value} {ERROR_MEANINGS[code]}" for code in codes)
        sentences.append(f"Errors (LEAGUE_ERROR, `error_code`): {meanings}.")
    return " ".join(sentences)


def _build_input_schema(method: Method) -> JsonSchema:
    if method.request is None:
        return _tidy_schema(build_schema(method.question))
    schema = _tidy_schema(build_message_schema(method.request))
    properties = schema["properties"]
    for name in REQUIRED_FIELDS:
        left_out = LEFT_OUT_SENDER.get(method.caller, FILLED_IN) if name == "sender" else FILLED_IN
        properties[name]["description"] += f" {left_out}"
    properties["auth_token"]["description"] = TOKEN_DESCRIPTION
    schema["required"] = [name for name in schema["required"] if name not in REQUIRED_FIELDS]
    return {name: part for name, part in schema.items() if name != "required" or part}


def _build_output_schema(method: Method) -> JsonSchema:
    """The schema of the answer or a refusal: many clients validate both against it."""
    if method.reply:
        exact = method.answer if issubclass(method.answer, Message) else method.reply
        answer = _tidy_schema(build_message_schema(exact))
        del answer["$schema"]
    else:
        answer = _tidy_schema(build_schema(method.answer), answers=True)
    parts = {**answer.pop("$defs", {}), "LEAGUE_ERROR": _build_refusal_schema()}
    return {"type": "object", "anyOf": [answer, {"$ref": "#/$defs/LEAGUE_ERROR"}], "$defs": parts}


@cache
def _build_refusal_schema() -> JsonSchema:
    described = build_message_schema(LeagueError)["properties"]
    fields = {
        name: {"type": kind, "description": described[name]["description"]} for name, kind in REFUSAL_FIELDS.items()
    }
    fields["context"]["description"] = "Which field it is about, what was expected and what came."
    return {
        "type": "object",
        "description": "A refusal: nothing was done.",
        "properties": {"message_type": {"const": LeagueError.TYPE}, **fields},
        "required": ["message_type", *REFUSAL_FIELDS],
    }


def _tidy_schema(schema: JsonSchema, *, answers: bool = False) -> JsonSchema:
    """Remove generated titles, examples and null defaults in place; with `answers`, all defaults."""
    schema.pop("title", None)
    schema.pop("examples", None)
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    for part in schema.get("$defs", {}).values():
        _tidy_schema(part, answers=answers)
    for field in schema.get("properties", {}).values():
        _tidy_schema(field, answers=answers)
        if answers or field.get("default", "") is None:
            field.pop("default", None)
    return schema
