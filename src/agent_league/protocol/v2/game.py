"""The messages of one match: invitation, move calls and responses, and the end."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from agent_league.errors import ErrorCode
from agent_league.protocol.envelope import Message, MessagePart

Parity = Literal["even", "odd"]
RoleInMatch = Literal["PLAYER_A", "PLAYER_B"]
Count = Annotated[int, Field(ge=0, le=2**53)]


class GameInvitation(Message):
    """The referee invites a player."""

    TYPE: ClassVar = "GAME_INVITATION"

    match_id: str
    game_type: str | None = None
    role_in_match: RoleInMatch | None = None
    opponent_id: str | None = None
    draw_commitment: str | None = None
    """The hash of the seed from which all draws of this match are derived."""
    game_parameters: dict[str, Any] | None = None


class GameJoinAck(Message):
    """The player comes, or declines."""

    TYPE: ClassVar = "GAME_JOIN_ACK"

    match_id: str | None = None
    player_id: str | None = None
    arrival_timestamp: str | None = None
    accept: bool


class OwnStandings(MessagePart):
    wins: int = 0
    losses: int = 0
    draws: int = 0


class CallContext(MessagePart):
    opponent_id: str | None = None
    round_id: int | None = None
    your_standings: OwnStandings | None = None
    draw_commitment: str | None = None


class ChooseParityCall(Message):
    """Even/Odd: the referee asks for a choice."""

    TYPE: ClassVar = "CHOOSE_PARITY_CALL"

    match_id: str
    player_id: str | None = None
    game_type: str | None = None
    context: CallContext | None = None
    deadline: str | None = None


class MoveUsage(MessagePart):
    """What a move has cost its player: for the record, and for nothing else."""

    model: Annotated[str, Field(max_length=200)]
    input_tokens: Count
    output_tokens: Count
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """Null if the price is unknown."""
    latency_ms: Count
    attempts: Count
    fallback: Annotated[str, Field(max_length=200)] | None
    """Why the move is not the model's own; null if it is."""


ReportedUsage = Annotated[Any, WithJsonSchema(MoveUsage.model_json_schema())]
"""A MoveUsage in our own messages; any value is accepted from others, without a refusal."""


class ChooseParityResponse(Message):
    """Even/Odd: the choice, exactly `even` or `odd`."""

    TYPE: ClassVar = "CHOOSE_PARITY_RESPONSE"
    CODES: ClassVar[Mapping[str, ErrorCode]] = {"parity_choice": ErrorCode.INVALID_PARITY_CHOICE}

    match_id: str | None = None
    player_id: str | None = None
    parity_choice: Parity
    usage: ReportedUsage = None


class MoveRequest(MessagePart):
    """What is asked for: one of `valid_options` or what `move_schema` allows, given what the seat sees (`context`)."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["valid_options"]}, {"required": ["move_schema"]}]},
    )

    move_type: str
    valid_options: list[Any] | None = None
    move_schema: dict[str, Any] | None = None
    """A JSON Schema of the legal moves, if they are too many to be listed; `valid_options` takes precedence."""
    context: Any = None
    step: int
    your_role: RoleInMatch


class GameMoveCall(Message):
    """Any game: the referee asks for a move."""

    TYPE: ClassVar = "GAME_MOVE_CALL"

    match_id: str
    player_id: str | None = None
    game_type: str
    context: CallContext | None = None
    move_request: MoveRequest
    deadline: str | None = None


class GameMoveResponse(Message):
    """Any game: the move."""

    TYPE: ClassVar = "GAME_MOVE_RESPONSE"
    CODES: ClassVar[Mapping[str, ErrorCode]] = {"move_data": ErrorCode.INVALID_MOVE}

    match_id: str | None = None
    player_id: str | None = None
    move_data: Any
    usage: ReportedUsage = None


class GameResult(MessagePart):
    """How it ended; a game adds its own fields."""

    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
    winner_player_id: str | None = None
    choices: dict[str, Any] | None = None
    reason: str | None = None


class GameOver(Message):
    """The match is over."""

    TYPE: ClassVar = "GAME_OVER"

    match_id: str
    game_type: str | None = None
    game_result: GameResult
    draw_seed: str | None = None
    """The seed that was committed to."""
