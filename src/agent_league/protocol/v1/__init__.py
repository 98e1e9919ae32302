"""The messages of `league.v1` (seed 001), one file a topic; `MESSAGES` finds a type by its name.

Also its ids (`ids`), the checks on an arriving message (`checks`) and the translation to `league.v2` and back
(`translation`).
"""

from collections.abc import Mapping

from agent_league.protocol.v1.envelope import V1Message
from agent_league.protocol.v1.messages import (
    GameInvitation,
    GameInvitationResponse,
    GameResult,
    GameStart,
    LeagueComplete,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    LeagueStartAnnouncement,
    PlayRequest,
    PlayResponse,
    PlayValidation,
    RoundComplete,
)

MESSAGES: Mapping[str, type[V1Message]] = {
    model.TYPE: model
    for model in (
        LeagueRegisterRequest,
        LeagueRegisterResponse,
        LeagueStartAnnouncement,
        GameInvitation,
        GameInvitationResponse,
        GameStart,
        PlayRequest,
        PlayResponse,
        PlayValidation,
        GameResult,
        RoundComplete,
        LeagueComplete,
    )
}

__all__ = [
    "MESSAGES",
    "GameInvitation",
    "GameInvitationResponse",
    "GameResult",
    "GameStart",
    "LeagueComplete",
    "LeagueRegisterRequest",
    "LeagueRegisterResponse",
    "LeagueStartAnnouncement",
    "PlayRequest",
    "PlayResponse",
    "PlayValidation",
    "RoundComplete",
    "V1Message",
]
