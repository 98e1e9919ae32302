"""Registration of players in `league.v1`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Items, Part
from agent_league.protocol.v1.envelope import V1Message
from agent_league.protocol.v2.registration import Name, Word

RejectionReason = Literal[
    "Unsupported game type", "Invalid MCP endpoint", "Duplicate display name", "Registration closed"
]


class PlayerMeta(Part):
    display_name: Name
    version: Word
    game_types: Annotated[Items[Word], Field(max_length=1000)]
    contact_endpoint: str


class LeagueRegisterRequest(V1Message):
    """A player asks to take part; it has no id yet and calls itself `player_candidate`."""

    TYPE: ClassVar = "LEAGUE_REGISTER_REQUEST"
    MATCH_ID: ClassVar = "REGISTRATION"

    player_meta: PlayerMeta


class LeagueRegisterResponse(V1Message):
    """The manager's answer."""

    TYPE: ClassVar = "LEAGUE_REGISTER_RESPONSE"
    MATCH_ID: ClassVar = "REGISTRATION"

    status: Literal["ACCEPTED", "REJECTED"]
    player_id: str | None = None
    reason: RejectionReason | None = None
