"""Models of the plain questions to a referee about its matches, and of its answers."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent_league.protocol.envelope import ExactPart, MessagePart

MatchStateName = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]


class MatchStateQuestion(MessagePart):
    match_id: str | None = None
    match_ids: list[str] | None = None


class StepQuestion(MessagePart):
    match_id: str | None = None
    sender: Literal["league_manager"] = "league_manager"
    auth_token: str | None = None


class LifecycleEntry(ExactPart):
    state: MatchStateName
    at: str


class TranscriptEntry(MessagePart):
    """One line of a transcript; what was said, drawn or went wrong stands in it once the match is over."""

    at: str
    direction: Literal["sent", "received", "failed", "drawn"]
    player_id: str | None = None
    method: str | None = None
    attempt: int | None = None
    latency_ms: float | None = None
    token: Literal["ok", "missing", "wrong", "unknown"] | None = None
    tolerated: list[str] | None = None
    error_code: str | None = None
    error: str | None = None
    step: int | None = None
    outcome: Any = None
    message: Any = None


class FinishedResult(MessagePart):
    """How a match ended; a game adds its own fields."""

    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
    winner_player_id: str | None
    reason: str
    score: dict[str, int]
    terminations: dict[str, str]


class MatchStateAnswer(ExactPart):
    """One match with all that may be told of it, or the states of several under `matches`."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["match_id", "state", "players", "lifecycle", "transcript", "result"]},
                {"required": ["matches"]},
            ]
        },
    )

    match_id: str = ""
    state: MatchStateName = "FINISHED"
    players: list[str] = Field(default_factory=list)
    lifecycle: list[LifecycleEntry] = Field(default_factory=list)
    transcript: list[TranscriptEntry] = Field(default_factory=list)
    result: FinishedResult | None = None
    matches: dict[str, MatchStateName | None] = Field(default_factory=dict)


class StepAnswer(ExactPart):
    """How far one match is, or all of them."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["match_id", "state"]}, {"required": ["matches"]}]},
    )

    status: Literal["ok"]
    match_id: str = ""
    state: MatchStateName = "FINISHED"
    matches: dict[str, MatchStateName] = Field(default_factory=dict)
