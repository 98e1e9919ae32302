"""Actuators: turn decisions into the answers that are sent.

Moves are legal by now, as the referee wrote them, unless the strategy is unaided. A strategy's usage figures are
validated before they are sent.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from agent_league.clock import Clock, format_utc
from agent_league.players.observation import Move, Usage
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.text import shorten

WireFields = dict[str, Any]


class Actuators:
    """Builds the player's answers. `credentials` returns its id and token; the token is None before registration."""

    def __init__(self, clock: Clock, credentials: Callable[[], tuple[str, str | None]]) -> None:
        self._clock = clock
        self._credentials = credentials

    def answer_invitation(
        self, invitation: v2.GameInvitation, *, accept: bool, keeps_rounds: bool = False
    ) -> WireFields:
        """Build the answer; with `keeps_rounds`, questions may leave out rounds that the player was shown."""
        answer = self._common_fields(v2.GameJoinAck, invitation)
        rounds = {"rounds_since": True} if accept and keeps_rounds else {}
        return {**answer, "arrival_timestamp": answer["timestamp"], "accept": accept, **rounds}

    def answer_parity_call(
        self,
        call: v2.ChooseParityCall,
        move: Move,
        usage: Usage | None = None,
        reasoning: str | None = None,
        *,
        repeat_as_choice: bool = False,
    ) -> WireFields:
        """Build the answer; `repeat_as_choice` adds `choice`, for a referee that doesn't read `parity_choice`."""
        words = {"parity_choice": move, "choice": move} if repeat_as_choice else {"parity_choice": move}
        answer = {**self._common_fields(v2.ChooseParityResponse, call), **words}
        return {**answer, **_remark_fields(usage, reasoning)}

    def answer_move_call(
        self, call: v2.GameMoveCall, move: Move, usage: Usage | None = None, reasoning: str | None = None
    ) -> WireFields:
        answer = {**self._common_fields(v2.GameMoveResponse, call), "move_data": move}
        return {**answer, **_remark_fields(usage, reasoning)}

    def _common_fields(self, kind: type[Message], question: Message) -> WireFields:
        player_id, token = self._credentials()
        return kind.build_wire(
            sender=f"player:{player_id}",
            timestamp=format_utc(self._clock.now()),
            conversation_id=question.conversation_id,
            auth_token=token,
            match_id=question.match_id,
            player_id=player_id,
        )


def _remark_fields(usage: Usage | None, reasoning: str | None) -> WireFields:
    """What a strategy says beside its move; nothing that it doesn't say."""
    said = {} if usage is None else _usage_fields(usage)
    return {**said, "reasoning": shorten(reasoning, v2.MAX_REASONING)} if reasoning else said


def _usage_fields(usage: Usage) -> WireFields:
    """The `usage` field of an answer; empty if what the strategy gives is invalid."""
    try:
        return {"usage": v2.MoveUsage(**asdict(usage)).model_dump()}
    except ValidationError:
        return {}
