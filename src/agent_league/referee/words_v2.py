"""What a referee says to a player in `league.v2`."""

from collections.abc import Mapping
from typing import Any

from agent_league.clock import format_utc, later
from agent_league.games.base import Move
from agent_league.log import redacted
from agent_league.model.results import MatchState
from agent_league.protocol import v2
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.dialect import Mishap, Setting
from agent_league.referee.match import Verdict
from agent_league.transport.manners import Call

LONGEST_SENTENCE = 500
"""A peer's own words may be part of what we say of its failure."""


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

    def expected(self) -> Mapping[str, Any]:
        return {
            "sender": f"player:{self._player_id}",
            "conversation_id": self._order.conversation_id,
            "match_id": self._match.match_id,
            "player_id": self._player_id,
        }

    def invitation(self, limit: float) -> Call:
        match = self._match
        message = v2.GameInvitation.write(
            **self._envelope(),
            auth_token=self._token,
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            role_in_match=match.role(self._player_id),
            opponent_id=match.opponent(self._player_id),
            draw_commitment=self._setting.draw_commitment,
            game_parameters=dict(match.game.parameters),
        )
        return Call("handle_game_invitation", message.to_wire(), v2.GameJoinAck.TYPE)

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
        message = wire.call.write(
            **self._envelope(),
            auth_token=self._token,
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            player_id=self._player_id,
            game_type=match.game.game_type,
            context={
                "opponent_id": match.opponent(self._player_id),
                "round_id": self._order.round_id,
                "your_standings": self._standings,
                "draw_commitment": self._setting.draw_commitment,
            },
            deadline=later(self._setting.clock.now(), limit),
            **own,
        )
        return Call(wire.method, message.to_wire(), wire.answer.TYPE)

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

    def game_over(self, verdict: Verdict, draw_seed: str) -> Call:
        match = self._match
        message = v2.GameOver.write(
            **self._envelope(),
            auth_token=self._token,
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            game_result={
                "status": str(verdict.outcome),
                "winner_player_id": verdict.winner,
                **match.game.result(match.position, match.moves, match.players),
                "reason": verdict.reason,
            },
            draw_seed=draw_seed,
        )
        return Call("notify_match_result", message.to_wire())

    def _envelope(self) -> dict[str, Any]:
        return {
            "sender": f"referee:{self._setting.referee_id}",
            "timestamp": format_utc(self._setting.clock.now()),
            "conversation_id": self._order.conversation_id,
        }


def _asking_state(action_required: str) -> MatchState:
    joining = action_required == v2.GameJoinAck.TYPE
    return MatchState.WAITING_FOR_PLAYERS if joining else MatchState.COLLECTING_CHOICES
