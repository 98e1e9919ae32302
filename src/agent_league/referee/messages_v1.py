"""A referee's messages to a player in `league.v1`: player A is the challenger, and is asked first."""

import re
from collections.abc import Mapping
from typing import Any

from agent_league.agent.peer_client import PeerCall
from agent_league.errors import ErrorCode
from agent_league.games.base import Move, has_public_moves
from agent_league.games.game_messages import legal_move_fields
from agent_league.model.results import Outcome
from agent_league.protocol import v1, v2
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import derive_conversation_uuid, to_v1_player_id
from agent_league.protocol.v1.messages import build_game_summary, format_seconds
from agent_league.protocol.v2.match import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match, MatchVerdict
from agent_league.referee.messages import FailedAttempt, MatchContext
from agent_league.text import redact_tokens

V1_SENDER = "referee"
V1_ROLES = {"PLAYER_A": "challenger", "PLAYER_B": "defender"}
V1_OUTCOMES = {Outcome.WIN: "WIN", Outcome.DRAW: "DRAW", Outcome.TECHNICAL_LOSS: "FORFEIT"}
MAX_PLAY_LENGTH = 500
"""Longest invalid play, in characters, that is repeated to its player."""
PLAYER_ID_PATTERN = re.compile(r"[\w.-]+")
EVEN_ODD_CALL = v2.ChooseParityCall
"""The call of the game of seed 001; other games put what they need beside it into `game_specific_state`."""


class PlayerMessagesV1:
    """Writes the messages of one match to one of its players."""

    protocol = PROTOCOL_V1
    asks_in_turn = True
    has_tokens = False

    def __init__(self, context: MatchContext, player: MatchPlayer) -> None:
        self._context = context
        self._match = context.match
        self._player_id = player.player_id
        self.wire = context.wire_for(player)

    def expected_fields(self) -> Mapping[str, Any]:
        return {
            "sender": to_v1_player_id(self._player_id),
            "conversation_id": _get_v1_conversation(self._context),
            "match_id": self._match.match_id,
        }

    def write_invitation(self, limit: float) -> PeerCall:
        match = self._match
        info = {
            "game_type": match.game.game_type,
            "opponent_id": to_v1_player_id(match.opponent_of(self._player_id)),
            "your_role": V1_ROLES[match.role_of(self._player_id)],
            "timeout_seconds": format_seconds(limit),
        }
        return self._build_call(
            "handle_game_invitation", v1.GameInvitation, v1.GameInvitationResponse.TYPE, game_info=info
        )

    def write_game_start(self, limit: float) -> PeerCall | None:
        match = self._match
        state = {
            "game_type": match.game.game_type,
            "current_player": to_v1_player_id(match.players[0]),
            "rules": {"single_round": match.game.wire.call is EVEN_ODD_CALL, "timeout_per_move": format_seconds(limit)},
        }
        return self._build_call("GAME_START", v1.GameStart, game_state=state)

    def write_move_request(self, limit: float) -> PeerCall:
        match = self._match
        special: dict[str, Any] = {"previous_plays": self._list_visible_plays()}
        if self.wire.call is not EVEN_ODD_CALL:
            special |= {
                "game_type": match.game.game_type,
                **legal_move_fields(match.legal_moves(self._player_id)),
                "view": match.view_for(self._player_id),
                "your_role": V1_ROLES[match.role_of(self._player_id)],
            }
        state = {
            "turn_number": match.step + 1,
            "timeout_seconds": format_seconds(limit),
            "game_specific_state": special,
        }
        return self._build_call(self.wire.method, v1.PlayRequest, v1.PlayResponse.TYPE, game_state=state)

    def write_validation(self, author: str, move: Move) -> PeerCall | None:
        play = {"action": "choose", "value": move} if self._can_see_move(author) else None
        return self._write_play_validation(author, play, "VALID", None, "PLAY_VALIDATION")

    def write_failure(self, failure: FailedAttempt) -> PeerCall:
        play = failure.answer.get("play") if isinstance(failure.answer, dict) else None
        fits = isinstance(play, dict) and "value" in play and isinstance(play.get("action", ""), str)
        shown = (
            redact_tokens({"action": play.get("action", "choose"), "value": play["value"]}) if fits and play else None
        )
        shown = shown if len(str(shown)) <= MAX_PLAY_LENGTH else None
        return self._write_play_validation(
            self._player_id, shown, "INVALID", _choose_v1_reason(failure), "notify_game_error"
        )

    def write_opponent_failure(self, author: str, failure: FailedAttempt) -> PeerCall | None:
        """Tell this player of the opponent's invalid play, without the choice itself."""
        play = {"action": "choose", "value": None}
        return self._write_play_validation(author, play, "INVALID", _choose_v1_reason(failure), "notify_game_error")

    def write_game_over(self, verdict: MatchVerdict, draw_seed: str) -> PeerCall:
        return self._build_call("notify_match_result", v1.GameResult, result=write_v1_result(self._match, verdict))

    def _can_see_move(self, author: str) -> bool:
        return author == self._player_id or has_public_moves(self._match.game.rules)

    def _list_visible_plays(self) -> list[dict[str, Any]]:
        """List the plays of earlier steps that this player may see."""
        return [
            {"turn": at, "player_id": to_v1_player_id(player), "value": move}
            for at, step in enumerate(self._match.moves, start=1)
            for player, move in step.items()
            if self._can_see_move(player)
        ]

    def _write_play_validation(self, author: str, play: Any, status: str, error: str | None, method: str) -> PeerCall:
        told = {"player_id": to_v1_player_id(author), "play": play, "status": status, "error": error}
        return self._build_call(method, v1.PlayValidation, validation=told)

    def _build_call(self, method: str, kind: type[v1.V1Message], answer: str | None = None, **own: Any) -> PeerCall:
        return PeerCall(method, write_v1_message(self._context, kind, **own), answer)


def write_v1_message(context: MatchContext, kind: type[v1.V1Message], **own: Any) -> dict[str, Any]:
    """Write a message of a match with its envelope."""
    return kind.write(
        league_id=context.league_uuid,
        round_id=context.order.round_id,
        match_id=context.match.match_id,
        conversation_id=_get_v1_conversation(context),
        sender=V1_SENDER,
        timestamp=format_millis(context.clock.now()),
        **own,
    ).to_wire()


def _get_v1_conversation(context: MatchContext) -> str:
    return make_v1_conversation_id(context.order.league_uuid or context.order.league_id, context.order.conversation_id)


def make_v1_conversation_id(league_id: str, conversation_id: str) -> str:
    """Derive the conversation id of a match; `league_id` is the league's UUID or, without one, its id."""
    return derive_conversation_uuid(f"{league_id}/{conversation_id}")


def write_v1_result(match: Match, verdict: MatchVerdict) -> dict[str, Any]:
    """Write the `result` of GAME_RESULT."""
    told = match.game.result_fields(match.position, match.moves, match.players)
    loser = match.opponent_of(verdict.winner) if verdict.winner else None
    return {
        "winner": verdict.winner and to_v1_player_id(verdict.winner),
        "loser": loser and to_v1_player_id(loser),
        "outcome": V1_OUTCOMES[verdict.outcome],
        "game_summary": build_game_summary(
            [{to_v1_player_id(player): move for player, move in step.items()} for step in match.moves],
            number=told.get("drawn_number"),
            number_parity=told.get("number_parity"),
            winner=verdict.winner and to_v1_player_id(verdict.winner),
            reason=_translate_player_ids(match, verdict.reason),
        ),
    }


def _choose_v1_reason(failure: FailedAttempt) -> str:
    """Choose the nearest of the four reasons in seed 001."""
    if failure.code is ErrorCode.TIMEOUT_ERROR or failure.code is ErrorCode.CONNECTION_ERROR:
        return "Timeout exceeded"
    if failure.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE):
        return "Choice not in allowed values"
    return "Invalid choice format" if isinstance(failure.answer, dict) else "Malformed JSON"


def _translate_player_ids(match: Match, sentence: str) -> str:
    return PLAYER_ID_PATTERN.sub(
        lambda found: to_v1_player_id(found[0]) if found[0] in match.players else found[0], sentence
    )
