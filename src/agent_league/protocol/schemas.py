"""JSON Schemas of all messages, made from the models."""

from typing import Any

from agent_league.protocol.v2 import MESSAGES


def message_schemas() -> dict[str, dict[str, Any]]:
    """Message type -> its JSON Schema (draft 2020-12)."""
    schemas = {}
    for message_type, model in sorted(MESSAGES.items()):
        schema = model.model_json_schema()
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = message_type
        schema["properties"]["protocol"] = {"const": "league.v2", "type": "string"}
        schema["properties"]["message_type"] = {"const": message_type, "type": "string"}
        schema["required"] = sorted({"protocol", *schema["required"]})
        schemas[message_type] = schema
    return schemas
