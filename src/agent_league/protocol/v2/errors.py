"""The error messages of `league.v2`: LEAGUE_ERROR and GAME_ERROR."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol.envelope import Message, MessagePart, Sender
from agent_league.protocol.fields import (
    DATE_TIME,
    ConversationId,
    ErrorCodeText,
    ErrorName,
    ErrorSentence,
    MatchId,
    PlayerId,
)
from agent_league.protocol.v2.registration import LeagueRegisterRequest, RefereeRegisterRequest
from agent_league.text import REDACTED, shorten

"""Characters of a claimed id that are sent back."""
ERROR_MEANINGS: Mapping[ErrorCode, str] = {
    ErrorCode.INVALID_MESSAGE_FORMAT: "a field has a wrong type or value; `context` names it and what was expected",
    ErrorCode.MISSING_REQUIRED_FIELD: "fields are missing; `context.missing_fields` names them",
    ErrorCode.INVALID_PARITY_CHOICE: "the choice is not exactly `even` or `odd`",
    ErrorCode.PLAYER_NOT_REGISTERED: "no such player here",
    ErrorCode.MATCH_NOT_FOUND: "no such match here, or it was not given to you",
    ErrorCode.LEAGUE_NOT_FOUND: "`league_id` names another league; leave it out",
    ErrorCode.INVALID_MOVE: "the rules don't allow this move",
    ErrorCode.AUTH_TOKEN_MISSING: "a token is needed: `auth_token`, or the header Authorization: Bearer",
    ErrorCode.AUTH_TOKEN_INVALID: "the token is unknown, expired or somebody else's",
    ErrorCode.REFEREE_NOT_REGISTERED: "no such referee here",
    ErrorCode.SERVICE_UNAVAILABLE: "not now: `message` says what is in the way",
    ErrorCode.PROTOCOL_VERSION_MISMATCH: "not `league.v2`, or a version below 2.0.0",
    ErrorCode.TIMEOUT_ERROR: "no answer came within the limit",
    ErrorCode.CONNECTION_ERROR: "the agent couldn't be reached",
    ErrorCode.RATE_LIMIT_EXCEEDED: "too many requests from one address; wait a little",
    ErrorCode.INTERNAL_SERVER_ERROR: "our own fault; what it was stands in the log",
    ErrorCode.DUPLICATE_REGISTRATION: "somebody is registered under this name already",
    ErrorCode.INVALID_TIMESTAMP: "a moment that is not ISO-8601 in UTC, ending in Z or +00:00",
}
"""What each error code means, for tools and documentation."""
REGISTRATION_NEEDED: Mapping[ErrorCode, str] = {
    ErrorCode.PLAYER_NOT_REGISTERED: LeagueRegisterRequest.TYPE,
    ErrorCode.AUTH_TOKEN_INVALID: LeagueRegisterRequest.TYPE,
    ErrorCode.REFEREE_NOT_REGISTERED: RefereeRegisterRequest.TYPE,
}
"""The codes that only a new registration resolves -> its message type."""
RETRY_AFTER = "retry_after_sec"
"""In the context of a refusal after which the same call may succeed: how long to wait before it."""
TOKEN_CODES = frozenset({*REGISTRATION_NEEDED, ErrorCode.AUTH_TOKEN_MISSING})
"""The codes with which the check of token and sender refuses."""


class LeagueError(Message):
    """A message was refused. `error_name` and `error_description` are the NAME, `message` is the sentence."""

    TYPE: ClassVar = "LEAGUE_ERROR"
    ALWAYS_SENT: ClassVar = (
        "conversation_id error_name error_description message original_message_type? affected_player?"
        " action_required? context retryable"
    )
    NEVER_SENT: ClassVar = "auth_token league_id round_id match_id"

    conversation_id: ConversationId | None = None  # type: ignore[assignment]  # seed 002 sends it without
    error_code: ErrorCodeText
    error_name: ErrorName | None = None
    error_description: ErrorName | None = None
    message: ErrorSentence | None = None
    original_message_type: str | None = Field(
        default=None, description="The type of the message that was refused.", examples=["CHOOSE_PARITY_RESPONSE"]
    )
    affected_player: str | None = Field(
        default=None, description="The player whom it concerns, or null.", examples=["P01"]
    )
    action_required: str | None = Field(
        default=None,
        description="The message that this player should send to mend it, or null.",
        examples=["CHOOSE_PARITY_RESPONSE"],
    )
    context: dict[str, Any] | None = Field(
        default=None,
        description="What else is known of the situation.",
        examples=[
            {
                "action": "CHOOSE_PARITY_RESPONSE",
                "field": "parity_choice",
                "expected": ["even", "odd"],
                "received": "Even",
            }
        ],
    )
    retryable: bool | None = Field(
        default=None, description="Whether the same call may succeed when it is tried again."
    )


class RetryInfo(MessagePart):
    retry_count: int = Field(description="Attempts so far.")
    max_retries: int = Field(description="Attempts in all.", examples=[3])
    next_retry_at: str | None = Field(
        default=None,
        description="When the next attempt comes.",
        examples=["2025-01-15T10:30:30Z"],
        json_schema_extra=DATE_TIME,
    )


class GameError(Message):
    """Something went wrong in a match: which attempt it was, and what follows."""

    TYPE: ClassVar = "GAME_ERROR"
    ALWAYS_SENT: ClassVar = (
        "conversation_id league_id round_id error_name error_description message affected_player player_id"
        " action_required game_state retryable consequence retry_info retry_info.next_retry_at? retry_count"
        " max_retries"
    )
    NEVER_SENT: ClassVar = "auth_token"

    conversation_id: ConversationId | None = None  # type: ignore[assignment]  # seed 002 sends it without
    match_id: MatchId
    error_code: ErrorCodeText
    error_name: ErrorName | None = None
    error_description: ErrorName | None = None
    message: ErrorSentence | None = None
    affected_player: str | None = Field(
        default=None, description="The player whom it concerns, or null.", examples=["P01"]
    )
    player_id: PlayerId | None = None
    action_required: str | None = Field(
        default=None,
        description="The message that this player should send to mend it, or null.",
        examples=["CHOOSE_PARITY_RESPONSE"],
    )
    game_state: str | None = Field(default=None, description="The state of the match.", examples=["COLLECTING_CHOICES"])
    retryable: bool | None = Field(
        default=None, description="Whether the same call may succeed when it is tried again."
    )
    retry_info: RetryInfo | None = Field(default=None, description="Which attempt it was, and when the next one comes.")
    retry_count: int | None = Field(default=None, description="Attempts so far.")
    max_retries: int | None = Field(default=None, description="Attempts in all.", examples=[3])
    consequence: str | None = Field(
        default=None, description="What follows.", examples=["Technical loss after 3 attempts"]
    )


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
        retryable=refusal.code.is_retryable or RETRY_AFTER in refusal.context,
    )


def _find_affected_player(refusal: Refusal, caller: object) -> str | None:
    """The player that a refusal names, else the one that called; None if it concerns no player."""
    named = refusal.context.get("player_id")
    if isinstance(named, str):
        return named
    sender = Sender.parse(caller) if isinstance(caller, str) else None
    return shorten(sender.agent_id) if sender and sender.role is Role.PLAYER else None
