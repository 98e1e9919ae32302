"""The messages of `league.v2`, one file a topic; `MESSAGES` finds a type by its name."""

from collections.abc import Mapping

from agent_league.protocol.envelope import Message
from agent_league.protocol.v2.errors import GameError, LeagueError
from agent_league.protocol.v2.league import (
    LeagueCompletedNotice,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueStandingsUpdate,
    ManageLeague,
    RequestMatch,
    RoundAnnouncement,
    RoundCompletedNotice,
    Standing,
    StartLeague,
)
from agent_league.protocol.v2.match import (
    MAX_REASONING,
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    MatchLimits,
    MatchPlayer,
    MatchResultReport,
    MoveRequest,
    MoveUsage,
    StartMatch,
)
from agent_league.protocol.v2.registration import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)

MESSAGES: Mapping[str, type[Message]] = {
    model.TYPE: model
    for model in (
        RefereeRegisterRequest,
        RefereeRegisterResponse,
        LeagueRegisterRequest,
        LeagueRegisterResponse,
        RoundAnnouncement,
        RoundCompletedNotice,
        GameInvitation,
        GameJoinAck,
        ChooseParityCall,
        ChooseParityResponse,
        GameMoveCall,
        GameMoveResponse,
        GameOver,
        MatchResultReport,
        LeagueStandingsUpdate,
        LeagueCompletedNotice,
        LeagueQuery,
        LeagueQueryResponse,
        LeagueError,
        GameError,
        StartLeague,
        ManageLeague,
        RequestMatch,
        StartMatch,
    )
}

__all__ = [
    "MAX_REASONING",
    "MESSAGES",
    "ChooseParityCall",
    "ChooseParityResponse",
    "GameError",
    "GameInvitation",
    "GameJoinAck",
    "GameMoveCall",
    "GameMoveResponse",
    "GameOver",
    "LeagueCompletedNotice",
    "LeagueError",
    "LeagueQuery",
    "LeagueQueryResponse",
    "LeagueRegisterRequest",
    "LeagueRegisterResponse",
    "LeagueStandingsUpdate",
    "ManageLeague",
    "MatchLimits",
    "MatchPlayer",
    "MatchResultReport",
    "MoveRequest",
    "MoveUsage",
    "RefereeRegisterRequest",
    "RefereeRegisterResponse",
    "RequestMatch",
    "RoundAnnouncement",
    "RoundCompletedNotice",
    "Standing",
    "StartLeague",
    "StartMatch",
]
