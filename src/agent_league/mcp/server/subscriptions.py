"""Resource subscriptions in both revisions of MCP: subscribers are notified of changes.

Changes are gathered for a moment first: while a league plays, the standings change many times a second.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from agent_league.agent.runtime import ResourceChanges
from agent_league.mcp.server.open_sessions import MAX_SESSIONS, OPEN_SESSIONS_KEY

Context = ServerRequestContext[Any, Any]
GATHER_SECONDS = 0.05
SEND_TIMEOUT = 5
"""Seconds in which a subscriber must accept its notifications."""
MAX_RESOURCES = 200
"""Resources that one session or stream may subscribe to."""
MAX_URI_LENGTH = 300


@dataclass(slots=True)
class _Subscriber:
    """A session that has subscribed to resources."""

    session: ServerSession
    open_sessions: Container[str]
    """Holds the ids of the sessions that haven't ended."""
    uris: set[str] = field(default_factory=set)


class ResourceSubscriptions:
    """The subscribers of one agent."""

    def __init__(self, changes: ResourceChanges, is_own_uri: Callable[[str], bool]) -> None:
        """`is_own_uri` says whether a URI is one of this agent's resources."""
        self._changes = changes
        self._is_own_uri = is_own_uri
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=MAX_SESSIONS)
        self._sessions: dict[str, _Subscriber] = {}
        self._changed_uris: set[str] = set()
        self._has_changes = asyncio.Event()
        self._notify_task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def lifespan(self, server: "Server[Any]") -> AsyncIterator[dict[str, Any]]:
        """Notify subscribers while the server is open; entered by both of the SDK's managers, it runs once."""
        if self._notify_task:
            yield {}
            return
        stop = self._changes.add_listener(self._note_change)
        self._notify_task = asyncio.create_task(self._notify_subscribers())
        try:
            yield {}
        finally:
            stop()
            self._streams.close()
            self._notify_task.cancel()
            await asyncio.gather(self._notify_task, return_exceptions=True)

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """`subscriptions/listen` (2026-07-28)."""
        self._check_uris(params.notifications.resource_subscriptions or ())
        return await self._streams(ctx, params)

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """`resources/subscribe` (2025-11-25)."""
        session_id = _session_id(ctx)
        if ctx.request is None or not session_id:
            raise MCPError(types.INVALID_REQUEST, "subscribe in a session: begin with initialize")
        if session_id not in self._sessions:
            open_sessions: Container[str] = ctx.request.scope[OPEN_SESSIONS_KEY]
            self._forget_ended_sessions()
            self._sessions[session_id] = _Subscriber(ctx.session, open_sessions)
        wanted = self._sessions[session_id].uris
        self._check_uris({*wanted, str(params.uri)})
        wanted.add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        if known := self._sessions.get(_session_id(ctx)):
            known.uris.discard(str(params.uri))
        return types.EmptyResult()

    def _forget_ended_sessions(self) -> None:
        """Drop the subscribers whose session has ended; the SDK tells nobody when that happens."""
        self._sessions = {name: each for name, each in self._sessions.items() if name in each.open_sessions}

    def _check_uris(self, addresses: Collection[str]) -> None:
        """Refuse too many, too long or unknown URIs, since they are kept while the subscription lasts."""
        if len(addresses) > MAX_RESOURCES or any(len(address) > MAX_URI_LENGTH for address in addresses):
            most = f"at most {MAX_RESOURCES} resources, with addresses of up to {MAX_URI_LENGTH} letters"
            raise MCPError(types.INVALID_PARAMS, f"subscribe to {most}")
        if strange := [address for address in addresses if not self._is_own_uri(address)]:
            raise MCPError(types.INVALID_PARAMS, f"no resource {strange[0]!r} here")

    def _note_change(self, uri: str) -> None:
        self._changed_uris.add(uri)
        self._has_changes.set()

    async def _notify_subscribers(self) -> None:
        while True:
            await self._has_changes.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._has_changes.clear()
            changed, self._changed_uris = self._changed_uris, set()
            for uri in sorted(changed):
                await self._bus.publish(ResourceUpdated(uri=uri))
            self._forget_ended_sessions()
            concerned = [(name, each) for name, each in self._sessions.items() if each.uris & changed]
            await asyncio.gather(
                *(self._notify_session(name, each.session, sorted(each.uris & changed)) for name, each in concerned)
            )

    async def _notify_session(self, session_id: str, session: ServerSession, uris: list[str]) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT):
                for uri in uris:
                    await session.send_resource_updated(uri)
        except Exception:  # noqa: BLE001 - whatever became of it, it doesn't listen
            self._sessions.pop(session_id, None)


def _session_id(ctx: Context) -> str:
    request = ctx.request
    return str(request.headers.get("mcp-session-id", "")) if request is not None else ""
