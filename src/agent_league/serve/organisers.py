"""Who may make leagues and begin seasons on this server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.types import Scope

from agent_league.http.hosts import is_loopback
from agent_league.web.organiser.sessions import OrganiserSession, OrganiserSessions


@dataclass(frozen=True, slots=True)
class ServerOrganiser:
    """Somebody who may change what the server has."""

    name: str
    session: OrganiserSession | None = None
    """None for somebody at the machine of a server that nobody else can reach, who has not signed in."""


class OrganiserCheck(Protocol):
    """Decides whether a request may change what the server has."""

    async def __call__(self, scope: Scope) -> ServerOrganiser | None:
        """Return the organiser, or None if the request comes from nobody who may."""
        ...


class LocalOrganisers:
    """Takes everybody for an organiser on a server that nobody but this machine can reach, and nobody elsewhere."""

    def __init__(self, is_loopback_only: Callable[[], bool]) -> None:
        self._is_loopback_only = is_loopback_only

    async def __call__(self, scope: Scope) -> ServerOrganiser | None:
        client = scope.get("client")
        return ServerOrganiser("organiser") if client and self._is_loopback_only() and is_loopback(client[0]) else None


class SignedInOrganisers:
    """Takes those for organisers who have signed in with a link for all leagues, and those whom `others` takes."""

    def __init__(self, sessions: OrganiserSessions, others: OrganiserCheck) -> None:
        self._sessions = sessions
        self._others = others

    async def __call__(self, scope: Scope) -> ServerOrganiser | None:
        session = await self._sessions.find_session(scope)
        if session is not None and session.league_id is None:
            return ServerOrganiser(session.name, session)
        return await self._others(scope)
