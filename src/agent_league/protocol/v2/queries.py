"""LEAGUE_QUERY, a registered agent's question to the manager, and its response."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from agent_league.protocol.envelope import Message

QueryType = Literal["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS"]


class LeagueQuery(Message):
    """A registered agent asks about the league."""

    TYPE: ClassVar = "LEAGUE_QUERY"

    query_type: QueryType
    query_params: dict[str, Any] = Field(default_factory=dict)


class LeagueQueryResponse(Message):
    """The answer; for GET_STANDINGS `standings` stands at the top as well."""

    TYPE: ClassVar = "LEAGUE_QUERY_RESPONSE"

    query_type: QueryType
    success: bool
    data: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    standings: list[dict[str, Any]] | None = None
    league_status: str | None = None
    """REGISTRATION, RUNNING or COMPLETED."""
