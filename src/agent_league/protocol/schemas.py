"""JSON Schemas of all messages, generated from the models.

A model describes what we accept, its published schema what we send: a field that foreign messages may lack but ours
never do is required in the schema.
"""

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from agent_league.protocol import v1, v2
from agent_league.protocol.envelope import Message, MessagePart
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

MAY_BE_NULL = "?"
FIELD_NOTES = ("description", "examples")
"""What a field says of itself beside its type: in tools and on pages, not in the published schemas."""
EVEN_ODD_CONDITION: Mapping[str, Any] = {
    "if": {
        "properties": {
            "game_type": {"const": "even_odd"},
            "game_result": {"properties": {"choices": {"additionalProperties": {"type": "string"}}}},
        }
    },
    "then": {
        "properties": {
            "game_result": {
                "properties": {
                    "drawn_number": {"type": ["integer", "null"]},
                    "number_parity": {"enum": ["even", "odd", None]},
                },
                "required": ["drawn_number", "number_parity"],
            }
        }
    },
}
"""The conditional schema of GAME_OVER for a single game of Even/Odd; both fields are null after a technical loss."""


class FieldSchema(GenerateJsonSchema):
    """Moves the notes of a type that may be null to the field itself: `MatchId | None` is described as MatchId is."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        built = super().nullable_schema(schema)
        inner = built.get("anyOf", [{}])[0]
        if "description" in inner:
            built |= {name: inner.pop(name) for name in (*FIELD_NOTES, "format") if name in inner}
        return built

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """Sort keys as pydantic does, but leave examples in their own order."""
        if isinstance(value, dict) and parent_key != "examples":
            keys = value if parent_key in ("properties", "default") else sorted(value)
            return {key: self.sort(value[key], key) for key in keys}
        return [self.sort(item, parent_key) for item in value] if isinstance(value, list) else value


def build_schema(model: type[MessagePart]) -> dict[str, Any]:
    """The JSON Schema of any model, with descriptions and examples."""
    return model.model_json_schema(schema_generator=FieldSchema)


def build_message_schemas() -> dict[str, dict[str, Any]]:
    """Message type of `league.v2` -> the JSON Schema (draft 2020-12) of what we send."""
    return {kind: strip_notes(build_sent_schema(model), "format") for kind, model in sorted(v2.MESSAGES.items())}


def build_sent_schema(model: type[Message]) -> dict[str, Any]:
    """The JSON Schema of one message of `league.v2` as we send it, with descriptions and examples."""
    schema = build_message_schema(model)
    for path in model.ALWAYS_SENT.split():
        _require_field(schema, path)
    return {**schema, **EVEN_ODD_CONDITION} if model is v2.GameOver else schema


def _require_field(schema: dict[str, Any], path: str) -> None:
    """Make a field required, and never null unless `?` follows its name."""
    *above, name = path.removesuffix(MAY_BE_NULL).split(".")
    part = schema
    for step in above:
        field = part["properties"][step]
        part = schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
    field = part["properties"][name]
    field.pop("default", None)
    part["required"] = sorted({*part.get("required", ()), name})
    if not path.endswith(MAY_BE_NULL) and "anyOf" in field:
        options = [option for option in field.pop("anyOf") if option != {"type": "null"}]
        field.update(options[0] if len(options) == 1 else {"anyOf": options})


def build_message_schema(model: type[Message]) -> dict[str, Any]:
    """The JSON Schema of one message of `league.v2` as we accept it."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    return _add_schema_header(build_schema(model), draft, model.TYPE, PROTOCOL_V2)


def build_message_schemas_v1() -> dict[str, dict[str, Any]]:
    """Message type of `league.v1` -> its JSON Schema: draft-07, like the base schema of seed 001."""
    return {kind: strip_notes(build_message_schema_v1(model)) for kind, model in sorted(v1.MESSAGES.items())}


def build_message_schema_v1(model: type[v1.V1Message]) -> dict[str, Any]:
    """The JSON Schema of one message of `league.v1`, with descriptions and examples."""
    schema = model.model_json_schema(ref_template="#/definitions/{model}", schema_generator=FieldSchema)
    if parts := schema.pop("$defs", None):
        schema["definitions"] = parts
    return _add_schema_header(schema, "http://json-schema.org/draft-07/schema#", model.TYPE, PROTOCOL_V1)


def strip_notes(schema: dict[str, Any], *more: str) -> dict[str, Any]:
    """Remove the notes of all fields in place, and what `more` names; models keep their own descriptions."""
    for part in (*schema.get("$defs", {}).values(), *schema.get("definitions", {}).values()):
        strip_notes(part, *more)
    for field in schema.get("properties", {}).values():
        notes = {*FIELD_NOTES, *more}
        if "properties" in field:  # MoveUsage, the one model that stands in its field
            strip_notes(field, *more)["description"] = v2.MoveUsage.__doc__
            notes.remove("description")
        for name in notes:
            field.pop(name, None)
    return schema


def _add_schema_header(schema: dict[str, Any], draft: str, message_type: str, protocol: str) -> dict[str, Any]:
    schema["$schema"] = draft
    schema["title"] = message_type
    for name, value in (("protocol", protocol), ("message_type", message_type)):
        described = schema["properties"][name]["description"]
        schema["properties"][name] = {"const": value, "type": "string", "description": described}
    schema["required"] = sorted({"protocol", *schema["required"]})
    return schema
