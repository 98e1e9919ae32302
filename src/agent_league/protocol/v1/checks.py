"""The checks on the envelope of an arriving `league.v1` message: the order and the codes are those of `league.v2`."""

from collections.abc import Mapping
from typing import Any

from agent_league.protocol.checks import check_required_fields, check_timestamp, wrong_type_refusal
from agent_league.protocol.v1 import MESSAGES
from agent_league.protocol.v1.envelope import SENDER_PATTERN, UUID_PATTERN
from agent_league.protocol.version import PROTOCOL_V1

V1_REQUIRED_FIELDS = (
    "protocol",
    "message_type",
    "league_id",
    "round_id",
    "match_id",
    "conversation_id",
    "sender",
    "timestamp",
)
UUID_FIELDS = ("league_id", "conversation_id")
TYPE_OF_OTHER_NAME = {
    "MOVE_REQUEST": "PLAY_REQUEST",
    "MOVE_RESPONSE": "PLAY_RESPONSE",
    "MOVE_VALIDATION": "PLAY_VALIDATION",
}
"""Other type names in the flow of seed 001 -> those of its messages; accepted, never sent."""


def check_v1_envelope(message: Mapping[str, Any]) -> str:
    """Check the envelope of a `league.v1` message and return its canonical type; raises Refusal."""
    check_required_fields(message, PROTOCOL_V1, V1_REQUIRED_FIELDS)
    for name in V1_REQUIRED_FIELDS:
        if name != "round_id" and not isinstance(message[name], str):
            raise wrong_type_refusal(name, "a string", message[name])
    round_id = message["round_id"]
    if not isinstance(round_id, int) or isinstance(round_id, bool) or round_id < 0:
        raise wrong_type_refusal("round_id", "an integer from 0 on", round_id)
    message_type: str = TYPE_OF_OTHER_NAME.get(message["message_type"], message["message_type"])
    if message_type not in MESSAGES:
        raise wrong_type_refusal("message_type", f"one of {', '.join(MESSAGES)}", message_type)
    for name in UUID_FIELDS:
        if not UUID_PATTERN.fullmatch(message[name]):
            raise wrong_type_refusal(name, "a UUID such as 550e8400-e29b-41d4-a716-446655440000", message[name])
    if not SENDER_PATTERN.fullmatch(message["sender"]):
        raise wrong_type_refusal("sender", "'league_manager', 'referee' or 'player_ID'", message["sender"])
    check_timestamp(message["timestamp"], "timestamp")
    return message_type


def check_v1_message(message: Mapping[str, Any], message_type: str) -> None:
    """Check the envelope of a message and that its type has exactly this name; raises Refusal."""
    check_v1_envelope(message)
    if message["message_type"] != message_type:
        raise wrong_type_refusal("message_type", repr(message_type), message["message_type"])
