"""Who may make leagues and begin seasons on this server."""

from typing import Protocol

from starlette.types import Scope

from agent_league.http.hosts import is_loopback


class OrganiserCheck(Protocol):
    """Decides whether a request may change what the server has."""

    def __call__(self, scope: Scope) -> str | None:
        """Return the organiser's name, or None if the request comes from nobody who may."""
        ...


class LocalOrganisers:
    """Takes everybody for an organiser on a server that nobody but this machine can reach, and nobody elsewhere."""

    def __init__(self, *, is_loopback_only: bool) -> None:
        self._is_loopback_only = is_loopback_only

    def __call__(self, scope: Scope) -> str | None:
        client = scope.get("client")
        return "organiser" if self._is_loopback_only and client and is_loopback(client[0]) else None
