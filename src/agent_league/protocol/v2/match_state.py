"""Models of the plain questions to a referee about its matches, and of its answers."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent_league.protocol.envelope import Exact, Part

State = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]


class MatchStateQuestion(Part):
    match_id: str | None = None
    match_ids: list[str] | None = None


class StepQuestion(Part):
    match_id: str | None = None
    sender: Literal["league_manager"] = "league_manager"
    auth_token: str | None = None


class LifecycleEntry(Exact):
    state: State
    at: str


class TranscriptEntry(Part):
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


class FinishedResult(Part):
    """How a match ended; a game adds its own fields."""

    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
    winner_player_id: str | None
    reason: str
    score: dict[str, int]
    terminations: dict[str, str]


class MatchStateAnswer(Exact):
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
    state: State = "FINISHED"
    players: list[str] = Field(default_factory=list)
    lifecycle: list[LifecycleEntry] = Field(default_factory=list)
    transcript: list[TranscriptEntry] = Field(default_factory=list)
    result: FinishedResult | None = None
    matches: dict[str, State | None] = Field(default_factory=dict)


class StepAnswer(Exact):
    """How far one match is, or all of them."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["match_id", "state"]}, {"required": ["matches"]}]},
    )

    status: Literal["ok"]
    match_id: str = ""
    state: State = "FINISHED"
    matches: dict[str, State] = Field(default_factory=dict)
