"""Models of the plain questions to a manager and of its answers.

Used only for the tools' schemas: the manager builds its answers as plain dicts, without these models.
"""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from agent_league.protocol.envelope import ExactPart, MessagePart
from agent_league.protocol.v2.game import RoleInMatch
from agent_league.protocol.v2.match_state import TranscriptEntry
from agent_league.protocol.v2.queries import LeagueQueryResponse
from agent_league.protocol.v2.standings import Standing

ResultStatus = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
MatchProgress = Literal["PENDING", "RUNNING", "COMPLETED"]


class Nothing(MessagePart):
    """No arguments."""


class RoundQuestion(MessagePart):
    round_id: int


class MatchQuestion(MessagePart):
    match_id: str


class PlayerQuestion(MessagePart):
    player_id: str


class StandingsLine(Standing):
    model_config = ConfigDict(extra="forbid")


class StandingsAnswer(ExactPart):
    league_id: str
    phase: Literal["REGISTRATION", "RUNNING", "COMPLETED"]
    round_id: int
    rounds_completed: int
    standings: list[StandingsLine]


class ScheduledMatch(ExactPart):
    match_id: str
    round_id: int
    game_type: str
    player_A_id: str
    player_B_id: str
    referee_id: str | None
    status: Literal["PENDING", "WIN", "DRAW", "TECHNICAL_LOSS", "void"]
    winner_player_id: str | None


class OwnMatch(ScheduledMatch):
    """A match as one of its players sees it."""

    opponent_id: str


class ScheduledRound(ExactPart):
    round_id: int
    matches: list[ScheduledMatch]


class ScheduleAnswer(ExactPart):
    league_id: str
    total_rounds: int
    total_matches: int
    rounds: list[ScheduledRound]


class RoundAnswer(ScheduledRound):
    league_id: str
    status: MatchProgress


class OwnQuestion(MessagePart):
    """A question whose answer depends on who asks."""

    auth_token: str | None = None


class AssignedMatches(ExactPart):
    """The matches that wait for a referee, each as its START_MATCH would be."""

    league_id: str
    referee_id: str
    matches: list[dict[str, Any]]


class SeatedPlayer(ExactPart):
    player_id: str
    display_name: str
    role_in_match: RoleInMatch


class RecordedResult(ExactPart):
    """A result as the league recorded it; `details` are the game's own."""

    status: ResultStatus
    winner_player_id: str | None
    score: dict[str, int]
    details: dict[str, Any]
    terminations: dict[str, str]
    tolerated: dict[str, list[str]]


class MatchAnswer(ExactPart):
    league_id: str
    match_id: str
    round_id: int
    game_type: str
    state: Literal["PENDING", "RUNNING", "FINISHED"]
    referee_id: str | None
    players: list[SeatedPlayer]
    result: RecordedResult | None
    transcript: list[TranscriptEntry] | None
    transcript_note: str | None


class PlayerStats(StandingsLine):
    technical_losses: int
    state: str | None
    tolerated: list[str]


class PlayerAnswer(PlayerStats):
    league_id: str
    matches: list[OwnMatch]


class NextMatch(ExactPart):
    player_id: str
    next_match: OwnMatch | None


class QueryFault(MessagePart):
    error_code: str
    error_name: str
    message: str


class LeagueQueryAnswer(LeagueQueryResponse):
    """The answer to a query, with what each of the four has in `data`."""

    TYPE: ClassVar = LeagueQueryResponse.TYPE

    data: StandingsAnswer | ScheduleAnswer | NextMatch | PlayerStats | None = None  # type: ignore[assignment]
    error: QueryFault | None = None  # type: ignore[assignment]
    standings: list[StandingsLine] | None = None  # type: ignore[assignment]
