"""Find out why agents of ours would refuse a manager's notice."""

from collections.abc import Mapping
from typing import Any

from agent_league.check.scripted_agents import MANAGER_SENDER, format_now
from agent_league.errors import Refusal
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.foreign_messages import KnownFacts, complete_message
from agent_league.protocol.version import PROTOCOL_V2

NOTICE_MODELS: Mapping[str, type[Message]] = {
    model.TYPE: model for model in (v2.RoundAnnouncement, v2.StartMatch, v2.LeagueCompleted)
}


def find_notice_problem(
    kind: str, came: Mapping[str, Any], name: str, player_id: str, league_id: str, *, has_key: bool
) -> str | None:
    """Return why an agent of ours refuses a notice with this field as it came and a right envelope; None if it doesn't.

    Missing fields are completed only for a manager without a public key: one with a key counts as one of ours.
    """
    right = {
        "protocol": PROTOCOL_V2,
        "message_type": kind,
        "sender": MANAGER_SENDER,
        "timestamp": format_now(),
        "conversation_id": "conv-notice",
        "league_id": league_id,
    }
    message = {**came, **right}
    if name in came:
        message[name] = came[name]
    else:
        message.pop(name, None)
    if not has_key:
        message, _ = complete_message(
            kind, message, KnownFacts(format_now(), MANAGER_SENDER, player_id, league_id, round_id=1)
        )
    try:
        check_envelope(message, kind)
        parse_fields(NOTICE_MODELS[kind], message)
    except Refusal as refusal:
        return refusal.message
    return None
