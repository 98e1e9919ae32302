"""Find out why agents of ours would refuse a referee's messages, and what our manager records from a report."""

from collections.abc import Mapping
from typing import Any

from agent_league.check.questions import EVEN_ODD
from agent_league.check.scripted_agents import format_now
from agent_league.errors import Refusal
from agent_league.games.even_odd.details import find_winner
from agent_league.games.registry import load_game
from agent_league.league.reports import DerivedResult, build_match_result, correct_by_details, parse_reported_result
from agent_league.model.results import Outcome, Scoring
from agent_league.model.schedule import Pairing
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.foreign_messages import GAME_OVER, KnownFacts, complete_message
from agent_league.protocol.version import PROTOCOL_V2

MESSAGE_MODELS: Mapping[str, type[Message]] = {
    model.TYPE: model for model in (v2.GameInvitation, v2.ChooseParityCall, v2.GameOver, v2.MatchResultReport)
}
IDENTITY_FIELDS = ("sender", "league_id", "match_id")
"""Fields that must match the match token, or the manager's own records."""


def find_message_problem(
    kind: str, came: Mapping[str, Any], name: str, order: Mapping[str, Any], referee_id: str, own_name: str | None
) -> str | None:
    """Return why an agent of ours refuses a message with this field as it came; None if it accepts it.

    All other fields of the envelope get right values.
    """
    right = {
        "protocol": PROTOCOL_V2,
        "message_type": kind,
        "sender": f"referee:{referee_id}",
        "timestamp": format_now(),
        "conversation_id": order["conversation_id"],
        "league_id": order["league_id"],
        "match_id": order["match_id"],
    }
    message = {**came, **right}
    if name in came:
        message[name] = came[name]
    else:
        message.pop(name, None)
    if kind == GAME_OVER:
        message, _ = complete_message(
            kind, message, KnownFacts(format_now(), right["sender"], order["player_A_id"], order["league_id"])
        )
    try:
        check_envelope(message, kind)
        parse_fields(MESSAGE_MODELS[kind], message)
    except Refusal as refusal:
        return refusal.message
    is_own_name = name == "sender" and message.get(name) == f"referee:{own_name}"
    if name not in IDENTITY_FIELDS or message.get(name) in (None, right[name]) or is_own_name:
        return None
    return f"'{name}' must be {right[name]!r}"


def find_report_problem(report: Mapping[str, Any], order: Mapping[str, Any], winner: str | None) -> str | None:
    """Return why our manager records another result than this winner from a report; None if it records this one."""
    players = (str(order["player_A_id"]), str(order["player_B_id"]))
    game = load_game(EVEN_ODD)

    def decide(*told: Any) -> DerivedResult | None:
        found = find_winner(game.rules, *told)
        return DerivedResult(*found) if found else None

    settled, _ = correct_by_details(report, players, game.parameters, decide)
    try:
        reported = parse_reported_result(settled) if isinstance(settled.get("result"), dict) else None
        if reported is None:
            return "the report names no result, and its details show none"
        booked = build_match_result(Pairing(str(order["match_id"]), 1, *players), reported, Scoring())
    except Refusal as refusal:
        return refusal.message
    if (booked.outcome, booked.winner) == (Outcome.WIN if winner else Outcome.DRAW, winner):
        return None
    return f"it is booked as {booked.outcome}, winner {booked.winner!r}"
