"""The messages of `league.v1`: registration, the league and its rounds, and one match."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Items, MessagePart
from agent_league.protocol.fields import GameType, Losses, Rank, ShownName, TotalMatches, TotalRounds, Wins
from agent_league.protocol.v1.envelope import V1Message
from agent_league.protocol.v2.registration import AgentVersion, DisplayName, KnownGames

RejectionReason = Literal[
    "Unsupported game type", "Invalid MCP endpoint", "Duplicate display name", "Registration closed"
]
PlayerName = Annotated[str, Field(description="The player, such as player_001.", examples=["player_001"])]
Winner = Annotated[str, Field(description="The player who won, or null.", examples=["player_001"])]
MatchRole = Annotated[
    Literal["challenger", "defender"], Field(description="The challenger is asked first, the defender second.")
]
Seconds = int | float
ANSWER_LIMIT = "So long the answer may take."


class PlayerMeta(MessagePart):
    display_name: DisplayName
    version: AgentVersion
    game_types: KnownGames
    contact_endpoint: str = Field(
        description="Where it is called: mcp://HOST:PORT/NAME, or http://HOST:PORT/mcp.",
        examples=["mcp://localhost:8101/agent_alpha"],
    )


class LeagueRegisterRequest(V1Message):
    """A player asks to take part; it has no id yet and calls itself `player_candidate`."""

    TYPE: ClassVar = "LEAGUE_REGISTER_REQUEST"
    SENDER: ClassVar = "player_candidate"
    MATCH_ID: ClassVar = "REGISTRATION"

    player_meta: PlayerMeta = Field(description="What the player says of itself.")


class LeagueRegisterResponse(V1Message):
    """The manager's answer."""

    TYPE: ClassVar = "LEAGUE_REGISTER_RESPONSE"
    SENDER: ClassVar = "league_manager"
    MATCH_ID: ClassVar = "REGISTRATION"

    status: Literal["ACCEPTED", "REJECTED"] = Field(description="How it stands or how it ended.")
    player_id: PlayerName | None = None
    reason: RejectionReason | None = Field(default=None, description="Why, in a sentence.", examples=[None])


PlayError = Literal["Invalid choice format", "Choice not in allowed values", "Timeout exceeded", "Malformed JSON"]


class GameInfo(MessagePart):
    """The challenger goes first, the defender second."""

    game_type: GameType
    opponent_id: str = Field(description="The other player of the match.", examples=["player_002"])
    your_role: MatchRole
    timeout_seconds: Seconds | None = Field(default=None, description=ANSWER_LIMIT, examples=[30])


class GameInvitation(V1Message):
    """The referee invites a player."""

    TYPE: ClassVar = "GAME_INVITATION"

    game_info: GameInfo = Field(description="What is to be played, and against whom.")


class GameInvitationResponse(V1Message):
    """The player comes, or declines."""

    TYPE: ClassVar = "GAME_INVITATION_RESPONSE"
    SENDER: ClassVar = "player_001"

    status: Literal["READY", "DECLINED"] = Field(description="How it stands or how it ended.")


class StartRules(MessagePart):
    single_round: bool | None = Field(default=None, description="Whether one round decides it.")
    timeout_per_move: Seconds | None = Field(
        default=None, description="So long a move may take, in seconds.", examples=[30]
    )


class StartState(MessagePart):
    game_type: GameType
    current_player: str = Field(description="Who is asked first.", examples=["player_001"])
    rules: StartRules | None = Field(default=None, description="What it is played by.")


class GameStart(V1Message):
    """Both players are there."""

    TYPE: ClassVar = "GAME_START"

    game_state: StartState = Field(description="Where the game stands.")


class SpecificState(MessagePart):
    """What the game shows; all but `previous_plays` is ours, for whoever isn't asked as seed 001 asks in Even/Odd."""

    previous_plays: list[Any] | None = Field(default=None, description="What was played before.")
    game_type: GameType | None = None
    valid_options: list[Any] | None = Field(
        default=None, description="The legal moves: answer with exactly one of them.", examples=[None]
    )
    move_schema: dict[str, Any] | None = Field(
        default=None,
        description="A JSON Schema of the legal moves, where they are too many to be listed.",
        examples=[None],
    )
    view: Any = Field(default=None, description="What the player may see.", examples=[None])
    your_role: MatchRole | None = None


class PlayState(MessagePart):
    turn_number: int = Field(description="Which turn it is, from 1.")
    timeout_seconds: Seconds | None = Field(default=None, description=ANSWER_LIMIT, examples=[30])
    game_specific_state: SpecificState = Field(default=SpecificState(), description="What the game shows.")


class PlayRequest(V1Message):
    """The referee asks for a move."""

    TYPE: ClassVar = "PLAY_REQUEST"

    game_state: PlayState = Field(description="Where the game stands.")


class Play(MessagePart):
    """A move; whether it is a legal one is for the rules to say."""

    action: str = Field(default="choose", description="What is done: choose.", examples=["choose"])
    value: Any = Field(description="What is chosen.", examples=["even"])
    reasoning: str | None = Field(
        default=None, description="Why, in the player's own words.", examples=["even was drawn more often"]
    )


class PlayResponse(V1Message):
    """The move."""

    TYPE: ClassVar = "PLAY_RESPONSE"
    SENDER: ClassVar = "player_001"

    play: Play = Field(description="The move.")


class Validation(MessagePart):
    """`play.value` is null to the opponent of somebody whose play is invalid."""

    player_id: PlayerName
    play: Play | None = Field(description="The move.")
    status: Literal["VALID", "INVALID"] = Field(description="How it stands or how it ended.")
    error: PlayError | None = Field(default=None, description="What was wrong with the move.", examples=[None])


class PlayValidation(V1Message):
    """What the referee says of a move."""

    TYPE: ClassVar = "PLAY_VALIDATION"

    validation: Validation = Field(description="What the referee says of the move.")


class Turn(MessagePart):
    """A turn in `moves`: each player's move stands under the player's id."""

    turn: int = Field(description="Which turn it was, from 1.")
    number: int | None = Field(default=None, description="The number that was drawn.", examples=[4])
    winner: Winner | None = None


class GameSummary(MessagePart):
    """How it went, in both forms of seed 001: `<player>_choice` for each player, and `moves`."""

    random_number: int | None = Field(default=None, description="The number that was drawn.", examples=[4])
    number_parity: Literal["even", "odd"] | None = Field(
        default=None, description="Whether that number is even or odd."
    )
    winner_reason: str | None = Field(
        default=None, description="Why, in a sentence.", examples=["player_001 chose even, number was 4 (even)"]
    )
    moves: Items[Turn] = Field(
        default_factory=list, description="Turn by turn: each player's move stands under its id."
    )

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

    winner: Winner | None = None
    loser: str | None = Field(default=None, description="The player who lost, or null.", examples=["player_002"])
    outcome: Literal["WIN", "DRAW", "FORFEIT"] = Field(description="What came of it.")
    game_summary: GameSummary = Field(default=GameSummary(), description="How it went.")


class GameResult(V1Message):
    """The match is over: to both players and to the league."""

    TYPE: ClassVar = "GAME_RESULT"

    result: Result = Field(description="How it ended; null while it runs.")


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


class ScheduledMatch(MessagePart):
    match_id: str = Field(description="The match; outside a match a word such as REGISTRATION.", examples=["R1M1"])
    player1: str = Field(description="One player.", examples=["player_001"])
    player2: str = Field(description="The other one.", examples=["player_002"])


class ScheduledRound(MessagePart):
    round_id: int = Field(description="The number of the round; 0 before the first.")
    matches: Items[ScheduledMatch] = Field(description="The matches.")


class LeagueInfo(MessagePart):
    total_rounds: TotalRounds
    total_players: int = Field(description="Players in all.", examples=[4])
    game_type: GameType
    schedule: Items[ScheduledRound] = Field(description="All rounds with their matches.")


class LeagueStartAnnouncement(V1Message):
    """Registration is closed: who meets whom, and when."""

    TYPE: ClassVar = "LEAGUE_START_ANNOUNCEMENT"
    SENDER: ClassVar = "league_manager"
    MATCH_ID: ClassVar = "ANNOUNCEMENT"

    league_info: LeagueInfo = Field(description="The league and its schedule.")


class Ranking(MessagePart):
    """A player's place; players that are level share a rank."""

    rank: Rank
    player_id: PlayerName
    wins: Wins
    losses: Losses = Field(examples=[1])


class RoundSummary(MessagePart):
    matches_played: int = Field(description="Matches of the round that are over.", examples=[2])
    standings: Items[Ranking] = Field(description="The table, best first.")


class RoundComplete(V1Message):
    """A round is over."""

    TYPE: ClassVar = "ROUND_COMPLETE"
    SENDER: ClassVar = "league_manager"
    MATCH_ID: ClassVar = "ROUND_SUMMARY"

    round_summary: RoundSummary = Field(description="The round in numbers.")


class Champion(MessagePart):
    player_id: PlayerName
    display_name: ShownName
    wins: Wins
    losses: Losses = Field(examples=[1])
    win_rate: float = Field(description="The share of matches won.", examples=[0.667])


class FinalStandings(MessagePart):
    total_rounds: TotalRounds
    total_matches: TotalMatches
    champion: Champion = Field(description="Who won the league.")
    rankings: Items[Ranking] = Field(description="The final table.")


class LeagueComplete(V1Message):
    """The last round is over."""

    TYPE: ClassVar = "LEAGUE_COMPLETE"
    SENDER: ClassVar = "league_manager"
    MATCH_ID: ClassVar = "FINAL_STANDINGS"

    final_standings: FinalStandings = Field(description="How the league ended.")


def calculate_win_rate(wins: int, played: int) -> float:
    """The share of matches won, to three places; 0.0 if none was played."""
    return round(wins / played, 3) if played else 0.0
