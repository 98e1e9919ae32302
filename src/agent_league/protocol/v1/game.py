"""The messages of one match in `league.v1`: invitation, start, plays and their validation, and the result."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Items, MessagePart
from agent_league.protocol.v1.envelope import V1Message

MatchRole = Literal["challenger", "defender"]
PlayError = Literal["Invalid choice format", "Choice not in allowed values", "Timeout exceeded", "Malformed JSON"]
Seconds = int | float


class GameInfo(MessagePart):
    """The challenger goes first, the defender second."""

    game_type: str
    opponent_id: str
    your_role: MatchRole
    timeout_seconds: Seconds | None = None


class GameInvitation(V1Message):
    """The referee invites a player."""

    TYPE: ClassVar = "GAME_INVITATION"

    game_info: GameInfo


class GameInvitationResponse(V1Message):
    """The player comes, or declines."""

    TYPE: ClassVar = "GAME_INVITATION_RESPONSE"

    status: Literal["READY", "DECLINED"]


class Rules(MessagePart):
    single_round: bool | None = None
    timeout_per_move: Seconds | None = None


class StartState(MessagePart):
    game_type: str
    current_player: str
    rules: Rules | None = None


class GameStart(V1Message):
    """Both players are there."""

    TYPE: ClassVar = "GAME_START"

    game_state: StartState


class SpecificState(MessagePart):
    """What the game shows; all but `previous_plays` is ours, for whoever isn't asked as seed 001 asks in Even/Odd."""

    previous_plays: list[Any] | None = None
    game_type: str | None = None
    valid_options: list[Any] | None = None
    move_schema: dict[str, Any] | None = None
    view: Any = None
    your_role: MatchRole | None = None


class PlayState(MessagePart):
    turn_number: int
    timeout_seconds: Seconds | None = None
    game_specific_state: SpecificState = SpecificState()


class PlayRequest(V1Message):
    """The referee asks for a move."""

    TYPE: ClassVar = "PLAY_REQUEST"

    game_state: PlayState


class Play(MessagePart):
    """A move; whether it is a legal one is for the rules to say."""

    action: str = "choose"
    value: Any
    reasoning: str | None = None


class PlayResponse(V1Message):
    """The move."""

    TYPE: ClassVar = "PLAY_RESPONSE"

    play: Play


class Validation(MessagePart):
    """`play.value` is null to the opponent of somebody whose play is invalid."""

    player_id: str
    play: Play | None
    status: Literal["VALID", "INVALID"]
    error: PlayError | None = None


class PlayValidation(V1Message):
    """What the referee says of a move."""

    TYPE: ClassVar = "PLAY_VALIDATION"

    validation: Validation


class Turn(MessagePart):
    """A turn in `moves`: each player's move stands under the player's id."""

    turn: int
    number: int | None = None
    winner: str | None = None


class GameSummary(MessagePart):
    """How it went, in both forms of seed 001: `<player>_choice` for each player, and `moves`."""

    random_number: int | None = None
    number_parity: Literal["even", "odd"] | None = None
    winner_reason: str | None = None
    moves: Items[Turn] = Field(default_factory=list)

    def collect_choices(self) -> dict[str, Any]:
        """Each player's choice (a list if it moved more than once), from whichever form is present."""
        found = self.model_extra or {}
        flat = {name.removesuffix("_choice"): value for name, value in found.items() if name.endswith("_choice")}
        return flat or _collect_choices([turn.model_extra or {} for turn in self.moves])

    def find_drawn_number(self) -> int | None:
        drawn = (turn.number for turn in self.moves)
        return self.random_number if self.random_number is not None else next((n for n in drawn if n is not None), None)


class Result(MessagePart):
    """Without a winner it is a draw, or neither of them played (FORFEIT)."""

    winner: str | None = None
    loser: str | None = None
    outcome: Literal["WIN", "DRAW", "FORFEIT"]
    game_summary: GameSummary = GameSummary()


class GameResult(V1Message):
    """The match is over: to both players and to the league."""

    TYPE: ClassVar = "GAME_RESULT"

    result: Result


def format_seconds(limit: float) -> float:
    """Format a time limit as in seed 001: 30, not 30.0."""
    return int(limit) if float(limit).is_integer() else limit


def build_game_summary(
    moves: Sequence[Mapping[str, Any]],
    *,
    number: int | None,
    number_parity: str | None,
    winner: str | None,
    reason: str,
) -> dict[str, Any]:
    """Build `game_summary` in both forms; `moves` has for each turn: player id -> move."""
    turns: list[dict[str, Any]] = [{"turn": at, **turn} for at, turn in enumerate(moves, start=1)]
    if turns:
        turns[-1] |= {"number": number, "winner": winner}
    return {
        **{f"{player}_choice": choice for player, choice in _collect_choices(moves).items()},
        "random_number": number,
        "number_parity": number_parity,
        "winner_reason": reason,
        "moves": turns,
    }


def _collect_choices(moves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    made: dict[str, list[Any]] = {}
    for turn in moves:
        for player, move in turn.items():
            made.setdefault(player, []).append(move)
    return {player: own[0] if len(own) == 1 else own for player, own in made.items()}
