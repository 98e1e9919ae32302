"""Fields that many messages share: each type carries the description for tools and pages, and an example."""

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.config import JsonDict

DATE_TIME: JsonDict = {"format": "date-time"}
URI: JsonDict = {"format": "uri"}
SENDER_DESCRIPTION = "Who says it: league_manager, referee:ID or player:ID."

ConversationId = Annotated[
    str,
    Field(description="What ties an answer to its question; an answer repeats it.", examples=["conv-r1m1-001"]),
]

LeagueId = Annotated[str, Field(description="The league.", examples=["league_2025_even_odd"])]
RoundId = Annotated[int, Field(description="The number of the round, from 1.")]
MatchId = Annotated[str, Field(description="The match, such as R1M1 (round 1, match 1).", examples=["R1M1"])]
PlayerId = Annotated[str, Field(description="The player, such as P01.", examples=["P01"])]
PlayerAId = Annotated[str, Field(description="The player with role PLAYER_A.", examples=["P01"])]
PlayerBId = Annotated[str, Field(description="The player with role PLAYER_B.", examples=["P02"])]
OpponentId = Annotated[str, Field(description="The other player of the match.", examples=["P02"])]
WinnerId = Annotated[str, Field(description="Who won; null after a draw, or where both failed.", examples=["P01"])]
RefereeId = Annotated[
    str, Field(description="The referee, such as REF01; null where none has the match yet.", examples=["REF01"])
]
ShownName = Annotated[
    str,
    Field(
        description="The name that is shown; 1 to 100 printable characters, nobody else's.", examples=["Agent Alpha"]
    ),
]
PlayerAEndpoint = Annotated[
    str,
    Field(description="Where player A is called.", examples=["http://localhost:8101/mcp"], json_schema_extra=URI),
]
PlayerBEndpoint = Annotated[
    str,
    Field(description="Where player B is called.", examples=["http://localhost:8102/mcp"], json_schema_extra=URI),
]
OwnToken = Annotated[str, Field(description="The token of whoever says it.", examples=["eyJ…"])]
MatchToken = Annotated[str, Field(description="What vouches for the referee at a player; a secret.", examples=["eyJ…"])]
LinkPort = Annotated[
    int,
    Field(
        description="Where, on the host of its endpoint, its process takes links, each for calls to all its agents.",
        ge=1,
        le=65535,
        examples=[8101],
    ),
]

GameType = Annotated[str, Field(description="The game, such as even_odd.", examples=["even_odd"])]
GameParameters = Annotated[
    dict[str, Any],
    Field(description="The parameters of the game.", examples=[{"min_number": 1, "max_number": 10}]),
]
RoleInMatch = Annotated[Literal["PLAYER_A", "PLAYER_B"], Field(description="The seat in the match.")]
DrawCommitment = Annotated[
    str,
    Field(
        description="The hash of the seed that the draw follows from.",
        examples=["105d37e71f138d9106b05872d9d04e925e1887f718cef704cabfb452a1dd4cd6"],
    ),
]
Step = Annotated[int, Field(description="The step of the game, from 0.", examples=[0])]
Deadline = Annotated[
    str,
    Field(description="When the answer must be in.", examples=["2025-01-15T10:30:30Z"], json_schema_extra=DATE_TIME),
]
Moment = Annotated[str, Field(description="When.", json_schema_extra=DATE_TIME)]

ResultStatus = Annotated[
    Literal["WIN", "DRAW", "TECHNICAL_LOSS"],
    Field(description="How it stands or how it ended: TECHNICAL_LOSS where a player failed to answer."),
]
Reason = Annotated[str, Field(description="Why, in a sentence.", examples=[None])]
Details = Annotated[
    dict[str, Any],
    Field(
        description="The game's own facts, such as the drawn number and the choices.",
        examples=[{"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}}],
    ),
]
Terminations = Annotated[
    dict[str, str],
    Field(
        description="Player id -> how it ended for that player: normal, move_timeout, illegal_move, ...",
        examples=[{}],
    ),
]
TOLERATED = "What in an agent's messages differed from the protocol and was accepted."

Rank = Annotated[int, Field(description="The place in the table, from 1.", examples=[1])]
SharedRank = Annotated[
    int,
    Field(description="The rank that players who can't be separated share: 1, 1, 3; `rank` orders them by lot."),
]
Points = Annotated[
    int,
    Field(description="By the league's rule: 3 for a win, 1 for a draw unless its file says otherwise.", examples=[7]),
]
Played = Annotated[int, Field(description="Matches played.", examples=[3])]
Wins = Annotated[int, Field(description="Matches won.", examples=[2])]
Draws = Annotated[int, Field(description="Matches drawn.", examples=[1])]
Losses = Annotated[int, Field(description="Matches lost.", examples=[0])]
TechnicalLosses = Annotated[int, Field(description="Matches lost because no usable answer came.", examples=[0])]
TotalMatches = Annotated[int, Field(description="Matches in all.", examples=[6])]
TotalRounds = Annotated[int, Field(description="Rounds in all.", examples=[3])]

ErrorCodeText = Annotated[str, Field(description="The code of the error, such as E004.", examples=["E004"])]
ErrorName = Annotated[str, Field(description="The name that belongs to the code.", examples=["INVALID_PARITY_CHOICE"])]
ErrorSentence = Annotated[
    str,
    Field(description="The sentence that says what is wrong.", examples=["the choice is not exactly 'even' or 'odd'"]),
]
