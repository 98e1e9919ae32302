"""Two servers in this process, of which one owns a league, and a directory that the test writes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.http.carrier import RequestRejected
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.serve.internal_app import InternalApp
from agent_league.serve.league_calls import LeagueCalls
from agent_league.serve.passed_call import CallSigner, CallVerifier
from agent_league.serve.passing import CallPasser
from agent_league.serve.served_league import LeagueHealth
from agent_league.storage.directory import ServerRow

KEY = b"k" * 32
LEAGUE = "spring"


@dataclass(slots=True)
class FakeOwners:
    """Who owns which league, as the test says."""

    server_id: str
    owners: dict[str, ServerRow] = field(default_factory=dict)

    def has_league(self, league_id: str) -> bool:
        return league_id == LEAGUE

    def find_owner(self, league_id: str) -> ServerRow | None:
        return self.owners.get(league_id)


class FakeLeague:
    """A league that is whatever application the test wants."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.health = LeagueHealth.SERVED

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class FakeServer:
    """One of several servers: a public listener, an internal one, and the leagues that are here."""

    takes_websockets = True

    def __init__(self, server_id: str, folder: Path, now: Callable[[], float]) -> None:
        self.leagues: dict[str, Any] = {}
        self.owners = FakeOwners(server_id)
        self.log = JsonLogger(server_id, log_root=folder, folder="system")
        self.passer = CallPasser(CallSigner(KEY, now), "127.0.0.1")
        self.calls = LeagueCalls(self.leagues.get, self.owners, self.passer, self.log)
        self.verifier = CallVerifier(KEY, lambda: server_id, now)
        self.public = HttpServer(self, "127.0.0.1", 0, "a test")
        self.internal = HttpServer(InternalApp(self, self.verifier, self.log), "127.0.0.1", 0, "a test")

    @property
    def row(self) -> ServerRow:
        return ServerRow(self.owners.server_id, f"http://127.0.0.1:{self.internal.port}")

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.public.port}/leagues/{LEAGUE}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = {**scope, "path": scope["path"].removeprefix(f"/leagues/{LEAGUE}")}
        try:
            await self.calls.serve(LEAGUE, scope, inner, receive, send)
        except RequestRejected as error:
            kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
            await send({"type": f"{kind}.start", "status": error.status, "headers": []})
            await send({"type": f"{kind}.body", "body": error.sentence.encode()})


@dataclass(frozen=True, slots=True)
class PassingStage:
    """`entry` passes calls on to `owner`; `session` is somebody who calls."""

    entry: FakeServer
    owner: FakeServer
    session: aiohttp.ClientSession

    def let_own(self, server: FakeServer | None) -> None:
        """Write into the directory of both who owns the league."""
        for one in (self.entry, self.owner):
            one.owners.owners = {LEAGUE: server.row} if server else {}


@asynccontextmanager
async def two_servers(
    folder: Path, league: ASGIApp, now: Callable[[], float] = time.time
) -> AsyncIterator[PassingStage]:
    """Serve a league at `owner`, and let `entry` know it."""
    entry, owner = FakeServer("entry", folder, now), FakeServer("owner", folder, now)
    owner.leagues[LEAGUE] = FakeLeague(league)
    listeners = [listener for one in (entry, owner) for listener in (one.public, one.internal)]
    for listener in listeners:
        await listener.start()
    async with aiohttp.ClientSession() as session:
        try:
            stage = PassingStage(entry, owner, session)
            stage.let_own(owner)
            yield stage
        finally:
            for one in (entry, owner):
                await one.passer.close()
                one.log.close()
            await asyncio.gather(*(listener.stop() for listener in listeners))
