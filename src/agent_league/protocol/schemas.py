"""JSON Schemas of all messages, made from the models."""

from typing import Any

from agent_league.protocol import v1, v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2


def message_schemas() -> dict[str, dict[str, Any]]:
    """Message type of `league.v2` -> its JSON Schema (draft 2020-12)."""
    return {message_type: message_schema(model) for message_type, model in sorted(v2.MESSAGES.items())}


def message_schema(model: type[Message]) -> dict[str, Any]:
    """The JSON Schema of one message of `league.v2`."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    return _finished(model.model_json_schema(), draft, model.TYPE, PROTOCOL_V2)


def message_schemas_v1() -> dict[str, dict[str, Any]]:
    """Message type of `league.v1` -> its JSON Schema: draft-07, like the base schema of seed 001."""
    schemas = {}
    for message_type, model in sorted(v1.MESSAGES.items()):
        schema = model.model_json_schema(ref_template="#/definitions/{model}")
        if parts := schema.pop("$defs", None):
            schema["definitions"] = parts
        draft = "http://json-schema.org/draft-07/schema#"
        schemas[message_type] = _finished(schema, draft, message_type, PROTOCOL_V1)
    return schemas


def _finished(schema: dict[str, Any], draft: str, message_type: str, protocol: str) -> dict[str, Any]:
    schema["$schema"] = draft
    schema["title"] = message_type
    schema["properties"]["protocol"] = {"const": protocol, "type": "string"}
    schema["properties"]["message_type"] = {"const": message_type, "type": "string"}
    schema["required"] = sorted({"protocol", *schema["required"]})
    return schema
