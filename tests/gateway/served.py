"""The gateway as a host finds it over HTTP: served in the test's own event loop, for a league that is not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_league.gateway.hosting import serve_http
from agent_league.launch.outside_player import OutsidePlayer
from agent_league.players.strategies.always import AlwaysOdd
from tests.conftest import BOUND, free_ports
from tests.gateway.host import settings_for


@asynccontextmanager
async def served_gateway(home: Path) -> AsyncIterator[str]:
    """The gateway's address."""
    port, stop, ready = free_ports(1), asyncio.Event(), asyncio.Event()
    player = OutsidePlayer(settings_for(home, "http://localhost:1/mcp"), AlwaysOdd())
    serving = asyncio.create_task(serve_http(player, port, stop, ready.set))
    try:
        async with asyncio.timeout(BOUND):
            await ready.wait()
        yield f"http://localhost:{port}/mcp"
    finally:
        stop.set()
        await serving
