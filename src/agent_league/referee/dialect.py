"""What a referee says in `league.v2`, and how it reads the answers."""

from collections.abc import Mapping
from typing import Any, TypeVar

from agent_league.clock import Clock, format_utc, later
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.games.base import Move
from agent_league.log import redacted
from agent_league.model.results import MatchState
from agent_league.protocol import v2
from agent_league.protocol.checks import check_timestamp, read_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.match import Match, Verdict

M = TypeVar("M", bound=Message)

FILLER = {"protocol": "", "message_type": "", "sender": "", "timestamp": "", "conversation_id": ""}
"""An answer belongs to the call it answers, so nothing in its envelope is needed to understand it."""

TIMESTAMPS = ("timestamp", "arrival_timestamp")
LONGEST_SENTENCE = 500
"""A peer's own words may be part of what we say of its failure."""


class MatchWords:
    """Writes the messages of one match."""

    def __init__(self, order: v2.StartMatch, referee_id: str, clock: Clock, draw_commitment: str) -> None:
        self._order = order
        self._referee_id = referee_id
        self._clock = clock
        self._draw_commitment = draw_commitment
        self._standings = {
            player.player_id: player.standings.model_dump() for player in (order.player_A, order.player_B)
        }
        self._passes = {player.player_id: self.pass_for(player) for player in (order.player_A, order.player_B)}

    def pass_for(self, player: MatchPlayer) -> str | None:
        """What vouches for us at this player; a manager that gives none for each gives one for both."""
        return player.match_token or self._order.match_token

    def invitation(self, match: Match, player_id: str) -> Message:
        return v2.GameInvitation.write(
            **self._envelope(),
            auth_token=self._passes.get(player_id) or "",
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            role_in_match=match.role(player_id),
            opponent_id=match.opponent(player_id),
            draw_commitment=self._draw_commitment,
            game_parameters=dict(match.game.parameters),
        )

    def question(self, match: Match, player_id: str, limit: float) -> Message:
        wire = match.game.wire
        own = wire.question(
            match.game.game_type,
            match.view(player_id),
            match.options(player_id),
            match.step,
            match.role(player_id),
        )
        return wire.call.write(
            **self._envelope(),
            auth_token=self._passes.get(player_id) or "",
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            player_id=player_id,
            game_type=match.game.game_type,
            context={
                "opponent_id": match.opponent(player_id),
                "round_id": self._order.round_id,
                "your_standings": self._standings[player_id],
                "draw_commitment": self._draw_commitment,
            },
            deadline=later(self._clock.now(), limit),
            **own,
        )

    def game_error(
        self,
        match: Match,
        player_id: str,
        *,
        code: ErrorCode,
        sentence: str,
        action_required: str,
        attempt: int,
        max_attempts: int,
        next_try: float | None,
    ) -> Message:
        """`next_try` is in so many seconds; None: there is none, the match is lost."""
        next_retry_at = None if next_try is None else later(self._clock.now(), next_try)
        lost = "Technical loss: no attempt is left"
        return v2.GameError.write(
            **self._envelope(),
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            error_code=code.value,
            error_name=code.name,
            error_description=code.name,
            message=redacted(sentence[:LONGEST_SENTENCE]),
            affected_player=player_id,
            player_id=player_id,
            action_required=action_required,
            game_state=str(self._asking_state(action_required)),
            retryable=next_try is not None,
            retry_info={"retry_count": attempt, "max_retries": max_attempts, "next_retry_at": next_retry_at},
            retry_count=attempt,
            max_retries=max_attempts,
            consequence=lost if next_try is None else "Technical loss if no valid answer comes after retries",
        )

    def game_over(self, match: Match, player_id: str, verdict: Verdict, draw_seed: str) -> Message:
        own = match.game.wire.result(match.position, match.moves, match.players)
        return v2.GameOver.write(
            **self._envelope(),
            auth_token=self._passes.get(player_id) or "",
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            game_result={
                "status": str(verdict.outcome),
                "winner_player_id": verdict.winner,
                **own,
                "reason": verdict.reason,
            },
            draw_seed=draw_seed,
        )

    def report(
        self,
        match: Match,
        verdict: Verdict,
        token: str,
        score: Mapping[str, int],
        failures: Mapping[str, int],
    ) -> Message:
        """The report alone carries the referee's own league token."""
        own = match.game.wire.details(match.position, match.moves, match.players)
        return v2.MatchResultReport.write(
            sender=f"referee:{self._referee_id}",
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-{match.match_id.lower()}-report",
            auth_token=token,
            league_id=self._order.league_id,
            round_id=self._order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            result={
                "winner": verdict.winner,
                "score": dict(score),
                "details": own,
                "status": str(verdict.outcome),
                "reason": verdict.reason,
                "terminations": {player: str(how) for player, how in match.terminations.items()},
                "failures_in_a_row": dict(failures),
            },
        )

    def _envelope(self) -> dict[str, Any]:
        return {
            "sender": f"referee:{self._referee_id}",
            "timestamp": format_utc(self._clock.now()),
            "conversation_id": self._order.conversation_id,
        }

    @staticmethod
    def _asking_state(action_required: str) -> MatchState:
        joining = action_required == v2.GameJoinAck.TYPE
        return MatchState.WAITING_FOR_PLAYERS if joining else MatchState.COLLECTING_CHOICES


def read_join(answer: Any) -> bool:
    """Whether the player comes."""
    return _read(v2.GameJoinAck, answer).accept


def read_move(match: Match, answer: Any) -> Move:
    """The move inside an answer; whether it is legal is the rules' business."""
    return match.game.wire.move(_read(match.game.wire.answer, answer))


def _read(model: type[M], answer: Any) -> M:
    if not isinstance(answer, dict):
        raise BadAnswer(f"expected a {model.TYPE}, found no object in 'result'", answer)
    given = {name: answer[name] for name in model.model_fields if answer.get(name) is not None}
    try:
        if given.get("protocol", PROTOCOL_V2) != PROTOCOL_V2:
            raise Refusal(ErrorCode.PROTOCOL_VERSION_MISMATCH, f"'protocol' must be '{PROTOCOL_V2}'")
        if given.get("message_type", model.TYPE) != model.TYPE:
            raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, f"'message_type' must be '{model.TYPE}'")
        for name in TIMESTAMPS:
            if isinstance(given.get(name), str):
                check_timestamp(given[name], name)
        return read_fields(model, {**FILLER, **given})
    except Refusal as refusal:
        raise BadAnswer(f"{model.TYPE}: {refusal.message}", answer, refusal.code) from None
