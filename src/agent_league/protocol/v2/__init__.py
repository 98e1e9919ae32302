"""The messages of `league.v2`, one file a topic; `MESSAGES` finds a type by its name."""

from collections.abc import Mapping

from agent_league.protocol.envelope import Message
from agent_league.protocol.v2.control import ManageLeague, StartLeague, StartMatch
from agent_league.protocol.v2.errors import GameError, LeagueError
from agent_league.protocol.v2.game import (
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    MoveRequest,
    MoveUsage,
)
from agent_league.protocol.v2.queries import LeagueQuery, LeagueQueryResponse
from agent_league.protocol.v2.registration import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from agent_league.protocol.v2.results import MatchResultReport
from agent_league.protocol.v2.rounds import LeagueCompleted, RoundAnnouncement, RoundCompleted
from agent_league.protocol.v2.standings import LeagueStandingsUpdate

MESSAGES: Mapping[str, type[Message]] = {
    model.TYPE: model
    for model in (
        RefereeRegisterRequest,
        RefereeRegisterResponse,
        LeagueRegisterRequest,
        LeagueRegisterResponse,
        RoundAnnouncement,
        RoundCompleted,
        GameInvitation,
        GameJoinAck,
        ChooseParityCall,
        ChooseParityResponse,
        GameMoveCall,
        GameMoveResponse,
        GameOver,
        MatchResultReport,
        LeagueStandingsUpdate,
        LeagueCompleted,
        LeagueQuery,
        LeagueQueryResponse,
        LeagueError,
        GameError,
        StartLeague,
        ManageLeague,
        StartMatch,
    )
}

__all__ = [
    "MESSAGES",
    "ChooseParityCall",
    "ChooseParityResponse",
    "GameError",
    "GameInvitation",
    "GameJoinAck",
    "GameMoveCall",
    "GameMoveResponse",
    "GameOver",
    "LeagueCompleted",
    "LeagueError",
    "LeagueQuery",
    "LeagueQueryResponse",
    "LeagueRegisterRequest",
    "LeagueRegisterResponse",
    "LeagueStandingsUpdate",
    "ManageLeague",
    "MatchResultReport",
    "MoveRequest",
    "MoveUsage",
    "RefereeRegisterRequest",
    "RefereeRegisterResponse",
    "RoundAnnouncement",
    "RoundCompleted",
    "StartLeague",
    "StartMatch",
]
