"""MCP tool definitions of the methods: title, description, and exact input and output schemas.

Built on first use, so that an agent whose tools are never listed doesn't pay for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from agent_league.protocol.checks import REQUIRED_FIELDS
from agent_league.protocol.envelope import ExactPart, Message, MessagePart
from agent_league.protocol.methods import Method
from agent_league.protocol.schemas import build_message_schema
from agent_league.protocol.tool_descriptions import (
    FIELDS,
    FILLED,
    MEANINGS,
    MESSAGE_ERRORS,
    SENDERS,
    TAKEN_FROM,
    TOKEN_ERRORS,
    WITHOUT_TOKEN,
    WORDS,
)
from agent_league.protocol.v2 import league_state, match_state, player_state, rulebook

_STEP = (match_state.StepQuestion, match_state.StepAnswer)
PLAIN_METHODS: Mapping[str, tuple[type[MessagePart], type[MessagePart]]] = {
    "get_assigned_matches": (league_state.OwnQuestion, league_state.AssignedMatches),
    "get_standings": (league_state.Nothing, league_state.StandingsAnswer),
    "create_schedule": (league_state.Nothing, league_state.ScheduleAnswer),
    "get_round": (league_state.RoundQuestion, league_state.RoundAnswer),
    "get_match": (league_state.MatchQuestion, league_state.MatchAnswer),
    "get_player": (league_state.PlayerQuestion, league_state.PlayerAnswer),
    "get_match_state": (match_state.MatchStateQuestion, match_state.MatchStateAnswer),
    "register_to_league": _STEP,
    "collect_choices": _STEP,
    "draw_number": _STEP,
    "finalize_match": _STEP,
    "get_player_state": (player_state.OwnStateQuestion, player_state.PlayerStateAnswer),
    "get_rules": (rulebook.RulesQuestion, rulebook.RulesAnswer),
    "get_protocol": (rulebook.ProtocolQuestion, rulebook.ProtocolAnswer),
}
"""Question and answer models of the methods without a message."""
EXACT_REPLIES: Mapping[str, type[Message]] = {"league_query": league_state.LeagueQueryAnswer}
"""Models of replies that are more exact than the reply's message."""
JsonSchema = dict[str, Any]
LEAGUE_ERROR_SCHEMA: JsonSchema = {
    "type": "object",
    "description": "A refusal: nothing was done.",
    "properties": {
        "message_type": {"const": "LEAGUE_ERROR"},
        **{name: {"type": "string", "description": FIELDS[name]} for name in ("error_code", "error_name", "message")},
        **{
            name: {"type": ["string", "null"], "description": FIELDS[name]}
            for name in ("affected_player", "action_required")
        },
        "context": {"type": "object", "description": "Which field it is about, what was expected and what came."},
        "retryable": {"type": "boolean", "description": FIELDS["retryable"]},
    },
    "required": [
        "message_type",
        "error_code",
        "error_name",
        "message",
        "affected_player",
        "action_required",
        "context",
        "retryable",
    ],
}


class Status(ExactPart):
    """The plain acknowledgement."""

    status: Literal["ok"]


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
    words = WORDS[method.name]
    return ToolDefinition(
        name=method.name,
        title=words.title,
        description=_describe_tool(method),
        input_schema=_build_input_schema(method),
        output_schema=_build_output_schema(method),
        reads_only=words.reads_only,
        idempotent=words.idempotent,
    )


def _describe_tool(method: Method) -> str:
    words = WORDS[method.name]
    codes = dict.fromkeys(
        (
            *words.errors,
            *(MESSAGE_ERRORS if method.request else ()),
            *(() if method.caller in WITHOUT_TOKEN else TOKEN_ERRORS),
        )
    )
    sentences = [words.says, f"Who may call it: {method.caller}."]
    if codes:
        meanings = "; ".join(f"{code.value} {MEANINGS[code]}" for code in codes)
        sentences.append(f"Errors (LEAGUE_ERROR, `error_code`): {meanings}.")
    return " ".join(sentences)


def _build_input_schema(method: Method) -> JsonSchema:
    if method.request is None:
        question, _ = PLAIN_METHODS[method.name]
        return _describe_fields(question.model_json_schema())
    schema = _describe_fields(build_message_schema(method.request))
    properties = schema["properties"]
    for name in REQUIRED_FIELDS:
        properties[name]["description"] += f" {SENDERS[method.caller] if name == 'sender' else FILLED}"
    properties["auth_token"]["description"] = TAKEN_FROM
    schema["required"] = [name for name in schema["required"] if name not in REQUIRED_FIELDS]
    return {name: part for name, part in schema.items() if name != "required" or part}


def _build_output_schema(method: Method) -> JsonSchema:
    """The schema of the answer or a refusal: many clients validate both against it."""
    answer = _build_answer_schema(method)
    parts = {**answer.pop("$defs", {}), "LEAGUE_ERROR": LEAGUE_ERROR_SCHEMA}
    return {"type": "object", "anyOf": [answer, {"$ref": "#/$defs/LEAGUE_ERROR"}], "$defs": parts}


def _build_answer_schema(method: Method) -> JsonSchema:
    if method.reply:
        schema = build_message_schema(EXACT_REPLIES.get(method.name, method.reply))
        del schema["$schema"]
        return _describe_fields(schema)
    answer = PLAIN_METHODS[method.name][1] if method.name in PLAIN_METHODS else Status
    return _describe_fields(answer.model_json_schema(), answers=True)


def _describe_fields(schema: JsonSchema, *, answers: bool = False) -> JsonSchema:
    """Add the fields' descriptions to a schema in place; remove generated titles and null defaults."""
    model = schema.pop("title", "")
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    for part in schema.get("$defs", {}).values():
        _describe_fields(part, answers=answers)
    for name, field in schema.get("properties", {}).items():
        _describe_fields(field, answers=answers)
        if answers or field.get("default", "") is None:
            field.pop("default", None)
        known = FIELDS.get(f"{model}.{name}") or FIELDS.get(name, {})
        field.update({"description": known} if isinstance(known, str) else known)
    return schema
