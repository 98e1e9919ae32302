"""Registration of players in `league.v1`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Items, MessagePart
from agent_league.protocol.v1.envelope import V1Message
from agent_league.protocol.v2.registration import DisplayName, PrintableWord

RejectionReason = Literal[
    "Unsupported game type", "Invalid MCP endpoint", "Duplicate display name", "Registration closed"
]


class PlayerMeta(MessagePart):
    display_name: DisplayName
    version: PrintableWord
    game_types: Annotated[Items[PrintableWord], Field(max_length=1000)]
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
