"""The error messages of `league.v2`: LEAGUE_ERROR and GAME_ERROR."""

from collections.abc import Mapping
from typing import Any, ClassVar

from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol.envelope import Message, MessagePart, Sender
from agent_league.protocol.v2.registration import LeagueRegisterRequest, RefereeRegisterRequest
from agent_league.text import REDACTED, shorten

"""Characters of a claimed id that are sent back."""
REGISTRATION_NEEDED: Mapping[ErrorCode, str] = {
    ErrorCode.PLAYER_NOT_REGISTERED: LeagueRegisterRequest.TYPE,
    ErrorCode.AUTH_TOKEN_INVALID: LeagueRegisterRequest.TYPE,
    ErrorCode.REFEREE_NOT_REGISTERED: RefereeRegisterRequest.TYPE,
}
"""The codes that only a new registration resolves -> its message type."""
TOKEN_CODES = frozenset({*REGISTRATION_NEEDED, ErrorCode.AUTH_TOKEN_MISSING})
"""The codes with which the check of token and sender refuses."""


class LeagueError(Message):
    """A message was refused. `error_name` and `error_description` are the NAME, `message` is the sentence."""

    TYPE: ClassVar = "LEAGUE_ERROR"

    conversation_id: str | None = None  # type: ignore[assignment]  # seed 002 sends it without
    error_code: str
    error_name: str | None = None
    error_description: str | None = None
    message: str | None = None
    original_message_type: str | None = None
    affected_player: str | None = None
    action_required: str | None = None
    context: dict[str, Any] | None = None
    retryable: bool | None = None


class RetryInfo(MessagePart):
    retry_count: int
    max_retries: int
    next_retry_at: str | None = None


class GameError(Message):
    """Something went wrong in a match: which attempt it was, and what follows."""

    TYPE: ClassVar = "GAME_ERROR"

    conversation_id: str | None = None  # type: ignore[assignment]  # seed 002 sends it without
    match_id: str
    error_code: str
    error_name: str | None = None
    error_description: str | None = None
    message: str | None = None
    affected_player: str | None = None
    player_id: str | None = None
    action_required: str | None = None
    game_state: str | None = None
    retryable: bool | None = None
    retry_info: RetryInfo | None = None
    retry_count: int | None = None
    max_retries: int | None = None
    consequence: str | None = None


def write_league_error(
    refusal: Refusal,
    *,
    sender: str,
    timestamp: str,
    conversation_id: str,
    original_message_type: str | None,
    method: str | None = None,
    caller: object = None,
    has_token: bool = False,
) -> LeagueError:
    """Write a refusal as it travels; `caller` is the sender of the refused message, `has_token` says if it showed one.

    `context.action` names what was tried: the type of the message, or the method where it has none.
    """
    action = original_message_type or method
    player_id = _find_affected_player(refusal, caller)
    context = {**({"action": action} if action else {}), **refusal.context}
    if has_token and refusal.code in TOKEN_CODES:
        context["provided_token"] = REDACTED
    return LeagueError.write(
        sender=sender,
        timestamp=timestamp,
        conversation_id=conversation_id,
        error_code=refusal.code.value,
        error_name=refusal.code.name,
        error_description=refusal.code.name,
        message=refusal.message,
        original_message_type=original_message_type,
        affected_player=player_id,
        action_required=REGISTRATION_NEEDED.get(refusal.code, action) if player_id else None,
        context=context,
        retryable=refusal.code.is_retryable or refusal.code is ErrorCode.RATE_LIMIT_EXCEEDED,
    )


def _find_affected_player(refusal: Refusal, caller: object) -> str | None:
    """The player that a refusal names, else the one that called; None if it concerns no player."""
    named = refusal.context.get("player_id")
    if isinstance(named, str):
        return named
    sender = Sender.parse(caller) if isinstance(caller, str) else None
    return shorten(sender.agent_id) if sender and sender.role is Role.PLAYER else None
