"""MATCH_RESULT_REPORT, the referee's report of a match to the manager."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Message, MessagePart


class ReportedResult(MessagePart):
    """Who won. What follows `details` is ours, and may be missing in others' reports."""

    winner: str | None
    score: dict[str, int | float] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)
    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"] | None = None
    terminations: dict[str, str] = Field(default_factory=dict)
    failures_in_a_row: dict[str, int] = Field(default_factory=dict)
    tolerated: dict[str, list[str]] = Field(default_factory=dict)


class MatchResultReport(Message):
    """A match was played."""

    TYPE: ClassVar = "MATCH_RESULT_REPORT"

    match_id: str
    game_type: str | None = None
    result: ReportedResult
