"""A referee's messages to a player in `league.v1`: player A is the challenger, and is asked first."""

import re
from collections.abc import Mapping
from typing import Any

from agent_league.agent.peer_client import Call
from agent_league.errors import ErrorCode
from agent_league.games.base import Move, moves_are_public
from agent_league.games.game_messages import offered
from agent_league.log import redacted
from agent_league.model.results import Outcome
from agent_league.protocol import v1, v2
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.game import write_seconds, write_summary
from agent_league.protocol.v1.ids import conversation_uuid, player_id_v1
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Match, Verdict
from agent_league.referee.messages import Mishap, Setting

SENDER = "referee"
ROLES = {"PLAYER_A": "challenger", "PLAYER_B": "defender"}
OUTCOMES = {Outcome.WIN: "WIN", Outcome.DRAW: "DRAW", Outcome.TECHNICAL_LOSS: "FORFEIT"}
LONGEST_PLAY = 500
"""Longest invalid play, in characters, that is repeated to its player."""
PLAYER = re.compile(r"[\w.-]+")
FIRST_GAME = v2.ChooseParityCall
"""The call of the game of seed 001; other games put what they need beside it into `game_specific_state`."""


class WordsV1:
    """Writes the messages of one match to one of its players."""

    protocol = PROTOCOL_V1
    in_turn = True
    has_tokens = False

    def __init__(self, setting: Setting, player: MatchPlayer) -> None:
        self._setting = setting
        self._match = setting.match
        self._player_id = player.player_id
        self.wire = setting.wire_for(player)

    def expected(self) -> Mapping[str, Any]:
        return {
            "sender": player_id_v1(self._player_id),
            "conversation_id": _conversation(self._setting),
            "match_id": self._match.match_id,
        }

    def invitation(self, limit: float) -> Call:
        match = self._match
        info = {
            "game_type": match.game.game_type,
            "opponent_id": player_id_v1(match.opponent(self._player_id)),
            "your_role": ROLES[match.role(self._player_id)],
            "timeout_seconds": write_seconds(limit),
        }
        return self._call("handle_game_invitation", v1.GameInvitation, v1.GameInvitationResponse.TYPE, game_info=info)

    def game_start(self, limit: float) -> Call | None:
        match = self._match
        state = {
            "game_type": match.game.game_type,
            "current_player": player_id_v1(match.players[0]),
            "rules": {"single_round": match.game.wire.call is FIRST_GAME, "timeout_per_move": write_seconds(limit)},
        }
        return self._call("GAME_START", v1.GameStart, game_state=state)

    def question(self, limit: float) -> Call:
        match = self._match
        special: dict[str, Any] = {"previous_plays": self._plays()}
        if self.wire.call is not FIRST_GAME:
            special |= {
                "game_type": match.game.game_type,
                **offered(match.options(self._player_id)),
                "view": match.view(self._player_id),
                "your_role": ROLES[match.role(self._player_id)],
            }
        state = {
            "turn_number": match.step + 1,
            "timeout_seconds": write_seconds(limit),
            "game_specific_state": special,
        }
        return self._call(self.wire.method, v1.PlayRequest, v1.PlayResponse.TYPE, game_state=state)

    def validation(self, author: str, move: Move) -> Call | None:
        play = {"action": "choose", "value": move} if self._may_know(author) else None
        return self._validation(author, play, "VALID", None, "PLAY_VALIDATION")

    def mishap(self, mishap: Mishap) -> Call:
        play = mishap.answer.get("play") if isinstance(mishap.answer, dict) else None
        fits = isinstance(play, dict) and "value" in play and isinstance(play.get("action", ""), str)
        shown = redacted({"action": play.get("action", "choose"), "value": play["value"]}) if fits and play else None
        shown = shown if len(str(shown)) <= LONGEST_PLAY else None
        return self._validation(self._player_id, shown, "INVALID", _reason(mishap), "notify_game_error")

    def opponent_mishap(self, author: str, mishap: Mishap) -> Call | None:
        """Tell this player of the opponent's invalid play, without the choice itself."""
        play = {"action": "choose", "value": None}
        return self._validation(author, play, "INVALID", _reason(mishap), "notify_game_error")

    def game_over(self, verdict: Verdict, draw_seed: str) -> Call:
        return self._call("notify_match_result", v1.GameResult, result=result_v1(self._match, verdict))

    def _may_know(self, author: str) -> bool:
        return author == self._player_id or moves_are_public(self._match.game.rules)

    def _plays(self) -> list[dict[str, Any]]:
        """List the plays of earlier steps that this player may see."""
        return [
            {"turn": at, "player_id": player_id_v1(player), "value": move}
            for at, step in enumerate(self._match.moves, start=1)
            for player, move in step.items()
            if self._may_know(player)
        ]

    def _validation(self, author: str, play: Any, status: str, error: str | None, method: str) -> Call:
        told = {"player_id": player_id_v1(author), "play": play, "status": status, "error": error}
        return self._call(method, v1.PlayValidation, validation=told)

    def _call(self, method: str, kind: type[v1.V1Message], answer: str | None = None, **own: Any) -> Call:
        return Call(method, write_v1(self._setting, kind, **own), answer)


def write_v1(setting: Setting, kind: type[v1.V1Message], **own: Any) -> dict[str, Any]:
    """Write a message of a match with its envelope."""
    return kind.write(
        league_id=setting.league_uuid,
        round_id=setting.order.round_id,
        match_id=setting.match.match_id,
        conversation_id=_conversation(setting),
        sender=SENDER,
        timestamp=format_millis(setting.clock.now()),
        **own,
    ).to_wire()


def _conversation(setting: Setting) -> str:
    return conversation_v1(setting.order.league_uuid or setting.order.league_id, setting.order.conversation_id)


def conversation_v1(league_id: str, conversation_id: str) -> str:
    """Derive the conversation id of a match; `league_id` is the league's UUID or, without one, its id."""
    return conversation_uuid(f"{league_id}/{conversation_id}")


def result_v1(match: Match, verdict: Verdict) -> dict[str, Any]:
    """Write the `result` of GAME_RESULT."""
    told = match.game.result(match.position, match.moves, match.players)
    loser = match.opponent(verdict.winner) if verdict.winner else None
    return {
        "winner": verdict.winner and player_id_v1(verdict.winner),
        "loser": loser and player_id_v1(loser),
        "outcome": OUTCOMES[verdict.outcome],
        "game_summary": write_summary(
            [{player_id_v1(player): move for player, move in step.items()} for step in match.moves],
            number=told.get("drawn_number"),
            number_parity=told.get("number_parity"),
            winner=verdict.winner and player_id_v1(verdict.winner),
            reason=_translated(match, verdict.reason),
        ),
    }


def _reason(mishap: Mishap) -> str:
    """Choose the nearest of the four reasons in seed 001."""
    if mishap.code is ErrorCode.TIMEOUT_ERROR or mishap.code is ErrorCode.CONNECTION_ERROR:
        return "Timeout exceeded"
    if mishap.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE):
        return "Choice not in allowed values"
    return "Invalid choice format" if isinstance(mishap.answer, dict) else "Malformed JSON"


def _translated(match: Match, sentence: str) -> str:
    return PLAYER.sub(lambda found: player_id_v1(found[0]) if found[0] in match.players else found[0], sentence)
