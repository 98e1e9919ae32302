"""The envelope: the fields that every message has, and how a sender is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field

from agent_league.errors import ErrorCode
from agent_league.model.agents import Role
from agent_league.protocol.fields import (
    DATE_TIME,
    SENDER_DESCRIPTION,
    ConversationId,
    LeagueId,
    MatchId,
    OwnToken,
    RoundId,
)
from agent_league.protocol.version import PROTOCOL_V2

ANONYMOUS = "anonymous"
"""The id that is filled in for a caller without one; its token identifies it."""
T = TypeVar("T")
Items = Annotated[list[T], FailFast()]
"""A list whose validation stops at the first wrong item, so that a long list of wrong ones stays cheap."""


class MessagePart(BaseModel):
    """An object inside a message. Types are exact, unknown fields are kept."""

    model_config = ConfigDict(strict=True, extra="allow")


class ExactPart(MessagePart):
    """An object that holds what is said of it and nothing else: some of our own answers."""

    model_config = ConfigDict(extra="forbid")


class Message(MessagePart):
    """A message of `league.v2`: the envelope, to which each type adds its own fields."""

    TYPE: ClassVar[str]
    CODES: ClassVar[Mapping[str, ErrorCode]] = {}
    """Fields whose wrong value has an error code of its own."""
    ALWAYS_SENT: ClassVar[str] = ""
    """Fields that the model doesn't require and our messages always have; those with `?` after the name may be null."""
    NEVER_SENT: ClassVar[str] = ""
    """Optional fields of the envelope that our messages don't have."""

    protocol: str = Field(default=PROTOCOL_V2, description="Always league.v2.")
    message_type: str = Field(description="The type of the message.")
    sender: str = Field(description=SENDER_DESCRIPTION)
    timestamp: str = Field(
        description="When it was said: ISO-8601 in UTC, ending in Z.",
        examples=["2025-01-15T10:30:00Z"],
        json_schema_extra=DATE_TIME,
    )
    conversation_id: ConversationId
    auth_token: OwnToken | None = None
    league_id: LeagueId | None = None
    round_id: RoundId | None = None
    match_id: MatchId | None = None

    @classmethod
    def write(cls, *, sender: str, timestamp: str, conversation_id: str, **fields: Any) -> Self:
        """Create a validated message with its envelope."""
        return cls(
            protocol=PROTOCOL_V2,
            message_type=cls.TYPE,
            sender=sender,
            timestamp=timestamp,
            conversation_id=conversation_id,
            **fields,
        )

    @classmethod
    def build_wire(cls, *, sender: str, timestamp: str, conversation_id: str, **fields: Any) -> dict[str, Any]:
        """Build the wire form of a message without validation, for values that are known to be right."""
        return {
            "protocol": PROTOCOL_V2,
            "message_type": cls.TYPE,
            "sender": sender,
            "timestamp": timestamp,
            "conversation_id": conversation_id,
            **fields,
        }

    def to_wire(self) -> dict[str, Any]:
        """The wire form: every field that was set, including those set to null."""
        return self.model_dump(exclude_unset=True)


class StatusReply(ExactPart):
    """The plain acknowledgement."""

    status: Literal["ok"] = Field(description="Always ok.")


@dataclass(frozen=True, slots=True)
class Sender:
    """A sender as it is written: `league_manager`, `referee:REF01`, `player:P01`."""

    role: Role
    agent_id: str

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> "Sender | None":
        """Parse a sender; None if it has another form."""
        if text == Role.LEAGUE_MANAGER:
            return Sender(Role.LEAGUE_MANAGER, text)
        role, _, agent_id = text.partition(":")
        if role not in (Role.REFEREE, Role.PLAYER) or not agent_id:
            return None
        return Sender(Role(role), agent_id)

    def __str__(self) -> str:
        return self.role if self.role is Role.LEAGUE_MANAGER else f"{self.role}:{self.agent_id}"
