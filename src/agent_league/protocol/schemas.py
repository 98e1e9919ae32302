"""JSON Schemas of all messages, generated from the models.

A model describes what we accept, its published schema what we send: a field that foreign messages may lack but ours
never do is required in the schema.
"""

from collections.abc import Mapping
from typing import Any

from agent_league.protocol import v1, v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

MAY_BE_NULL = "?"
ALWAYS_SENT: Mapping[str, tuple[str, ...]] = {
    "CHOOSE_PARITY_CALL": (
        *("auth_token", "league_id", "round_id", "player_id", "game_type", "deadline", "context"),
        *("context.opponent_id", "context.round_id", "context.your_standings"),
        *("context.your_standings.wins", "context.your_standings.losses", "context.your_standings.draws"),
    ),
    "CHOOSE_PARITY_RESPONSE": ("match_id", "player_id"),
    "GAME_ERROR": (
        *("conversation_id", "league_id", "round_id", "error_name", "error_description", "message"),
        *("affected_player", "player_id", "action_required", "game_state", "retryable", "consequence"),
        *("retry_info", "retry_info.next_retry_at?", "retry_count", "max_retries"),
    ),
    "GAME_INVITATION": ("auth_token", "league_id", "round_id", "game_type", "role_in_match", "opponent_id"),
    "GAME_JOIN_ACK": ("match_id", "player_id", "arrival_timestamp"),
    "GAME_MOVE_CALL": (
        *("auth_token", "league_id", "round_id", "player_id", "deadline", "context"),
        *("context.opponent_id", "context.round_id", "context.your_standings"),
    ),
    "GAME_MOVE_RESPONSE": ("match_id", "player_id"),
    "GAME_OVER": (
        *("auth_token", "league_id", "round_id", "game_type"),
        *("game_result.winner_player_id?", "game_result.choices", "game_result.reason"),
    ),
    "LEAGUE_COMPLETED": ("league_id",),
    "LEAGUE_ERROR": (
        *("conversation_id", "error_name", "error_description", "message", "original_message_type?"),
        *("affected_player?", "action_required?", "context", "retryable"),
    ),
    "LEAGUE_QUERY": ("query_params",),
    "LEAGUE_QUERY_RESPONSE": ("league_id", "data?", "error?"),
    "LEAGUE_REGISTER_RESPONSE": ("league_id", "player_id?", "auth_token?", "reason?"),
    "LEAGUE_STANDINGS_UPDATE": ("league_id",),
    "MATCH_RESULT_REPORT": (
        *("auth_token", "league_id", "round_id", "game_type"),
        *("result.score", "result.details", "result.status"),
    ),
    "REFEREE_REGISTER_REQUEST": ("referee_meta.max_concurrent_matches",),
    "REFEREE_REGISTER_RESPONSE": ("league_id", "referee_id?", "auth_token?", "reason?"),
    "ROUND_ANNOUNCEMENT": ("league_id",),
    "ROUND_COMPLETED": ("league_id", "matches_completed", "matches_played", "next_round_id?", "summary"),
    "START_MATCH": (
        *("player_A_id", "player_A_endpoint", "player_B_id", "player_B_endpoint", "match_token"),
        *("player_A.protocol", "player_A.standings", "player_A.token_sha256?"),  # player_B is of the same kind
    ),
}
"""Fields that a model doesn't require and our messages always have; those with `?` after the name may be null."""
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


def build_message_schemas() -> dict[str, dict[str, Any]]:
    """Message type of `league.v2` -> the JSON Schema (draft 2020-12) of what we send."""
    return {message_type: build_sent_schema(model) for message_type, model in sorted(v2.MESSAGES.items())}


def build_sent_schema(model: type[Message]) -> dict[str, Any]:
    """The JSON Schema of one message of `league.v2` as we send it."""
    schema = build_message_schema(model)
    for path in ALWAYS_SENT.get(model.TYPE, ()):
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
    return _add_schema_header(model.model_json_schema(), draft, model.TYPE, PROTOCOL_V2)


def build_message_schemas_v1() -> dict[str, dict[str, Any]]:
    """Message type of `league.v1` -> its JSON Schema: draft-07, like the base schema of seed 001."""
    schemas = {}
    for message_type, model in sorted(v1.MESSAGES.items()):
        schema = model.model_json_schema(ref_template="#/definitions/{model}")
        if parts := schema.pop("$defs", None):
            schema["definitions"] = parts
        draft = "http://json-schema.org/draft-07/schema#"
        schemas[message_type] = _add_schema_header(schema, draft, message_type, PROTOCOL_V1)
    return schemas


def _add_schema_header(schema: dict[str, Any], draft: str, message_type: str, protocol: str) -> dict[str, Any]:
    schema["$schema"] = draft
    schema["title"] = message_type
    schema["properties"]["protocol"] = {"const": protocol, "type": "string"}
    schema["properties"]["message_type"] = {"const": message_type, "type": "string"}
    schema["required"] = sorted({"protocol", *schema["required"]})
    return schema
