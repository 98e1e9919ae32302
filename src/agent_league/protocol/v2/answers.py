"""Questions without an envelope, which any agent may ask, and the answers of each role."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from agent_league.model.agents import Role
from agent_league.protocol.envelope import ExactPart, MessagePart
from agent_league.protocol.fields import (
    SENDER_DESCRIPTION,
    TOLERATED,
    Details,
    Draws,
    ErrorCodeText,
    ErrorName,
    ErrorSentence,
    GameType,
    LeagueId,
    Losses,
    MatchId,
    Moment,
    OpponentId,
    OwnToken,
    Played,
    PlayerAId,
    PlayerBId,
    PlayerId,
    Reason,
    RefereeId,
    ResultStatus,
    RoleInMatch,
    RoundId,
    ShownName,
    Step,
    TechnicalLosses,
    Terminations,
    TotalMatches,
    TotalRounds,
    WinnerId,
    Wins,
)
from agent_league.protocol.v2.league import LeagueQueryResponse, Standing

MatchStateName = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
StateOfMatch = Annotated[MatchStateName, Field(description="The state it is in.")]


class MatchStateQuestion(MessagePart):
    match_id: MatchId | None = None
    match_ids: list[str] | None = Field(
        default=None, description="Several matches; the answer then is `matches` alone."
    )
    positions: bool | None = Field(
        default=None, description="With `match_ids`: whether to add `positions`, what both players see of each."
    )


class StepQuestion(MessagePart):
    match_id: MatchId | None = None
    sender: Literal["league_manager"] = Field(default="league_manager", description=SENDER_DESCRIPTION)
    auth_token: OwnToken | None = None


class LifecycleEntry(ExactPart):
    state: StateOfMatch
    at: Moment


class TranscriptEntry(MessagePart):
    """One line of a transcript; what was said, drawn or went wrong stands in it once the match is over."""

    at: Moment
    direction: Literal["sent", "received", "failed", "drawn"] = Field(
        description="sent by the referee, received from a player, failed (no usable answer), or drawn by chance."
    )
    player_id: PlayerId | None = None
    method: str | None = Field(default=None, description="The method that was called.")
    attempt: int | None = Field(default=None, description="Which attempt it was, from 1.")
    latency_ms: float | None = Field(default=None, description="How long the player took.")
    token: Literal["ok", "missing", "wrong", "unknown"] | None = Field(
        default=None, description="Whether the answer carried its player's own token."
    )
    tolerated: list[str] | None = Field(default=None, description=TOLERATED)
    error_code: ErrorCodeText | None = None
    error: str | None = Field(default=None, description="What was wrong, in a sentence.")
    step: Step | None = None
    outcome: Any = Field(default=None, description="What came of it.")
    message: Any = Field(default=None, description="What was said.")


class FinishedResult(MessagePart):
    """How a match ended; a game adds its own fields."""

    status: ResultStatus
    winner_player_id: WinnerId | None
    reason: Reason
    score: dict[str, int] = Field(description="Player id -> points of this match.")
    terminations: Terminations


class PublicPosition(ExactPart):
    """Where a game stands, as far as both of its players see it."""

    view: Any = Field(description="As the game shows it to one who sees everything; null where it hides something.")
    moves: int = Field(description="How many moves have been made.")
    last: dict[str, Any] = Field(description="The latest moves, by player, if both know them.")
    waiting_for: list[str] = Field(description="The players whose move it is.")


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

    match_id: MatchId = ""
    state: StateOfMatch = "FINISHED"
    players: list[str] = Field(default_factory=list, description="The two players.")
    lifecycle: list[LifecycleEntry] = Field(default_factory=list, description="When the match entered which state.")
    transcript: list[TranscriptEntry] = Field(default_factory=list, description="What was said, in order.")
    result: FinishedResult | None = Field(default=None, description="How it ended; null while it runs.")
    matches: dict[str, MatchStateName | None] = Field(
        default_factory=dict, description="Match id -> its state where it runs here, else null."
    )
    positions: dict[str, PublicPosition] | None = Field(
        default=None, description="Match id -> its position, of those that may be seen."
    )


class StepAnswer(ExactPart):
    """How far one match is, or all of them."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["match_id", "state"]}, {"required": ["matches"]}]},
    )

    status: Literal["ok"] = Field(description="Always ok.")
    match_id: MatchId = ""
    state: StateOfMatch = "FINISHED"
    matches: dict[str, MatchStateName] = Field(default_factory=dict, description="Match id -> its state.")


MatchProgress = Literal["PENDING", "RUNNING", "COMPLETED"]


class Nothing(MessagePart):
    """No arguments."""


class RoundQuestion(MessagePart):
    round_id: RoundId


class MatchQuestion(MessagePart):
    match_id: MatchId


class PlayerQuestion(MessagePart):
    player_id: PlayerId


class StandingsLine(Standing):
    model_config = ConfigDict(extra="forbid")


class StandingsAnswer(ExactPart):
    league_id: LeagueId
    phase: Literal["REGISTRATION", "RUNNING", "COMPLETED"] = Field(description="Where the league stands.")
    round_id: int = Field(description="The round that is being played; 0 before the first.")
    rounds_completed: int = Field(description="How many rounds are over.")
    standings: list[StandingsLine] = Field(description="The table, best first.")


class ScheduledMatch(ExactPart):
    match_id: MatchId
    round_id: RoundId
    game_type: GameType
    player_A_id: PlayerAId
    player_B_id: PlayerBId
    referee_id: RefereeId | None
    status: Literal["PENDING", "WIN", "DRAW", "TECHNICAL_LOSS", "void"] = Field(
        description="How it stands or how it ended: TECHNICAL_LOSS where a player failed to answer."
    )
    winner_player_id: WinnerId | None


class OwnMatch(ScheduledMatch):
    """A match as one of its players sees it."""

    opponent_id: OpponentId


class ScheduledRound(ExactPart):
    round_id: RoundId
    matches: list[ScheduledMatch] = Field(description="The matches.")


class ScheduleAnswer(ExactPart):
    league_id: LeagueId
    total_rounds: TotalRounds
    total_matches: TotalMatches
    rounds: list[ScheduledRound] = Field(description="All rounds, in order.")


class RoundAnswer(ScheduledRound):
    league_id: LeagueId
    status: MatchProgress = Field(description="Whether the round is yet to come, is played, or is over.")


class OwnQuestion(MessagePart):
    """A question whose answer depends on who asks."""

    auth_token: OwnToken | None = None


class AssignedMatches(ExactPart):
    """The matches that wait for a referee, each as its START_MATCH would be."""

    league_id: LeagueId
    referee_id: RefereeId
    matches: list[dict[str, Any]] = Field(description="The matches.")


class SeatedPlayer(ExactPart):
    player_id: PlayerId
    display_name: ShownName
    role_in_match: RoleInMatch


class RecordedResult(ExactPart):
    """A result as the league recorded it; `details` are the game's own."""

    status: ResultStatus
    winner_player_id: WinnerId | None
    score: dict[str, int] = Field(description="Player id -> points of this match.")
    details: Details
    terminations: Terminations
    tolerated: dict[str, list[str]] = Field(description=TOLERATED)


class MatchAnswer(ExactPart):
    league_id: LeagueId
    match_id: MatchId
    round_id: RoundId
    game_type: GameType
    state: Literal["PENDING", "RUNNING", "FINISHED"] = Field(description="The state it is in.")
    referee_id: RefereeId | None
    players: list[SeatedPlayer] = Field(description="The two players.")
    result: RecordedResult | None = Field(description="How it ended; null while it runs.")
    transcript: list[TranscriptEntry] | None = Field(description="What was said, in order.")
    transcript_note: str | None = Field(
        description="Why the transcript is missing or cut, and where all of it is; null where it is whole."
    )
    replaced_by: str | None = Field(
        default=None, description="The match that counts in its place, where an organiser had it played again."
    )


class PlayerStats(StandingsLine):
    technical_losses: TechnicalLosses
    state: str | None = Field(description="The state it is in.")
    tolerated: list[str] = Field(description=TOLERATED)


class PlayerDetailsAnswer(PlayerStats):
    league_id: LeagueId
    matches: list[OwnMatch] = Field(description="The matches.")


class NextMatch(ExactPart):
    player_id: PlayerId
    next_match: OwnMatch | None = Field(description="The next match without a result; null where there is none.")


class QueryFault(MessagePart):
    error_code: ErrorCodeText
    error_name: ErrorName
    message: ErrorSentence


class LeagueQueryAnswer(LeagueQueryResponse):
    """The answer to a query, with what each of the four has in `data`."""

    TYPE: ClassVar = LeagueQueryResponse.TYPE

    data: StandingsAnswer | ScheduleAnswer | NextMatch | PlayerStats | None = Field(
        default=None, description="The answer, by `query_type`; null where there is none."
    )  # type: ignore[assignment]
    error: QueryFault | None = Field(default=None, description="Why there is no answer.")  # type: ignore[assignment]
    standings: list[StandingsLine] | None = Field(default=None, description="The table, best first.")  # type: ignore[assignment]


class OwnStateQuestion(MessagePart):
    player_id: str | None = Field(
        default=None, description="This player's own id, or leave it out; any other is refused."
    )


class PlayedMatch(ExactPart):
    """A finished match, from the player's side."""

    match_id: MatchId
    game_type: GameType
    opponent_id: OpponentId
    outcome: str = Field(description="What came of it.")
    my_moves: list[Any] = Field(description="What this player played.")
    opponent_moves: list[Any] = Field(description="What the opponent played.")
    league_id: LeagueId | None
    round_id: RoundId | None
    season: str | None = Field(description="What tells this league from another one under the same id.")
    details: Details


class OwnStatistics(ExactPart):
    """Empty before the registration."""

    played: Played = 0
    wins: Wins = 0
    draws: Draws = 0
    losses: Losses = 0
    technical_losses: TechnicalLosses = 0


class KnownOpponent(ExactPart):
    """What the player has learnt of an opponent; transitions are `move>next move`."""

    games: int
    moves: dict[str, int]
    transitions: dict[str, int]
    outcomes: dict[str, int]
    last_move: str | None


class RefusedCall(ExactPart):
    """A call about a match that the player refused."""

    at: Moment
    match_id: MatchId
    method: str = Field(description="The method that asks for a move.")
    error_code: ErrorCodeText
    message: ErrorSentence


class PlayerStateAnswer(ExactPart):
    player_id: PlayerId
    display_name: ShownName
    state: Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"] = Field(description="The state it is in.")
    league_id: LeagueId | None
    total: int = Field(default=0, description="Games that were ever remembered.")
    stats: OwnStatistics = Field(description="What the player has played, won, drawn and lost.")
    matches: list[PlayedMatch] = Field(description="The latest games, oldest first.")
    opponents: dict[str, KnownOpponent] = Field(description="Opponent id -> what the player has learnt of it.")
    refusals: list[RefusedCall] = Field(
        description="The latest calls about matches that the player refused, with code and sentence."
    )


class RulesQuestion(MessagePart):
    game_type: str | None = Field(default=None, description="The game; leave it out for the one that is played here.")


class ProtocolQuestion(MessagePart):
    message_type: str | None = Field(
        default=None, description="A message type whose JSON Schema is wanted, such as GAME_INVITATION."
    )
    schemas: bool = Field(
        default=False, description="Whether the schemas of all messages are wanted; that is a long answer."
    )


class RulesAnswer(ExactPart):
    game_type: GameType
    title: str
    how_to_play: str = Field(description="The rules in plain words.")
    parameters: dict[str, Any] = Field(
        description="As this agent's configuration has them; what counts in a match comes with its invitation."
    )
    method: str = Field(description="The method that asks for a move.")
    question: str = Field(description="The message that asks for a move.")
    answer: str = Field(description="The message that holds a move.")
    illegal_move: str = Field(description="The error code of a move that the rules don't allow.")


class DescribedMethod(ExactPart):
    name: str
    served_by: list[Role] = Field(description="The agents that answer it.")
    request: str | None
    reply: str | None
    caller: str = Field(description="Who may call it.")


class ProtocolAnswer(ExactPart):
    protocol: str = Field(description="Always league.v2.")
    version: str = Field(description="A version number, such as 1.0.0.")
    minimum_version: str = Field(description="The oldest version that is accepted.")
    methods: list[DescribedMethod] = Field(description="All methods of all agents.")
    message_types: list[str] = Field(description="The types of all messages.")
    schemas: dict[str, dict[str, Any]] = Field(description="Message type -> its JSON Schema.")
