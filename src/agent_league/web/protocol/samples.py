"""Example messages: a plausible value for every field of a JSON Schema."""

from collections.abc import Mapping
from typing import Any

from agent_league.games.draw import compute_commitment, create_match_seed
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

Schema = Mapping[str, Any]
PLAYER_TOKEN = "tok-p01-…"  # noqa: S105 - stands for one
MATCH_TOKEN = "eyJ…"  # noqa: S105 - as above
DRAW_SEED = create_match_seed("5", "league_2025_even_odd", "R1M1")
"""A seed that draws a 4 in Even/Odd, so that the examples are consistent."""
SAMPLE_HASH = "5d41b0c2…"
SAMPLE_UUIDS = ("3f2b8c1e-7a64-4d15-9b02-5c8e1d6f7a90", "b7d41f52-0c3e-4f68-8a97-2e6d9c1b5f34")

FIELD_SAMPLES: Mapping[str, Any] = {
    "accept": True,
    "affected_player": "P01",
    "action_required": "CHOOSE_PARITY_RESPONSE",
    "application_key": "a-secret-of-my-own-making",
    "auth_token": MATCH_TOKEN,
    "choices": {"P01": "even", "P02": "odd"},
    "consequence": "Technical loss after 3 attempts",
    "contact_endpoint": "http://localhost:8101/mcp",
    "context": {
        "action": "CHOOSE_PARITY_RESPONSE",
        "field": "parity_choice",
        "expected": ["even", "odd"],
        "received": "Even",
    },
    "conversation_id": "conv-r1m1-001",
    "cost_usd": None,
    "data": {"player_id": "P01", "display_name": "Agent Alpha", "rank": 1, "points": 7},
    "details": {"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}},
    "display_name": "Agent Alpha",
    "draw_commitment": compute_commitment(DRAW_SEED),
    "draw_points": 1,
    "draw_seed": DRAW_SEED,
    "draws": 1,
    "endpoint": "http://localhost:8101/mcp",
    "error": None,
    "error_code": "E004",
    "error_description": "INVALID_PARITY_CHOICE",
    "error_name": "INVALID_PARITY_CHOICE",
    "failures_in_a_row": 0,
    "fallback": None,
    "game_parameters": {"min_number": 1, "max_number": 10},
    "game_state": "COLLECTING_CHOICES",
    "game_type": "even_odd",
    "game_types": ["even_odd"],
    "league_id": "league_2025_even_odd",
    "league_status": "RUNNING",
    "match_id": "R1M1",
    "match_token": MATCH_TOKEN,
    "loss_points": 0,
    "losses": 0,
    "matches_completed": 2,
    "matches_played": 2,
    "max_concurrent_matches": 2,
    "max_retries": 3,
    "message": "the choice is not exactly 'even' or 'odd'",
    "model": "anthropic:a-model",
    "move_data": 4,
    "move_method": None,
    "move_schema": None,
    "move_type": "tic_tac_toe",
    "next_round_id": 2,
    "opponent_id": "P02",
    "original_message_type": "CHOOSE_PARITY_RESPONSE",
    "player_A_endpoint": "http://localhost:8101/mcp",
    "player_A_id": "P01",
    "player_B_endpoint": "http://localhost:8102/mcp",
    "player_B_id": "P02",
    "played": 3,
    "player_id": "P01",
    "points": 7,
    "protocol_version": "2.1.0",
    "public_key": {"kty": "OKP", "crv": "Ed25519", "x": "…"},
    "query_params": {"player_id": "P01"},
    "query_type": "GET_PLAYER_STATS",
    "rank": 1,
    "reason": None,
    "referee_endpoint": "http://localhost:8001/mcp",
    "referee_id": "REF01",
    "referee_token_sha256": None,
    "score": {"P01": 3, "P02": 0},
    "standings": None,
    "state": "ACTIVE",
    "step": 0,
    "style": "seeds",
    "technical_loss_points": 0,
    "technical_losses": 0,
    "terminations": {},
    "token_sha256": SAMPLE_HASH,
    "tolerated": {},
    "total_matches": 6,
    "total_rounds": 3,
    "usage": None,
    "void": 0,
    "void_match_ids": None,
    "valid_options": [0, 1, 2, 3, 4, 5, 6, 7, 8],
    "version": "1.0.0",
    "win_points": 3,
    "winner": "P01",
    "winner_player_id": "P01",
    "wins": 2,
}
"""Values by field name, for all messages."""
MESSAGE_SAMPLES: Mapping[str, Any] = {
    "GAME_MOVE_CALL.game_type": "tic_tac_toe",
    "GAME_OVER.game_result": {
        "status": "WIN",
        "winner_player_id": "P01",
        "drawn_number": 4,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
        "reason": "P01 chose even, number was 4 (even)",
    },
    "LEAGUE_REGISTER_RESPONSE.auth_token": PLAYER_TOKEN,
    "MANAGE_LEAGUE.auth_token": "tok-admin-…",
    "MATCH_RESULT_REPORT.auth_token": "tok-ref01-…",
    "MatchPlayer.protocol": PROTOCOL_V2,
    "MoveRequest.context": {"board": ".........", "turn": 0, "winner": None},
    "REFEREE_REGISTER_RESPONSE.auth_token": "tok-ref01-…",
    "RefereeMeta.contact_endpoint": "http://localhost:8001/mcp",
    "RefereeMeta.display_name": "Referee Alpha",
    "ReportedResult.failures_in_a_row": {"P01": 0, "P02": 0},
    "RoundSummary.total_matches": 2,
    "RoundSummary.wins": 1,
    "START_LEAGUE.auth_token": "tok-admin-…",
}
"""Values by message type or object and field name, which take precedence."""
OMITTED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "CHOOSE_PARITY_RESPONSE": ("league_id", "round_id"),
    "GAME_ERROR": ("auth_token",),
    "GAME_JOIN_ACK": ("league_id", "round_id"),
    "GAME_MOVE_RESPONSE": ("league_id", "round_id"),
    "LEAGUE_COMPLETED": ("auth_token", "round_id", "match_id"),
    "LEAGUE_ERROR": ("auth_token", "league_id", "round_id", "match_id"),
    "LEAGUE_QUERY": ("round_id", "match_id"),
    "LEAGUE_QUERY_RESPONSE": ("auth_token", "round_id", "match_id"),
    "LEAGUE_REGISTER_REQUEST": ("auth_token", "league_id", "round_id", "match_id"),
    "LEAGUE_REGISTER_RESPONSE": ("round_id", "match_id"),
    "LEAGUE_STANDINGS_UPDATE": ("auth_token", "match_id"),
    "MANAGE_LEAGUE": ("round_id", "match_id", "player_id"),
    "REFEREE_REGISTER_REQUEST": ("auth_token", "league_id", "round_id", "match_id"),
    "REFEREE_REGISTER_RESPONSE": ("round_id", "match_id"),
    "ROUND_ANNOUNCEMENT": ("auth_token", "match_id"),
    "ROUND_COMPLETED": ("auth_token", "match_id"),
    "START_LEAGUE": ("round_id", "match_id"),
    "START_MATCH": ("auth_token",),
}
"""Optional envelope fields that we don't send in a message type."""
NESTED_SAMPLES: Mapping[str, Mapping[str, Any]] = {
    "player_B": {"player_id": "P02", "display_name": "Agent Beta", "endpoint": "http://localhost:8102/mcp"},
}
"""Values that apply only inside a field."""
V1_SAMPLES: Mapping[str, Any] = {
    "action": "choose",
    "contact_endpoint": "mcp://localhost:8101/agent_alpha",
    "conversation_id": SAMPLE_UUIDS[1],
    "current_player": "player_001",
    "error": None,
    "league_id": SAMPLE_UUIDS[0],
    "loser": "player_002",
    "losses": 1,
    "opponent_id": "player_002",
    "player1": "player_001",
    "player2": "player_002",
    "player_id": "player_001",
    "random_number": 4,
    "number": 4,
    "reasoning": "even was drawn more often",
    "timeout_per_move": 30,
    "total_players": 4,
    "timeout_seconds": 30,
    "valid_options": None,
    "value": "even",
    "view": None,
    "win_rate": 0.667,
    "winner": "player_001",
    "winner_reason": "player_001 chose even, number was 4 (even)",
}
SENDERS_V1: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "player_candidate",
    "LEAGUE_REGISTER_RESPONSE": "league_manager",
    "LEAGUE_START_ANNOUNCEMENT": "league_manager",
    "GAME_INVITATION": "referee",
    "GAME_INVITATION_RESPONSE": "player_001",
    "GAME_START": "referee",
    "PLAY_REQUEST": "referee",
    "PLAY_RESPONSE": "player_001",
    "PLAY_VALIDATION": "referee",
    "GAME_RESULT": "referee",
    "ROUND_COMPLETE": "league_manager",
    "LEAGUE_COMPLETE": "league_manager",
}
TYPE_SAMPLES: Mapping[str, Any] = {"string": "…", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def build_sample(schema: Schema, sender: str, protocol: str = PROTOCOL_V2) -> dict[str, Any]:
    """Build an example message that is valid against its schema."""
    is_older = protocol == PROTOCOL_V1
    moments = ("2025-01-15T10:30:00.000Z",) * 2 if is_older else ("2025-01-15T10:30:00Z", "2025-01-15T10:30:30Z")
    known = {**FIELD_SAMPLES, **(V1_SAMPLES if is_older else MESSAGE_SAMPLES), "sender": sender}
    known |= dict.fromkeys(("timestamp", "arrival_timestamp"), moments[0])
    known |= dict.fromkeys(("deadline", "next_retry_at"), moments[1])
    if is_older:
        return _build_object(schema, schema, known)
    title = schema["title"]
    without = OMITTED_FIELDS.get(title, ())
    if sender.startswith("player:"):
        known["auth_token"] = PLAYER_TOKEN
    if "match_id" in without:
        known["conversation_id"] = "conv-league-001"
    return _build_object(schema, schema, {**known, **{f"{title}.{name}": None for name in without}})


def _build_object(part: Schema, root: Schema, known: Mapping[str, Any]) -> dict[str, Any]:
    """Build an object with all its fields, except optional ones that would be null."""
    title = part.get("title", "")
    made = {}
    for name, field in part.get("properties", {}).items():
        own = f"{title}.{name}"
        value = (
            known[own] if own in known else _sample_value(name, field, root, {**known, **NESTED_SAMPLES.get(name, {})})
        )
        if value is not None or name in part.get("required", ()):
            made[name] = value
    return made


def _sample_value(name: str, field: Schema, root: Schema, known: Mapping[str, Any]) -> Any:
    options = [resolve_reference(option, root) for option in field.get("anyOf", (field,))]
    chosen = next((option for option in options if option.get("type") != "null"), options[0])
    kind, items = chosen.get("type", ""), resolve_reference(chosen.get("items", {}), root)
    may_be_null = len(options) > 1 or "default" in field
    if "const" in chosen:
        return chosen["const"]
    if name in known and known[name] is None and may_be_null:
        return None
    if "properties" in chosen:
        return _build_object(chosen, root, known)
    if "properties" in items:
        return [_build_object(items, root, known)]
    if known.get(name) is not None:
        return known[name]
    return chosen["enum"][0] if "enum" in chosen else TYPE_SAMPLES.get(kind)


def resolve_reference(part: Schema, root: Schema) -> Schema:
    """Return a part of a schema with its `$ref`, if any, replaced by the definition."""
    place = part.get("$ref")
    if not place:
        return part
    found: Schema = root.get("$defs", root.get("definitions", {}))[place.rpartition("/")[2]]
    return found
