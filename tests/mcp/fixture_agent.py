"""An agent of ours that serves what the conformance suite asks for: our dispatcher, our endpoint, its fixtures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_league.transport.http_server import AgentApp, HttpServer
from agent_league.transport.mcp.door import Door
from tests.cli.command import free_ports
from tests.mcp.fixture_server import make_fixture_server
from tests.transport.desk import Desk


@asynccontextmanager
async def fixture_agent(folder: Path) -> AsyncIterator[str]:
    """Its address; `get_standings` is a bare method of it."""
    desk = Desk(folder)
    app = AgentApp(desk.dispatcher.answer, dict, door=Door(make_fixture_server, desk.log))
    server = HttpServer(app, "127.0.0.1", free_ports(1), "the fixture agent")
    await server.start()
    try:
        yield f"http://localhost:{server.port}/mcp"
    finally:
        await server.stop()
        desk.log.close()
