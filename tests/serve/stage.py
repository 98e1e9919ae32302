"""A server of many leagues in this process, and players that take part over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from agent_league.config import ConfigLoader
from agent_league.launch.agent_plan import PlayerPlan
from agent_league.launch.serving import serve_agents
from agent_league.league.app import LeagueManager
from agent_league.players.app import PlayerSettings
from agent_league.serve.league_server import LeagueServer, ServerSettings
from agent_league.serve.serving import serve_until
from tests.conftest import NO_PAUSES, free_ports
from tests.web.serving import Visitor


@dataclass(frozen=True, slots=True)
class ServerStage:
    """A server that runs, and somebody who asks it for pages."""

    server: LeagueServer
    visitor: Visitor

    @property
    def root(self) -> str:
        return self.server.settings.local_root

    def manager(self, league_id: str) -> LeagueManager:
        manager = self.server.leagues[league_id].manager
        assert manager is not None, self.server.leagues[league_id].problem
        return manager

    async def wait_for_end(self, league_id: str) -> None:
        await self.manager(league_id).completed.wait()


@asynccontextmanager
async def serving(
    home: Path, port: int | None = None, overrides: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[ServerStage]:
    """Serve the leagues of a home at a free port of this machine."""
    loader = ConfigLoader(home, {**NO_PAUSES, **(overrides or {})})
    settings = ServerSettings(loader, loader.load_system(), "127.0.0.1", port or free_ports(1), **options)
    stop = asyncio.Event()
    ready: asyncio.Future[LeagueServer] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve_until(stop, settings, ready.set_result))
    await asyncio.wait([asyncio.ensure_future(one) for one in (running, ready)], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await running
    async with aiohttp.ClientSession() as session:
        try:
            yield ServerStage(ready.result(), Visitor(session, f"http://127.0.0.1:{settings.port}"))
        finally:
            stop.set()
            await running


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so; the test's own bound ends the waiting."""
    while not is_so():  # noqa: ASYNC110 - what is waited for sets no event
        await asyncio.sleep(0.01)


def write_league(home: Path, league_id: str, **content: Any) -> Path:
    """Write a league's file, at once, so that a server that looks for files never finds half of it."""
    path = home / "config" / "leagues" / f"{league_id}.json"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps({"league_id": league_id, "game_type": "even_odd", **content}))
    unfinished.replace(path)
    return path


@asynccontextmanager
async def players(
    home: Path, manager: str, names: list[str], *, dial_out: bool = False, first_port: int | None = None
) -> AsyncIterator[None]:
    """Run players of these names, which register with a manager; with `dial_out`, nobody can call them.

    At the ports from `first_port` on they are those of an earlier call.
    """
    system, first = ConfigLoader(home).load_system(), first_port or free_ports(len(names))
    plans = [
        PlayerPlan(
            PlayerSettings(
                system=system,
                home=home.parent / f"home of {name}",
                manager=manager,
                endpoint=f"http://localhost:{port}/mcp",
                wanted_id=f"player-{port}",
                display_name=name,
                game_types=("*",),
            ),
            port,
            dial_out=dial_out,
        )
        for port, name in enumerate(names, start=first)
    ]
    playing = asyncio.create_task(serve_agents(plans, asyncio.Event()))
    try:
        yield
    finally:
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
