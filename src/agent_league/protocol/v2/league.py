"""Messages of the league itself: control by the organiser, rounds, standings, queries and the end."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import ExactPart, Items, Message, MessagePart
from agent_league.protocol.fields import (
    URI,
    Draws,
    GameType,
    Losses,
    MatchId,
    MatchToken,
    OwnToken,
    Played,
    PlayerAEndpoint,
    PlayerAId,
    PlayerBEndpoint,
    PlayerBId,
    PlayerId,
    Points,
    Rank,
    RefereeId,
    RoundId,
    SharedRank,
    ShownName,
    TechnicalLosses,
    TotalMatches,
    TotalRounds,
    Wins,
)


class StartLeague(Message):
    """The organiser closes registration and starts; `auth_token` is the admin token."""

    TYPE: ClassVar = "START_LEAGUE"
    NEVER_SENT: ClassVar = "round_id match_id"

    auth_token: OwnToken | None = Field(default=None, examples=["tok-admin-…"])
    without_missing_teams: bool = Field(
        default=False,
        description=(
            "Whether to start without the teams of a roster that haven't signed up or aren't reachable; without it a"
            " start is refused that names them."
        ),
    )


LeagueAction = Literal[
    "OPEN_REGISTRATION",
    "CLOSE_REGISTRATION",
    "PAUSE",
    "RESUME",
    "FREEZE_AGENTS",
    "UNFREEZE_AGENTS",
    "PLAY_ROUND",
    "SET_TIMES",
    "SUSPEND_PLAYER",
    "REINSTATE_PLAYER",
    "RERUN_MATCH",
    "VOID_MATCH",
    "AWARD_MATCH",
    "WITHDRAW_PLAYER",
    "ADMIT_PLAYER",
]


class ManageLeague(Message):
    """The organiser opens or closes registration, pauses or goes on, suspends a player, or corrects what was played.

    With the admin token.
    """

    TYPE: ClassVar = "MANAGE_LEAGUE"
    NEVER_SENT: ClassVar = "round_id"

    auth_token: OwnToken | None = Field(default=None, examples=["tok-admin-…"])

    action: LeagueAction = Field(description="What is to be done.")
    player_id: str | None = Field(
        default=None,
        description=(
            "The player, by id or name, of actions about a player; of AWARD_MATCH, who wins, or `draw`; not for the"
            " other actions."
        ),
        examples=[None],
    )
    reason: str | None = Field(
        default=None,
        description="Why, in a sentence for the audit log, which is public; needed for corrections and times.",
        examples=[None],
    )
    times: dict[str, str] | None = Field(
        default=None,
        description=(
            "For SET_TIMES: texts by the names that `times` has in the league file, lists with one entry a line, empty"
            " for none; times that aren't named stay as they are."
        ),
        examples=[None],
    )
    void_followers: bool = Field(
        default=False,
        description=(
            "For RERUN_MATCH, VOID_MATCH and AWARD_MATCH: whether matches of later rounds become void if the corrected"
            " result sends other players on; without it such a correction is refused."
        ),
    )


class ManagedLeague(ExactPart):
    """The command was carried out."""

    status: Literal["ok"] = Field(description="Always ok.")
    change: str = Field(description="What changed, as a sentence.", examples=["the league is paused."])


class RequestMatch(Message):
    """A player of a practice ladder asks for a match against another one."""

    TYPE: ClassVar = "REQUEST_MATCH"
    NEVER_SENT: ClassVar = "round_id match_id"

    opponent_id: str = Field(description="Whom to meet, by id or name.", examples=["P02"])


class RequestedMatch(ExactPart):
    """The request stands."""

    status: Literal["ok"] = Field(description="Always ok.")
    message: str = Field(
        description="What comes of it, as a sentence.",
        examples=["The match P01 against P02 is played as soon as both are free."],
    )


class AnnouncedMatch(MessagePart):
    """A match of the round.

    A referee's copy carries the players' endpoints, which referee has the match, and the match token of its own
    matches. The players' copy says how a referee is known that shows its own token, as the seeds do.
    """

    match_id: MatchId
    game_type: GameType
    player_A_id: PlayerAId
    player_B_id: PlayerBId
    referee_endpoint: str = Field(
        description="Where the referee is called.", examples=["http://localhost:8001/mcp"], json_schema_extra=URI
    )
    player_A_endpoint: PlayerAEndpoint | None = None
    player_B_endpoint: PlayerBEndpoint | None = None
    referee_id: RefereeId | None = None
    match_token: MatchToken | None = None
    referee_token_sha256: str | None = Field(
        default=None,
        description="The hash of the token that this referee shows, where it is one that shows its own.",
        examples=[None],
    )


class RoundAnnouncement(Message):
    """A round begins: who meets whom, and where the referee is."""

    TYPE: ClassVar = "ROUND_ANNOUNCEMENT"
    ALWAYS_SENT: ClassVar = "league_id"
    NEVER_SENT: ClassVar = "auth_token match_id"

    round_id: RoundId
    matches: Items[AnnouncedMatch] = Field(description="The matches.")

    @cached_property
    def matches_by_player(self) -> Mapping[str, Sequence[AnnouncedMatch]]:
        """The matches of each player; sorted once for all agents of a process, which share the parsed message."""
        sorted_matches: dict[str, list[AnnouncedMatch]] = {}
        for match in self.matches:
            for player_id in {match.player_A_id, match.player_B_id}:
                sorted_matches.setdefault(player_id, []).append(match)
        return sorted_matches


class RoundSummary(MessagePart):
    total_matches: TotalMatches = Field(examples=[2])
    wins: Wins = Field(examples=[1])
    draws: Draws
    technical_losses: TechnicalLosses
    void: int = Field(default=0, description="Matches that count for nobody: no referee reported them.", examples=[0])


class RoundCompletedNotice(Message):
    """A round is over."""

    TYPE: ClassVar = "ROUND_COMPLETED"
    ALWAYS_SENT: ClassVar = "league_id matches_completed matches_played next_round_id? summary"
    NEVER_SENT: ClassVar = "auth_token match_id"

    round_id: RoundId
    matches_completed: int | None = Field(default=None, description="Matches of the round that are over.", examples=[2])
    matches_played: int | None = Field(default=None, description="Matches of the round that are over.", examples=[2])
    next_round_id: int | None = Field(default=None, description="The next round; null after the last.", examples=[2])
    summary: RoundSummary | None = Field(default=None, description="The round in numbers.")
    void_match_ids: list[str] | None = Field(
        default=None, description="The ids of the void matches, where there are any.", examples=[None]
    )


class Champion(MessagePart):
    player_id: PlayerId
    display_name: ShownName
    points: Points


class FinalRank(MessagePart):
    rank: Rank
    player_id: PlayerId
    points: Points
    shared_rank: SharedRank | None = Field(default=None, examples=[1])


class LeagueCompletedNotice(Message):
    """The last round is over."""

    TYPE: ClassVar = "LEAGUE_COMPLETED"
    ALWAYS_SENT: ClassVar = "league_id"
    NEVER_SENT: ClassVar = "auth_token round_id match_id"

    total_rounds: TotalRounds
    total_matches: TotalMatches
    champion: Champion = Field(description="The first of the final table.")
    champions: Items[Champion] = Field(
        default_factory=list,
        description="All who share the first place; several where the tiebreakers can't separate them.",
    )
    final_standings: Items[FinalRank] = Field(description="The final table.")


class Standing(MessagePart):
    rank: Rank
    player_id: PlayerId
    display_name: ShownName
    played: Played
    wins: Wins
    draws: Draws
    losses: Losses
    points: Points
    shared_rank: SharedRank | None = Field(default=None, examples=[1])


class LeagueStandingsUpdate(Message):
    """The table after a round."""

    TYPE: ClassVar = "LEAGUE_STANDINGS_UPDATE"
    ALWAYS_SENT: ClassVar = "league_id"
    NEVER_SENT: ClassVar = "auth_token match_id"

    round_id: RoundId
    standings: Items[Standing] = Field(description="The table, best first.")


QueryType = Annotated[
    Literal["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_LADDER"],
    Field(description="What is asked for.", examples=["GET_PLAYER_STATS"]),
]


class LeagueQuery(Message):
    """A registered agent asks about the league."""

    TYPE: ClassVar = "LEAGUE_QUERY"
    ALWAYS_SENT: ClassVar = "query_params"
    NEVER_SENT: ClassVar = "round_id match_id"

    query_type: QueryType
    query_params: dict[str, Any] = Field(
        default_factory=dict,
        description="`player_id` for GET_NEXT_MATCH, GET_PLAYER_STATS and GET_LADDER; the caller where it is left out.",
        examples=[{"player_id": "P01"}],
    )


class LeagueQueryResponse(Message):
    """The answer; for GET_STANDINGS `standings` stands at the top as well."""

    TYPE: ClassVar = "LEAGUE_QUERY_RESPONSE"
    ALWAYS_SENT: ClassVar = "league_id data? error?"
    NEVER_SENT: ClassVar = "auth_token round_id match_id"

    query_type: QueryType
    success: bool = Field(description="Whether there is an answer.")
    data: dict[str, Any] | None = Field(
        default=None,
        description="The answer, by `query_type`; null where there is none.",
        examples=[{"player_id": "P01", "display_name": "Agent Alpha", "rank": 1, "points": 7}],
    )
    error: dict[str, Any] | None = Field(default=None, description="Why there is no answer.", examples=[None])
    standings: list[dict[str, Any]] | None = Field(default=None, description="The table, best first.", examples=[None])
    league_status: str | None = Field(
        default=None, description="REGISTRATION, RUNNING or COMPLETED.", examples=["RUNNING"]
    )
