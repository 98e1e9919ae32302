"""MCP servers of the SDK's over real HTTP, to be killed in mid-call and started again; and time to order."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations, ToolListChangedNotification
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.config import McpServer
from agent_league.mcp.client.registry import ToolRegistry
from agent_league.mcp.client.sessions import SessionManager, SessionState, SessionTiming
from tests.conftest import BOUND, free_ports
from tests.http.wire import let_connections_begin

HEARTBEAT = 1000.0
LOOKS = ToolAnnotations(read_only_hint=True)
REPEATS = ToolAnnotations(idempotent_hint=True)


async def within_bound(wait: Awaitable[Any]) -> None:
    async with asyncio.timeout(BOUND):
        await wait


class Naps:
    """Sleep that takes no time, or as long as a test wants; heartbeats are due when the test says so."""

    def __init__(self, *, free: bool = True) -> None:
        self.rests: list[float] = []
        self._rested = asyncio.Event()
        self._free = free
        self._rests = asyncio.Semaphore(0)
        self._beats = asyncio.Semaphore(0)
        self._calm = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        if seconds == HEARTBEAT:
            self._calm.set()
            await self._beats.acquire()
            return
        self.rests.append(seconds)
        self._rested.set()
        if self._free:
            await asyncio.sleep(0)
        else:
            await self._rests.acquire()

    async def rested(self) -> None:
        """Waits for the next rest to begin."""
        await within_bound(self._rested.wait())
        self._rested.clear()

    def beat(self) -> None:
        self._beats.release()

    async def beaten(self) -> None:
        """Has a heartbeat happen, and waits until it has been answered."""
        await within_bound(self._calm.wait())
        self._calm.clear()
        self._beats.release()
        await within_bound(self._calm.wait())

    def wake(self) -> None:
        self._rests.release()


class House:
    """A server with tools: `look` may be repeated, `act` may not, both wait while `gate` is shut; `grow` adds one."""

    def __init__(self, *, old: bool = False, tools: dict[str, ToolAnnotations | None] | None = None) -> None:
        self.port = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.old = old
        self.grows = True
        self.listens = True
        """Whether one of the newer revision serves streams of changes."""
        self.tools = tools if tools is not None else {"look": LOOKS, "act": None}
        self.calls: Counter[str] = Counter()
        self.heard: Counter[str] = Counter()
        """Methods by their names in the header or the older revision's body."""
        self._entered = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.status = 0
        """Where set, what every request is answered with."""
        self.token = ""
        self.asleep = False
        """Where set, a request is taken and never answered."""
        self.dozing = asyncio.Event()
        self._server: uvicorn.Server | None = None
        self._mcp: MCPServer[Any] | None = None

    async def start(self) -> None:
        self._mcp = MCPServer("house", subscriptions=None if self.listens else False, log_level="CRITICAL")
        for name, hints in self.tools.items():
            self.add(name, hints)
        if self.grows:
            self._mcp.add_tool(self.grow)
        app = Bouncer(self, self._mcp.streamable_http_app())
        config = uvicorn.Config(app, "127.0.0.1", self.port, log_config=None, access_log=False, ws="none")
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup()

    def add(self, name: str, hints: ToolAnnotations | None = None) -> None:
        async def tool(word: str = "") -> str:
            self.calls[name] += 1
            self._entered.set()
            await self.gate.wait()
            return f"{name}: {word}"

        assert self._mcp is not None
        self._mcp.add_tool(tool, name, description=f"does {name}", annotations=hints)

    async def grow(self, word: str, ctx: Context[Any, Any]) -> str:
        """Adds a tool and says so, in the way of the revision."""
        self.add(word)
        if self.old:
            await ctx.session.send_notification(ToolListChangedNotification(), related_request_id=ctx.request_id)
        else:
            await ctx.notify_tools_changed()
        return word

    async def entered(self) -> None:
        """Waits for the next call of a tool to begin."""
        await within_bound(self._entered.wait())
        self._entered.clear()

    async def dozed(self) -> None:
        """Waits for the next request that isn't answered."""
        await within_bound(self.dozing.wait())
        self.dozing.clear()

    async def kill(self) -> None:
        """Ends it as a power cut does: connections break off, sessions are forgotten."""
        server, self._server = self._server, None
        if server is None:
            return
        for listener in server.servers:
            listener.close()
        await let_connections_begin()
        for connection in list(server.server_state.connections):
            transport = connection.transport
            assert isinstance(transport, asyncio.WriteTransport)
            transport.abort()
        tasks = list(server.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.lifespan.shutdown()


class Bouncer:
    """Stands before the server: makes it one of the older revision, or one that refuses."""

    def __init__(self, house: House, app: ASGIApp) -> None:
        self._house = house
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (status := self._refusal(dict(scope["headers"]))):
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["type"] == "http" and self._house.asleep:
            self._house.dozing.set()
            await asyncio.Event().wait()
        await self._app(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> int:
        house = self._house
        method = headers.get(b"mcp-method", b"").decode()
        house.heard[method] += 1
        if house.token and headers.get(b"authorization") != f"Bearer {house.token}".encode():
            return 401
        return 400 if house.old and method else house.status


def session_with(house: House, naps: Naps, **more: Any) -> SessionManager:
    """A session whose heartbeats and rests are in the test's hands."""
    server = McpServer(url=house.url, headers=more.pop("headers", {}))
    pace = SessionTiming(heartbeat_seconds=HEARTBEAT, **more.pop("pace", {}))
    return SessionManager(more.pop("name", "house"), server, timing=pace, sleep=naps, **more)


@asynccontextmanager
async def open_registry(sessions: Sequence[SessionManager]) -> AsyncIterator[ToolRegistry]:
    """A registry once it is known who is there; closed at the end."""
    registry = ToolRegistry(sessions)
    registry.start()
    for session in sessions:
        await within_bound(session.first_attempt_done.wait())
    try:
        yield registry
    finally:
        await registry.close()


async def settled(session: SessionManager) -> SessionState:
    """The state of a session once it is ready or closed."""
    await within_bound(session.wait_for_client())
    return session.state
