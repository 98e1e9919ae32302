"""A referee's messages to a player in `league.v2`."""

from collections.abc import Mapping
from typing import Any

import orjson

from agent_league.agent.peer_client import Call
from agent_league.clock import format_utc, later
from agent_league.games.base import Move
from agent_league.games.game_messages import PlainWire, Wire
from agent_league.log import redacted
from agent_league.model.results import MatchState
from agent_league.protocol import v2
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.protocol.v2.game import GameResult
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.match import Verdict
from agent_league.referee.messages import Mishap, Setting

LONGEST_SENTENCE = 500
"""Characters; the text may quote what the player sent."""


class WordsV2:
    """Writes the messages of one match to one of its players."""

    protocol = PROTOCOL_V2
    in_turn = False
    has_tokens = True

    def __init__(self, setting: Setting, player: MatchPlayer) -> None:
        self._setting = setting
        self._order = setting.order
        self._match = setting.match
        self._player_id = player.player_id
        self.wire = setting.wire_for(player)
        self._standings = player.standings.model_dump()
        self._token = setting.pass_for(player) or ""
        self._sender = f"referee:{setting.referee_id}"

    def expected(self) -> Mapping[str, Any]:
        return {
            "sender": f"player:{self._player_id}",
            "conversation_id": self._order.conversation_id,
            "match_id": self._match.match_id,
            "player_id": self._player_id,
        }

    def invitation(self, limit: float) -> Call:
        match = self._match
        message = v2.GameInvitation.wire(
            **self._head(),
            game_type=match.game.game_type,
            role_in_match=match.role(self._player_id),
            opponent_id=match.opponent(self._player_id),
            draw_commitment=self._setting.draw_commitment,
            game_parameters=dict(match.game.parameters),
        )
        return Call("handle_game_invitation", message, v2.GameJoinAck.TYPE)

    def game_start(self, limit: float) -> Call | None:
        return None

    def question(self, limit: float) -> Call:
        match, wire = self._match, self.wire
        own = wire.question(
            match.game.game_type,
            match.view(self._player_id),
            match.options(self._player_id),
            match.step,
            match.role(self._player_id),
        )
        is_ours = _is_ours(wire, own)
        if own and is_ours:
            own = orjson.loads(orjson.dumps(own))  # a copy: the game may change its objects later
        fields = {
            **self._head(),
            "player_id": self._player_id,
            "game_type": match.game.game_type,
            "context": {
                "opponent_id": match.opponent(self._player_id),
                "round_id": self._order.round_id,
                "your_standings": self._standings,
                "draw_commitment": self._setting.draw_commitment,
            },
            **own,
            "deadline": later(self._setting.clock.now(), limit),
        }
        message = wire.call.wire(**fields) if is_ours else wire.call.write(**fields).to_wire()
        return Call(wire.method, message, wire.answer.TYPE)

    def validation(self, author: str, move: Move) -> Call | None:
        return None

    def mishap(self, mishap: Mishap) -> Call:
        next_try = mishap.next_try
        next_retry_at = None if next_try is None else later(self._setting.clock.now(), next_try)
        lost = "Technical loss: no attempt is left"
        retries: dict[str, Any] = {"retry_count": mishap.attempt, "max_retries": mishap.max_attempts}
        message = v2.GameError.write(
            **self._envelope(),
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=self._match.match_id,
            error_code=mishap.code.value,
            error_name=mishap.code.name,
            error_description=mishap.code.name,
            message=redacted(mishap.sentence[:LONGEST_SENTENCE]),
            affected_player=self._player_id,
            player_id=self._player_id,
            action_required=mishap.action_required,
            game_state=str(_asking_state(mishap.action_required)),
            retryable=next_try is not None,
            retry_info={**retries, "next_retry_at": next_retry_at},
            **retries,
            consequence=lost if next_try is None else "Technical loss if no valid answer comes after retries",
        )
        return Call("notify_game_error", message.to_wire())

    def opponent_mishap(self, author: str, mishap: Mishap) -> Call | None:
        return None

    def game_over(self, verdict: Verdict, draw_seed: str) -> Call:
        match = self._match
        result = GameResult.model_validate(
            {
                "status": verdict.outcome.value,
                "winner_player_id": verdict.winner,
                **match.game.result(match.position, match.moves, match.players),
                "reason": verdict.reason,
            }
        )
        message = v2.GameOver.wire(
            **self._head(),
            game_type=match.game.game_type,
            game_result=result.model_dump(exclude_unset=True),
            draw_seed=draw_seed,
        )
        return Call("notify_match_result", message)

    def _head(self) -> dict[str, Any]:
        """Return the first fields of every message but GAME_ERROR: envelope, token and ids."""
        return {
            **self._envelope(),
            "auth_token": self._token,
            "league_id": self._order.league_id,
            "round_id": self._order.round_id,
            "match_id": self._match.match_id,
        }

    def _envelope(self) -> dict[str, Any]:
        return {
            "sender": self._sender,
            "timestamp": format_utc(self._setting.clock.now()),
            "conversation_id": self._order.conversation_id,
        }


def _is_ours(wire: Wire, own: Mapping[str, Any]) -> bool:
    """Whether a move request has our own fields alone, so that it needs no validation."""
    if wire.call is v2.ChooseParityCall:
        return not own
    return wire.call is v2.GameMoveCall and type(wire).question is PlainWire.question


def _asking_state(action_required: str) -> MatchState:
    joining = action_required == v2.GameJoinAck.TYPE
    return MatchState.WAITING_FOR_PLAYERS if joining else MatchState.COLLECTING_CHOICES
