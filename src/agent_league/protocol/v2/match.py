"""The messages of one match: its start, invitation, move calls and responses, its end and its report."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from agent_league.config.models import AttemptCount, DelaySeconds, RetryPolicy, Seconds, TimeoutConfig
from agent_league.errors import ErrorCode
from agent_league.protocol.envelope import Message, MessagePart
from agent_league.protocol.fields import (
    DATE_TIME,
    TOLERATED,
    URI,
    Deadline,
    Details,
    DrawCommitment,
    Draws,
    GameParameters,
    GameType,
    LeagueId,
    LinkPort,
    Losses,
    MatchId,
    MatchToken,
    OpponentId,
    OwnToken,
    PlayerAEndpoint,
    PlayerAId,
    PlayerBEndpoint,
    PlayerBId,
    PlayerId,
    Reason,
    ResultStatus,
    RoleInMatch,
    RoundId,
    ShownName,
    Step,
    Terminations,
    WinnerId,
    Wins,
)
from agent_league.protocol.version import PROTOCOL_V1

Parity = Literal["even", "odd"]
Count = Annotated[int, Field(ge=0, le=2**53)]


class GameInvitation(Message):
    """The referee invites a player."""

    TYPE: ClassVar = "GAME_INVITATION"
    ALWAYS_SENT: ClassVar = "auth_token league_id round_id game_type role_in_match opponent_id"

    match_id: MatchId
    game_type: GameType | None = None
    role_in_match: RoleInMatch | None = None
    opponent_id: OpponentId | None = None
    draw_commitment: DrawCommitment | None = None
    game_parameters: GameParameters | None = None


KeepsRounds = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
    Field(
        description="True in a game of several rounds: the player keeps those that it was shown, and understands"
        " questions with `context.rounds_since`.",
        examples=[None],
    ),
]
"""True in our own messages, or left out; any value is accepted from others, and means nothing."""


class GameJoinAck(Message):
    """The player comes, or declines."""

    TYPE: ClassVar = "GAME_JOIN_ACK"
    ALWAYS_SENT: ClassVar = "match_id player_id arrival_timestamp"
    NEVER_SENT: ClassVar = "league_id round_id"

    match_id: MatchId | None = None
    player_id: PlayerId | None = None
    arrival_timestamp: str | None = Field(
        default=None,
        description="When the invitation arrived.",
        examples=["2025-01-15T10:30:00Z"],
        json_schema_extra=DATE_TIME,
    )
    accept: bool = Field(
        description="Whether the player comes; false means that it loses the match technically.", examples=[True]
    )
    rounds_since: KeepsRounds = None


class OwnStandings(MessagePart):
    wins: Wins = 0
    losses: Losses = 0
    draws: Draws = 0


class CallContext(MessagePart):
    opponent_id: OpponentId | None = None
    round_id: RoundId | None = None
    your_standings: OwnStandings | None = Field(
        default=None, description="What the player has won, drawn and lost so far."
    )
    draw_commitment: DrawCommitment | None = None


class MoveContext(CallContext):
    rounds_since: Count | None = Field(
        default=None,
        description="How many of the first rounds `move_request.context.rounds` leaves out, as the player was shown"
        " them before; only to players whose GAME_JOIN_ACK says `rounds_since`.",
        examples=[None],
    )


class ChooseParityCall(Message):
    """Even/Odd: the referee asks for a choice."""

    TYPE: ClassVar = "CHOOSE_PARITY_CALL"
    ALWAYS_SENT: ClassVar = (
        "auth_token league_id round_id player_id game_type deadline context context.opponent_id context.round_id"
        " context.your_standings context.your_standings.wins context.your_standings.losses"
        " context.your_standings.draws"
    )

    match_id: MatchId
    player_id: PlayerId | None = None
    game_type: GameType | None = None
    context: CallContext | None = Field(default=None, description="What else is known of the situation.")
    deadline: Deadline | None = None


class MoveUsage(MessagePart):
    """What a move has cost its player: for the record, and for nothing else."""

    model: Annotated[str, Field(max_length=200)] = Field(description="Which model it was.")
    input_tokens: Count = Field(description="Tokens that it read.")
    output_tokens: Count = Field(description="Tokens that it wrote.")
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        description="What it cost; null where nobody knows the price."
    )
    latency_ms: Count = Field(description="How long the player took.")
    attempts: Count = Field(description="How often it was asked.")
    fallback: Annotated[str, Field(max_length=200)] | None = Field(
        description="Why the move is not the model's own; null where it is."
    )
    illegal_answers: Count = Field(default=0, description="How often the model named no legal move.")
    late_answers: Count = Field(default=0, description="How often the model didn't answer in time.")


ReportedUsage = Annotated[
    Any,
    WithJsonSchema(MoveUsage.model_json_schema()),
    Field(description="What a language model spent on the move: tokens, cost, time.", examples=[None]),
]
"""A MoveUsage in our own messages; any value is accepted from others, without a refusal."""


MAX_REASONING = 2000
"""Characters of a reasoning that are sent and shown."""
Reasoning = Annotated[
    Any,
    WithJsonSchema({"type": "string", "maxLength": MAX_REASONING}),
    Field(
        description="Why this move, in the player's words; kept in the match file and shown after its end.",
        examples=[None],
    ),
]
"""A text in our own messages; any value is accepted from others, without a refusal."""


class ChooseParityResponse(Message):
    """Even/Odd: the choice, exactly `even` or `odd`."""

    TYPE: ClassVar = "CHOOSE_PARITY_RESPONSE"
    ALWAYS_SENT: ClassVar = "match_id player_id"
    NEVER_SENT: ClassVar = "league_id round_id"
    CODES: ClassVar[Mapping[str, ErrorCode]] = {"parity_choice": ErrorCode.INVALID_PARITY_CHOICE}

    match_id: MatchId | None = None
    player_id: PlayerId | None = None
    parity_choice: Parity = Field(description="The choice, in small letters.")
    usage: ReportedUsage = None
    reasoning: Reasoning = None


class MoveRequest(MessagePart):
    """What is asked for: one of `valid_options` or what `move_schema` allows, given what the seat sees (`context`)."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["valid_options"]}, {"required": ["move_schema"]}]},
    )

    move_type: str = Field(description="The kind of move.", examples=["tic_tac_toe"])
    valid_options: list[Any] | None = Field(
        default=None,
        description="The legal moves: answer with exactly one of them.",
        examples=[[0, 1, 2, 3, 4, 5, 6, 7, 8]],
    )
    move_schema: dict[str, Any] | None = Field(
        default=None,
        description="A JSON Schema of the legal moves, where they are too many to be listed.",
        examples=[None],
    )
    context: Any = Field(
        default=None,
        description="What this seat may see of the game.",
        examples=[{"board": ".........", "turn": 0, "winner": None}],
    )
    step: Step
    your_role: RoleInMatch = Field(description="The seat of the player who is asked.")


class GameMoveCall(Message):
    """Any game: the referee asks for a move."""

    TYPE: ClassVar = "GAME_MOVE_CALL"
    ALWAYS_SENT: ClassVar = (
        "auth_token league_id round_id player_id deadline context context.opponent_id context.round_id"
        " context.your_standings"
    )

    match_id: MatchId
    player_id: PlayerId | None = None
    game_type: GameType = Field(examples=["tic_tac_toe"])
    context: MoveContext | None = Field(default=None, description="What else is known of the situation.")
    move_request: MoveRequest = Field(description="What is asked for.")
    deadline: Deadline | None = None


class GameMoveResponse(Message):
    """Any game: the move."""

    TYPE: ClassVar = "GAME_MOVE_RESPONSE"
    ALWAYS_SENT: ClassVar = "match_id player_id"
    NEVER_SENT: ClassVar = "league_id round_id"
    CODES: ClassVar[Mapping[str, ErrorCode]] = {"move_data": ErrorCode.INVALID_MOVE}

    match_id: MatchId | None = None
    player_id: PlayerId | None = None
    move_data: Any = Field(description="The move: exactly one of the valid options.", examples=[4])
    usage: ReportedUsage = None
    reasoning: Reasoning = None


class GameResult(MessagePart):
    """How it ended; a game adds its own fields."""

    status: ResultStatus
    winner_player_id: WinnerId | None = None
    choices: dict[str, Any] | None = Field(default=None, description="Player id -> what it chose.")
    reason: Reason | None = None


class GameOver(Message):
    """The match is over."""

    TYPE: ClassVar = "GAME_OVER"
    ALWAYS_SENT: ClassVar = (
        "auth_token league_id round_id game_type game_result.winner_player_id? game_result.choices game_result.reason"
    )

    match_id: MatchId
    game_type: GameType | None = None
    game_result: GameResult = Field(
        description="How the match ended.",
        examples=[
            {
                "status": "WIN",
                "winner_player_id": "P01",
                "drawn_number": 4,
                "number_parity": "even",
                "choices": {"P01": "even", "P02": "odd"},
                "reason": "P01 chose even, number was 4 (even)",
            }
        ],
    )
    draw_seed: str | None = Field(
        default=None,
        description="The seed that was committed to.",
        examples=["a61c08848899c569bddcb20ff3d71a775301e938d1cbbacf2a7a245ea1a6e389"],
    )


class MatchPlayer(MessagePart):
    """All that a referee must know of a player."""

    player_id: PlayerId
    display_name: ShownName
    endpoint: str = Field(
        description="Where it is called.", examples=["http://localhost:8101/mcp"], json_schema_extra=URI
    )
    protocol: str = Field(default="league.v2", description="Always league.v2.", examples=["league.v2"])
    style: str = Field(default="seeds", description="How the player spells its calls.", examples=["seeds"])
    """The player's call form, as far as its registration showed it."""
    token_sha256: str | None = Field(
        default=None, description="The hash of the player's token.", examples=["5d41b0c2…"]
    )
    standings: OwnStandings = Field(
        default=OwnStandings(), description="What the player has won, drawn and lost so far."
    )
    state: str = Field(default="ACTIVE", description="The state it is in.", examples=["ACTIVE"])
    failures_in_a_row: int = Field(default=0, description="How often in a row it gave no usable answer.", examples=[0])
    match_token: MatchToken | None = None
    """The token that authenticates the referee to this player alone."""
    addresses: list[str] = Field(
        default_factory=list,
        description="The IP addresses of a name in `endpoint`, as the manager has checked them: it is called there.",
        examples=[["203.0.113.7"]],
        max_length=16,
    )
    link_port: LinkPort | None = None
    """Only for a referee that named a port for links itself."""
    move_method: Literal["make_move"] | None = Field(
        default=None, description="make_move where the player is asked in no game's own words."
    )


class MatchScoring(MessagePart):
    win_points: int = Field(default=3, description="For a win.", examples=[3])
    draw_points: int = Field(default=1, description="For a draw.", examples=[1])
    loss_points: int = Field(default=0, description="For a loss.", examples=[0])
    technical_loss_points: int = Field(default=0, description="For a loss without a usable answer.", examples=[0])


class MatchLimits(MessagePart):
    """The league's limits for one match; a referee's own settings count for what isn't named."""

    join_sec: Seconds | None = Field(default=None, description="Seconds to answer an invitation.")
    v1_join_sec: Seconds | None = Field(
        default=None, description="The same for a player of league.v1, where that differs."
    )
    move_sec: Seconds | None = Field(default=None, description="Seconds to answer a question.")
    attempts: AttemptCount | None = Field(default=None, description="How often a question is asked, in all.")
    base_delay_sec: DelaySeconds | None = Field(default=None, description="Seconds before the second attempt.")

    @classmethod
    def write(cls, timeouts: TimeoutConfig, retry: RetryPolicy, protocols: Collection[str]) -> dict[str, Any]:
        """Write a league's limits for players of these protocols; how long they may take to join depends on it."""
        older_join = timeouts.v1_game_join_ack_timeout_sec
        is_older = set(protocols) == {PROTOCOL_V1}
        return {
            "join_sec": older_join if is_older else timeouts.game_join_ack_timeout_sec,
            "move_sec": timeouts.move_timeout_sec,
            "attempts": retry.max_retries,
            "base_delay_sec": retry.base_delay_sec,
            **({"v1_join_sec": older_join} if PROTOCOL_V1 in protocols and not is_older else {}),
        }

    @staticmethod
    def list_all(timeouts: TimeoutConfig, retry: RetryPolicy) -> dict[str, float]:
        """List a referee's own limits, for players of all protocols."""
        return {
            "join_sec": timeouts.game_join_ack_timeout_sec,
            "v1_join_sec": timeouts.v1_game_join_ack_timeout_sec,
            "move_sec": timeouts.move_timeout_sec,
            "attempts": retry.max_retries,
            "base_delay_sec": retry.base_delay_sec,
        }

    def with_stated(self, join_sec: float | None, move_sec: float | None) -> "MatchLimits":
        """The timeouts alone, with those that messages to players state where they are missing."""
        return MatchLimits.model_construct(
            join_sec=self.join_sec, v1_join_sec=self.v1_join_sec or join_sec, move_sec=self.move_sec or move_sec
        )

    def override_timeouts(self, timeouts: TimeoutConfig) -> TimeoutConfig:
        """A referee's timeouts with those that the league sets."""
        waits = {
            "game_join_ack_timeout_sec": self.join_sec,
            "v1_game_join_ack_timeout_sec": self.v1_join_sec or self.join_sec,
            "move_timeout_sec": self.move_sec,
        }
        return timeouts.model_copy(update={name: value for name, value in waits.items() if value is not None})


class StartMatch(Message):
    """The manager gives a match to a referee."""

    TYPE: ClassVar = "START_MATCH"
    ALWAYS_SENT: ClassVar = (
        "player_A_id player_A_endpoint player_B_id player_B_endpoint match_token player_A.protocol"
        " player_A.standings player_A.token_sha256?"
    )
    NEVER_SENT: ClassVar = "auth_token"

    league_id: LeagueId
    round_id: RoundId
    match_id: MatchId
    game_type: GameType
    game_parameters: GameParameters | None = None
    """The league's parameters of the game, in addition to those of the referee's own registry."""
    player_A: MatchPlayer = Field(description="What the referee must know of player A.")
    player_B: MatchPlayer = Field(
        description="What the referee must know of player B.",
        examples=[{"player_id": "P02", "display_name": "Agent Beta", "endpoint": "http://localhost:8102/mcp"}],
    )
    player_A_id: PlayerAId | None = None
    player_A_endpoint: PlayerAEndpoint | None = None
    player_B_id: PlayerBId | None = None
    player_B_endpoint: PlayerBEndpoint | None = None
    match_token: MatchToken | None = None
    """The token that authenticates the referee to both players; our referees show each player its own instead."""
    scoring: MatchScoring = Field(
        default=MatchScoring(), description="Points for a win, a draw, a loss and a technical loss."
    )
    limits: MatchLimits | None = Field(default=None, description="The league's limits, in place of the referee's own.")
    """None: the referee's own settings count."""
    league_uuid: str | None = Field(
        default=None, description="What this league is called in league.v1; no other league has it."
    )
    hides_transcript: bool | None = Field(
        default=None,
        description="Whether `get_match_state` keeps players and messages to itself: the league hides something.",
        examples=[None],
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_flat_fields(cls, data: Any) -> Any:
        """Build `player_A` and `player_B` from their flat id and endpoint fields if the objects are missing."""
        if not isinstance(data, dict):
            return data
        filled = dict(data)
        for side in ("player_A", "player_B"):
            player_id, endpoint = data.get(f"{side}_id"), data.get(f"{side}_endpoint")
            if side not in data and player_id and endpoint:
                filled[side] = {"player_id": player_id, "display_name": player_id, "endpoint": endpoint}
        return filled


class ReportedResult(MessagePart):
    """Who won. What follows `details` is ours, and may be missing in others' reports."""

    winner: str | None = Field(description="The player who won, or null.", examples=["P01"])
    score: dict[str, int | float] = Field(
        default_factory=dict, description="Player id -> points of this match.", examples=[{"P01": 3, "P02": 0}]
    )
    details: Details = Field(default_factory=dict)
    status: ResultStatus | None = None
    terminations: Terminations = Field(default_factory=dict)
    failures_in_a_row: dict[str, int] = Field(
        default_factory=dict,
        description="How often in a row it gave no usable answer.",
        examples=[{"P01": 0, "P02": 0}],
    )
    tolerated: dict[str, list[str]] = Field(default_factory=dict, description=TOLERATED, examples=[{}])
    usage: Any = Field(
        default=None,
        description="Player id -> what its language model used, as the player says; missing where nobody says so.",
        examples=[None],
    )


class MatchResultReport(Message):
    """A match was played."""

    TYPE: ClassVar = "MATCH_RESULT_REPORT"
    ALWAYS_SENT: ClassVar = "auth_token league_id round_id game_type result.score result.details result.status"

    auth_token: OwnToken | None = Field(default=None, examples=["tok-ref01-…"])
    match_id: MatchId
    game_type: GameType | None = None
    result: ReportedResult = Field(description="How it ended.")
