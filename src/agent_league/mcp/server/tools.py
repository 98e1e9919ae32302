"""MCP tool definitions of the methods: title, description, and exact input and output schemas; and their short forms.

The exact schemas are what the answers are held to. Hosts put the whole list into every prompt, so `tools/list` has the
short forms. Built on first use, so that an agent whose tools are never listed doesn't pay for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from agent_league.agent.answer_pages import HOST_CALLERS, PAGE_SCHEMA, PAGED_FIELDS
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

READ_BY_HOSTS = frozenset({"get_standings", "get_schedule"})
"""Tools whose answers a host reads field by field, so that a schema helps."""

CONTEXT_FIELDS = ("league_id", "round_id")
"""Fields that every message may have, and short forms leave out where they aren't needed."""
WITHOUT_WORDS = frozenset({Caller.APPLICANT, Caller.ADMIN})
"""Callers that are programs written from the protocol's documents: their arguments come without descriptions."""
WORDS = ("description", "title", "examples", "default")
"""Parts of a schema that short forms leave out."""
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


@cache
def abridge_tool(method: Method) -> ToolDefinition:
    """Build the short form of a method's tool, as `tools/list` has it; cached.

    Its input schema leaves out what is filled in, and the parts of messages that only agents of a league send each
    other; `get_protocol` has all of them. An output schema is there for what hosts read, without its descriptions.
    """
    exact = define_tool(method)
    is_for_hosts = method.caller in HOST_CALLERS or method.caller is Caller.APPLICANT
    sentences = [method.description, f"Who may call it: {method.caller}."]
    if method.errors:
        sentences.append(f"Errors: {', '.join(code.value for code in method.errors)}.")
    if method.request and not is_for_hosts:
        sentences.append(f"Its schema: get_protocol with message_type {method.request.TYPE}.")
    return replace(
        exact,
        description=" ".join(sentences),
        input_schema=_abridge_input(method, exact.input_schema, is_whole=is_for_hosts),
        output_schema=_abridge_output(exact.output_schema) if method.name in READ_BY_HOSTS else {},
    )


def _abridge_input(method: Method, schema: JsonSchema, *, is_whole: bool) -> JsonSchema:
    left_out = {*REQUIRED_FIELDS, *CONTEXT_FIELDS} - {*schema.get("required", ())} if method.request else set()
    fields = {name: _drop_null(field) for name, field in schema["properties"].items() if name not in left_out}
    if not is_whole:
        fields = {name: _keep(field, "type", "enum") for name, field in fields.items()}
    elif method.caller in WITHOUT_WORDS:
        fields = {name: _strip_words(field) for name, field in fields.items()}
    if method.name in PAGED_FIELDS:
        fields["page"] = dict(PAGE_SCHEMA)
    parts = {name: _strip_words(part) for name, part in schema.get("$defs", {}).items()} if is_whole else {}
    return {"type": "object", "properties": fields, **_keep(schema, "required"), **({"$defs": parts} if parts else {})}


def _abridge_output(schema: JsonSchema) -> JsonSchema:
    """The schema of an answer or a refusal without descriptions, open for the marks and pages of tool answers."""
    answer = _strip_words(schema["anyOf"][0])
    refusal = {"properties": {"message_type": {"const": LeagueError.TYPE}}, "required": ["message_type", "error_code"]}
    parts = {name: _strip_words(part) for name, part in schema["$defs"].items() if name != LeagueError.TYPE}
    return {"type": "object", "anyOf": [answer, refusal], **({"$defs": parts} if parts else {})}


def _drop_null(field: JsonSchema) -> JsonSchema:
    """A field that may be null as one that may be left out, which more hosts understand."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    return {name: part for name, part in (field | kinds[0]).items() if name != "anyOf"} if len(kinds) == 1 else field


def _keep(schema: JsonSchema, *names: str) -> JsonSchema:
    return {name: schema[name] for name in names if name in schema}


def _strip_words(schema: JsonSchema) -> JsonSchema:
    """A copy of a schema without its words, which allows further fields."""
    kept: JsonSchema = {}
    for name, part in schema.items():
        if name in WORDS or (name == "additionalProperties" and part is False):
            continue
        if name in ("properties", "$defs"):
            kept[name] = {key: _strip_words(value) for key, value in part.items()}
        elif isinstance(part, dict):
            kept[name] = _strip_words(part)
        elif isinstance(part, list):
            kept[name] = [_strip_words(one) if isinstance(one, dict) else one for one in part]
        else:
            kept[name] = part
    return kept


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
