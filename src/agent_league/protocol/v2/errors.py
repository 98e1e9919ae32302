"""Errors as messages."""

from typing import Any, ClassVar

from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol.envelope import Message, Part


class LeagueError(Message):
    """A message was refused. `error_name` and `error_description` are the NAME, `message` is the sentence."""

    TYPE: ClassVar = "LEAGUE_ERROR"

    conversation_id: str | None = None  # type: ignore[assignment]  # seed 002 sends it without
    error_code: str
    error_name: str | None = None
    error_description: str | None = None
    message: str | None = None
    original_message_type: str | None = None
    context: dict[str, Any] | None = None
    retryable: bool | None = None


class RetryInfo(Part):
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
    refusal: Refusal, *, sender: str, timestamp: str, conversation_id: str, original_message_type: str | None
) -> LeagueError:
    """A refusal in the form in which it travels."""
    return LeagueError.write(
        sender=sender,
        timestamp=timestamp,
        conversation_id=conversation_id,
        error_code=refusal.code.value,
        error_name=refusal.code.name,
        error_description=refusal.code.name,
        message=refusal.message,
        original_message_type=original_message_type,
        context=dict(refusal.context),
        retryable=refusal.code.retryable or refusal.code is ErrorCode.RATE_LIMIT_EXCEEDED,
    )
