"""A referee's messages to one player: the interface, and those of our own protocol.

`agent.dialects` has those of other protocols; the match itself knows none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

import orjson

from agent_league.agent.answers import FailedAttempt
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.peer_client import PeerCall
from agent_league.clock import Clock, format_utc, format_utc_after
from agent_league.games.base import Move
from agent_league.games.game_messages import PlainWire, Wire
from agent_league.games.repeated import RepeatedRules
from agent_league.model.results import MatchState, MatchVerdict
from agent_league.protocol import v2
from agent_league.protocol.v2.match import GameResult, MatchPlayer
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.referee.match import Match
from agent_league.text import MAX_SENTENCE, redact_tokens, shorten

PLAIN_WIRE = PlainWire()


@dataclass(frozen=True, slots=True)
class MatchContext:
    """The match, and all else that its messages are written from."""

    order: v2.StartMatch
    match: Match
    referee_id: str
    clock: Clock
    draw_commitment: str
    _game_results: dict[MatchVerdict, dict[str, Any]] = field(default_factory=dict)
    """What GAME_OVER says of the game, by verdict: the same to both players."""

    def match_token_for(self, player: MatchPlayer) -> str | None:
        """Return the match token that we show to a player: its own, or the one for both players."""
        return player.match_token or self.order.match_token

    def build_game_result(self, verdict: MatchVerdict) -> dict[str, Any]:
        """Build the `game_result` of a match that is over; written once for both players, so nobody may change it."""
        match = self.match
        if (known := self._game_results.get(verdict)) is None:
            result = GameResult.model_validate(
                {
                    "status": verdict.outcome.value,
                    "winner_player_id": verdict.winner,
                    **match.game.result_fields(match.position, match.moves, match.players),
                    "reason": verdict.reason,
                }
            )
            known = self._game_results[verdict] = result.model_dump(exclude_unset=True)
        return known

    def wire_for(self, player: MatchPlayer) -> Wire:
        """Return the wire that asks a player for moves: the game's own, or the plain one if the player wants that."""
        return PLAIN_WIRE if player.move_method == PLAIN_WIRE.method else self.match.game.wire


class PlayerMessages(Protocol):
    """Writes a referee's messages to one player; None: the player's protocol has no such message."""

    protocol: str
    wire: Wire
    """The messages that ask the player for a move."""

    def expected_fields(self) -> Mapping[str, Any]:
        """Return the values that the player's answers should carry, such as sender and match id."""
        ...

    def write_invitation(self, limit: float) -> PeerCall: ...
    def write_game_start(self, limit: float) -> PeerCall | None: ...
    def write_move_request(self, limit: float) -> PeerCall: ...
    def write_short_move_request(self, limit: float, since: int) -> PeerCall | None:
        """Write a question that leaves out the first `since` rounds of a repeated game."""
        ...

    def write_validation(self, author: str, move: Move) -> PeerCall | None: ...
    def write_failure(self, failure: FailedAttempt) -> PeerCall: ...
    def write_opponent_failure(self, author: str, failure: FailedAttempt) -> PeerCall | None: ...
    def write_game_over(self, verdict: MatchVerdict, draw_seed: str) -> PeerCall: ...


def select_messages(context: MatchContext, player: MatchPlayer) -> PlayerMessages:
    """Choose what writes the messages in a player's protocol."""
    dialect, wire = match_dialect_of(player.protocol), context.wire_for(player)
    foreign = dialect.make_messages(context.match, context.order, context.clock, player.player_id, wire)
    return foreign or CanonicalMessages(context, player)


class CanonicalMessages:
    """Writes the messages of one match to one of its players in our own protocol."""

    protocol = CURRENT_PROTOCOL

    def __init__(self, context: MatchContext, player: MatchPlayer) -> None:
        self._context = context
        self._order = context.order
        self._match = context.match
        self._player_id = player.player_id
        self._opponent_id = context.match.opponent_of(player.player_id)
        self._role = context.match.role_of(player.player_id)
        self._seat = context.match.players.index(player.player_id)
        self.wire = context.wire_for(player)
        self._has_plain_question = self.wire.call is v2.GameMoveCall and type(self.wire).question is PlainWire.question
        """Whether a move request has our own fields alone, so that it needs no validation."""
        self._standings = player.standings.model_dump()
        self._match_header = {
            "sender": f"referee:{context.referee_id}",
            "timestamp": "",
            "conversation_id": context.order.conversation_id,
            "auth_token": context.match_token_for(player) or "",
            "league_id": context.order.league_id,
            "round_id": context.order.round_id,
            "match_id": context.match.match_id,
        }
        """The first fields of every message, but for the time; GAME_ERROR has no token."""

    def expected_fields(self) -> Mapping[str, Any]:
        return {
            "sender": f"player:{self._player_id}",
            "conversation_id": self._order.conversation_id,
            "match_id": self._match.match_id,
            "player_id": self._player_id,
        }

    def write_invitation(self, limit: float) -> PeerCall:
        match = self._match
        message = v2.GameInvitation.build_wire(
            **self._build_match_header(),
            game_type=match.game.game_type,
            role_in_match=self._role,
            opponent_id=self._opponent_id,
            draw_commitment=self._context.draw_commitment,
            game_parameters=dict(match.game.parameters),
        )
        return PeerCall("handle_game_invitation", message, v2.GameJoinAck.TYPE)

    def write_game_start(self, limit: float) -> PeerCall | None:
        return None

    def write_move_request(self, limit: float) -> PeerCall:
        return self._write_question(limit, self._match.game.rules.view(self._match.position, self._seat))

    def write_short_move_request(self, limit: float, since: int) -> PeerCall | None:
        rules = self._match.game.rules
        if not self._has_plain_question or not isinstance(rules, RepeatedRules):
            return None
        view = rules.view_since(self._match.position, self._seat, since)
        return self._write_question(limit, view, rounds_since=since)

    def _write_question(self, limit: float, view: Any, **context: Any) -> PeerCall:
        """Write the question for a move; `context` has further fields of the message's own context."""
        match, wire, now = self._match, self.wire, self._context.clock.now()
        own = wire.question(
            match.game.game_type,
            view,
            match.legal_moves[self._player_id],
            match.step,
            self._role,
        )
        if self._has_plain_question:
            own = orjson.loads(orjson.dumps(own))  # a copy: the game may change its objects later
        fields = {
            **self._match_header,
            "timestamp": format_utc(now),
            "player_id": self._player_id,
            "game_type": match.game.game_type,
            "context": {
                "opponent_id": self._opponent_id,
                "round_id": self._order.round_id,
                "your_standings": self._standings,
                "draw_commitment": self._context.draw_commitment,
                **context,
            },
            **own,
            "deadline": format_utc(now + timedelta(seconds=limit)),
        }
        is_ours = self._has_plain_question or (wire.call is v2.ChooseParityCall and not own)
        message = wire.call.build_wire(**fields) if is_ours else wire.call.write(**fields).to_wire()
        return PeerCall(wire.method, message, wire.answer.TYPE)

    def write_validation(self, author: str, move: Move) -> PeerCall | None:
        return None

    def write_failure(self, failure: FailedAttempt) -> PeerCall:
        next_try = failure.retry_after_sec
        next_retry_at = None if next_try is None else format_utc_after(self._context.clock.now(), next_try)
        lost = "Technical loss: no attempt is left"
        retries: dict[str, Any] = {"retry_count": failure.attempt, "max_retries": failure.max_attempts}
        header = {name: value for name, value in self._build_match_header().items() if name != "auth_token"}
        message = v2.GameError.write(
            **header,
            error_code=failure.code.value,
            error_name=failure.code.name,
            error_description=failure.code.name,
            message=shorten(redact_tokens(failure.sentence), MAX_SENTENCE),
            affected_player=self._player_id,
            player_id=self._player_id,
            action_required=failure.action_required,
            game_state=str(_find_asking_state(failure.action_required)),
            retryable=next_try is not None,
            retry_info={**retries, "next_retry_at": next_retry_at},
            **retries,
            consequence=lost if next_try is None else "Technical loss if no valid answer comes after retries",
        )
        return PeerCall("notify_game_error", message.to_wire())

    def write_opponent_failure(self, author: str, failure: FailedAttempt) -> PeerCall | None:
        return None

    def write_game_over(self, verdict: MatchVerdict, draw_seed: str) -> PeerCall:
        message = v2.GameOver.build_wire(
            **self._build_match_header(),
            game_type=self._match.game.game_type,
            game_result=self._context.build_game_result(verdict),
            draw_seed=draw_seed,
        )
        return PeerCall("notify_match_result", message)

    def _build_match_header(self) -> dict[str, Any]:
        return {**self._match_header, "timestamp": format_utc(self._context.clock.now())}


def _find_asking_state(action_required: str) -> MatchState:
    joining = action_required == v2.GameJoinAck.TYPE
    return MatchState.WAITING_FOR_PLAYERS if joining else MatchState.COLLECTING_CHOICES
