"""Translates requests from `league.v1` to `league.v2` and replies back, so that handlers only know v2.

A player still sees ids in their v1 form (`player_001`), the manager its own (P01). Fields that v1 doesn't have are left
out, never guessed: no tokens, no points other than wins, no game type in a result.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from agent_league.clock import parse_utc
from agent_league.model.agents import Role
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import parse_fields, wrong_type_refusal
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v1 import ids
from agent_league.protocol.v1.checks import check_v1_envelope
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.messages import Result
from agent_league.protocol.v2.registration import LOOK_FIELDS
from agent_league.protocol.version import PROTOCOL_V2

ROLE_OF_V1_ROLE = {"challenger": "PLAYER_A", "defender": "PLAYER_B"}
STATUS_OF_OUTCOME = {"WIN": "WIN", "DRAW": "DRAW", "FORFEIT": "TECHNICAL_LOSS"}
NEAREST_V1_REASON = {"League full": "Registration closed"}
"""Reasons that v1 doesn't have -> the nearest one that it has."""
DEFAULT_REASONING = "Choice of the player's strategy"
METHOD_OF_REQUEST = {method.request: name for name, method in METHODS.items()}

MessageFields = dict[str, Any]


class TranslatedCall(NamedTuple):
    """The v2 method and message of a v1 message; `method` None if it is only acknowledged."""

    method: str | None
    params: MessageFields


def translate_to_v2(message: Mapping[str, Any], role: Role) -> TranslatedCall:
    """Translate a v1 message to the call of an agent of this role; raises Refusal."""
    message_type = check_v1_envelope(message)
    known = _REQUEST_TRANSLATORS.get(role, {})
    if message_type not in known:
        raise wrong_type_refusal("message_type", f"{' or '.join(known) or 'one of league.v2'} here", message_type)
    translate = known[message_type]
    if translate is None:
        return TranslatedCall(None, {})
    kind, own = translate(message)
    params = {
        "protocol": PROTOCOL_V2,
        "message_type": kind.TYPE,
        "sender": _translate_sender(message["sender"], role),
        "timestamp": message["timestamp"],
        "conversation_id": message["conversation_id"],
        "league_id": message["league_id"],
        "round_id": message["round_id"],
        "match_id": message["match_id"],
        **own,
    }
    return TranslatedCall(METHOD_OF_REQUEST[kind], params)


def translate_reply_to_v1(reply: Any, request: Mapping[str, Any], now: datetime) -> Any:
    """Translate a reply to a v1 request; replies that v1 has no message for (a status, an error) are unchanged.

    The timestamp is `now`, because v2 timestamps have no milliseconds. The manager's reply names its own league, which
    an applicant can't know; other replies name the request's.
    """
    write = _REPLY_TRANSLATORS.get(str(reply.get("message_type"))) if isinstance(reply, Mapping) else None
    if write is None:
        return reply
    kind, own = write(reply)
    return kind.write(
        league_id=reply.get("league_uuid") or ids.derive_league_uuid(reply.get("league_id") or request["league_id"]),
        round_id=request["round_id"],
        match_id=request["match_id"],
        conversation_id=request["conversation_id"],
        timestamp=format_millis(now),
        **own,
    ).to_wire()


def translate_registration_to_v1(
    request: Mapping[str, Any], name: str, now: datetime, league_id: str, conversation_id: str
) -> v1.LeagueRegisterRequest:
    """Translate a player's registration to v1; `name` is the last part of its v1 address, the ids are UUIDs."""
    meta = request["player_meta"]
    return v1.LeagueRegisterRequest.write(
        league_id=league_id,
        round_id=0,
        conversation_id=conversation_id,
        sender=ids.CANDIDATE_SENDER,
        timestamp=format_millis(now),
        player_meta={
            "display_name": meta["display_name"],
            "version": meta["version"],
            "game_types": meta["game_types"],
            "contact_endpoint": ids.format_v1_endpoint(meta["contact_endpoint"], name),
            **{told: meta[told] for told in LOOK_FIELDS if told in meta},
        },
    )


def _translate_sender(sender: str, role: Role) -> str:
    if sender == Role.LEAGUE_MANAGER:
        return sender
    if sender == Role.REFEREE:
        return f"{sender}:{sender}"
    player_id = sender if role is Role.PLAYER else ids.from_v1_player_id(sender).removeprefix(ids.PLAYER_PREFIX)
    return f"{Role.PLAYER}:{player_id}"


V2Request = tuple[type[Message], MessageFields]


def _translate_invitation(message: Mapping[str, Any]) -> V2Request:
    info = parse_fields(v1.GameInvitation, message).game_info
    return v2.GameInvitation, {
        "game_type": info.game_type,
        "role_in_match": ROLE_OF_V1_ROLE[info.your_role],
        "opponent_id": info.opponent_id,
    }


def _translate_play_request(message: Mapping[str, Any]) -> V2Request:
    """CHOOSE_PARITY_CALL as in seed 001, or GAME_MOVE_CALL if the state of the game lists the legal moves."""
    state = parse_fields(v1.PlayRequest, message).game_state
    special = state.game_specific_state
    game_type = special.game_type or "even_odd"
    own = {"game_type": game_type, **_compute_deadline(message["timestamp"], state.timeout_seconds)}
    moves = {"valid_options": special.valid_options, "move_schema": special.move_schema}
    told = {name: value for name, value in moves.items() if value is not None}
    if not told:
        return v2.ChooseParityCall, own
    request = {
        "move_type": game_type,
        **told,
        "context": special.view,
        "step": state.turn_number - 1,
        "your_role": ROLE_OF_V1_ROLE[special.your_role or "challenger"],
    }
    return v2.GameMoveCall, {**own, "move_request": request}


def _compute_deadline(timestamp: str, seconds: float | None) -> MessageFields:
    """The deadline that follows from v1's time limit; {} if it has none or overflows."""
    sent = parse_utc(timestamp)
    if sent is None or seconds is None or not seconds > 0:
        return {}
    try:
        return {"deadline": format_millis(sent + timedelta(seconds=seconds))}
    except OverflowError:
        return {}


def _translate_game_result(message: Mapping[str, Any]) -> V2Request:
    result = _parse_result(message)
    summary = result.game_summary
    return v2.GameOver, {
        "game_result": {
            "status": STATUS_OF_OUTCOME[result.outcome],
            "winner_player_id": result.winner,
            **({"loser_player_id": result.loser} if result.loser else {}),
            "drawn_number": summary.find_drawn_number(),
            "number_parity": summary.number_parity,
            "choices": summary.collect_choices(),
            "reason": summary.winner_reason,
        }
    }


def _translate_round_complete(message: Mapping[str, Any]) -> V2Request:
    played = parse_fields(v1.RoundComplete, message).round_summary.matches_played
    return v2.RoundCompletedNotice, {"matches_completed": played, "matches_played": played}


def _translate_league_complete(message: Mapping[str, Any]) -> V2Request:
    """Translate the final standings; wins become the points, since v1 counts nothing else."""
    final = parse_fields(v1.LeagueComplete, message).final_standings
    return v2.LeagueCompletedNotice, {
        "total_rounds": final.total_rounds,
        "total_matches": final.total_matches,
        "champion": {**final.champion.model_dump(), "points": final.champion.wins},
        "final_standings": [{**row.model_dump(), "points": row.wins} for row in final.rankings],
    }


def _translate_registration(message: Mapping[str, Any]) -> V2Request:
    """Translate a registration; drops its league id, since an applicant can't know ours.

    An address that can't be parsed is kept, so that the manager refuses it like any other bad one.
    """
    meta = parse_fields(v1.LeagueRegisterRequest, message).player_meta
    endpoint = meta.contact_endpoint
    with suppress(ValueError):
        endpoint = ids.parse_v1_endpoint(endpoint)
    own = {name: getattr(meta, name) for name in ("display_name", "version", "game_types")}
    own |= {name: value for name, value in (meta.model_extra or {}).items() if name in LOOK_FIELDS}
    params: dict[str, Any] = {"league_id": None, "player_meta": {**own, "contact_endpoint": endpoint}}
    if wanted := ids.find_wanted_id(meta.contact_endpoint):
        params["sender"] = f"{Role.PLAYER}:{wanted}"
    return v2.LeagueRegisterRequest, params


def _translate_result_report(message: Mapping[str, Any]) -> V2Request:
    """Translate a referee's report; extra fields of the result, which our own referees add, are passed on."""
    result = _parse_result(message)
    summary = result.game_summary
    return v2.MatchResultReport, {
        "result": {
            **(result.model_extra or {}),
            "winner": result.winner and ids.from_v1_player_id(result.winner),
            "score": {},
            "details": {
                "drawn_number": summary.find_drawn_number(),
                "choices": {
                    ids.from_v1_player_id(player): choice for player, choice in summary.collect_choices().items()
                },
            },
            "status": STATUS_OF_OUTCOME[result.outcome],
            "reason": summary.winner_reason,
        }
    }


def _parse_result(message: Mapping[str, Any]) -> Result:
    """Parse a result; accepts TIE, as the rules in seed 001 call a draw. Raises Refusal."""
    told = message.get("result")
    if isinstance(told, Mapping) and told.get("outcome") == "TIE":
        message = {**message, "result": {**told, "outcome": "DRAW"}}
    result = parse_fields(v1.GameResult, message).result
    if result.outcome == "WIN" and result.winner is None:
        raise wrong_type_refusal("result.winner", "the winner's id where 'result.outcome' is 'WIN'", None)
    return result


_REQUEST_TRANSLATORS: Mapping[Role, Mapping[str, Callable[[Mapping[str, Any]], V2Request] | None]] = {
    Role.PLAYER: {
        "GAME_INVITATION": _translate_invitation,
        "PLAY_REQUEST": _translate_play_request,
        "GAME_RESULT": _translate_game_result,
        "ROUND_COMPLETE": _translate_round_complete,
        "LEAGUE_COMPLETE": _translate_league_complete,
        "LEAGUE_START_ANNOUNCEMENT": None,
        "GAME_START": None,
        "PLAY_VALIDATION": None,
    },
    Role.LEAGUE_MANAGER: {"LEAGUE_REGISTER_REQUEST": _translate_registration, "GAME_RESULT": _translate_result_report},
}

V1Reply = tuple[type[v1.V1Message], MessageFields]


def _translate_join_answer(reply: Mapping[str, Any]) -> V1Reply:
    status = "READY" if reply["accept"] else "DECLINED"
    return v1.GameInvitationResponse, {"sender": ids.to_v1_player_id(reply["player_id"]), "status": status}


def _translate_move(reply: Mapping[str, Any]) -> V1Reply:
    value = reply["parity_choice"] if "parity_choice" in reply else reply["move_data"]
    play = {"action": "choose", "value": value, "reasoning": DEFAULT_REASONING}
    return v1.PlayResponse, {"sender": ids.to_v1_player_id(reply["player_id"]), "play": play}


def _translate_registration_answer(reply: Mapping[str, Any]) -> V1Reply:
    player_id, reason = reply.get("player_id"), reply.get("reason")
    own = {
        "sender": str(Role.LEAGUE_MANAGER),
        "status": reply["status"],
        "player_id": player_id and ids.to_v1_player_id(player_id),
        "reason": NEAREST_V1_REASON.get(reason, reason) if reason else None,
    }
    return v1.LeagueRegisterResponse, own


_REPLY_TRANSLATORS: Mapping[str, Callable[[Mapping[str, Any]], V1Reply]] = {
    "GAME_JOIN_ACK": _translate_join_answer,
    "CHOOSE_PARITY_RESPONSE": _translate_move,
    "GAME_MOVE_RESPONSE": _translate_move,
    "LEAGUE_REGISTER_RESPONSE": _translate_registration_answer,
}
