"""The envelope of `league.v1`: eight fields, all of them in every message, in the forms of its base schema."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field

from agent_league.clock import parse_utc
from agent_league.protocol.envelope import MessagePart
from agent_league.protocol.version import PROTOCOL_V1

UUID_PATTERN = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
SENDER_PATTERN = re.compile(r"(league_manager|referee|player_.+)", re.ASCII)


def _check_utc(text: str) -> str:
    if parse_utc(text) is None:
        raise ValueError("expected ISO-8601 in UTC, ending in Z or +00:00")
    return text


def format_millis(moment: datetime) -> str:
    """Format a time as we send it in this protocol: `2025-12-13T21:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


UuidText = Annotated[str, Field(pattern=f"^{UUID_PATTERN.pattern}$", json_schema_extra={"format": "uuid"})]
Timestamp = Annotated[str, AfterValidator(_check_utc), Field(json_schema_extra={"format": "date-time"})]


class V1Message(MessagePart):
    """A message of `league.v1`: the envelope, to which each type adds one object or two fields."""

    TYPE: ClassVar[str]
    MATCH_ID: ClassVar[str] = ""
    """The `match_id` of messages that belong to no match."""
    SENDER: ClassVar[str] = "referee"
    """The sender in examples of the message."""

    protocol: str = Field(description="Always league.v1.")
    message_type: str = Field(description="The type of the message.")
    league_id: UuidText = Field(description="The league, as a UUID.", examples=["3f2b8c1e-7a64-4d15-9b02-5c8e1d6f7a90"])
    round_id: Annotated[int, Field(ge=0)] = Field(description="The number of the round; 0 before the first.")
    match_id: str = Field(description="The match; outside a match a word such as REGISTRATION.", examples=["R1M1"])
    conversation_id: UuidText = Field(
        description="What ties an answer to its question, as a UUID; an answer repeats it.",
        examples=["b7d41f52-0c3e-4f68-8a97-2e6d9c1b5f34"],
    )
    sender: Annotated[str, Field(pattern=f"^{SENDER_PATTERN.pattern}$")] = Field(
        description="Who says it: league_manager, referee or player_ID."
    )
    timestamp: Timestamp = Field(
        description="When it was said: ISO-8601 in UTC, ending in Z.", examples=["2025-01-15T10:30:00.000Z"]
    )

    @classmethod
    def write(
        cls,
        *,
        league_id: str,
        round_id: int,
        conversation_id: str,
        sender: str,
        timestamp: str,
        match_id: str | None = None,
        **fields: Any,
    ) -> Self:
        """Create a validated message with its envelope."""
        return cls(
            protocol=PROTOCOL_V1,
            message_type=cls.TYPE,
            league_id=league_id,
            round_id=round_id,
            match_id=cls.MATCH_ID if match_id is None else match_id,
            conversation_id=conversation_id,
            sender=sender,
            timestamp=timestamp,
            **fields,
        )

    def to_wire(self) -> dict[str, Any]:
        """The wire form: every field that was set, including those set to null."""
        return self.model_dump(exclude_unset=True)
