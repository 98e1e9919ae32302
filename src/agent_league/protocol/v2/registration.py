"""Registration of referees and players."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Items, Message, Part

Name = Annotated[str, Field(min_length=1, max_length=100)]


class PlayerMeta(Part):
    display_name: Name
    version: str
    game_types: Items[str]
    contact_endpoint: str
    protocol_version: str | None = None


class RefereeMeta(PlayerMeta):
    max_concurrent_matches: Annotated[int, Field(ge=1, le=10_000)] = 1


class LeagueRegisterRequest(Message):
    """A player asks to take part."""

    TYPE: ClassVar = "LEAGUE_REGISTER_REQUEST"

    player_meta: PlayerMeta


class RefereeRegisterRequest(Message):
    """A referee offers its service."""

    TYPE: ClassVar = "REFEREE_REGISTER_REQUEST"

    referee_meta: RefereeMeta


class LeagueRegisterResponse(Message):
    """The manager's answer to a player; after a refusal id and token are null and `reason` says why."""

    TYPE: ClassVar = "LEAGUE_REGISTER_RESPONSE"

    status: Literal["ACCEPTED", "REJECTED"]
    player_id: str | None = None
    reason: str | None = None


class RefereeRegisterResponse(Message):
    """The manager's answer to a referee."""

    TYPE: ClassVar = "REFEREE_REGISTER_RESPONSE"

    status: Literal["ACCEPTED", "REJECTED"]
    referee_id: str | None = None
    reason: str | None = None
