"""An agent of ours that serves what the conformance suite asks for: our dispatcher, our endpoint, its fixtures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_league.agent.app import AgentApp
from agent_league.http.server import HttpServer
from agent_league.mcp.server.lazy_server import LazyMcpServer
from tests.agent.answering_agent import Desk
from tests.conftest import free_ports
from tests.mcp.fixture_server import make_fixture_server


@asynccontextmanager
async def fixture_agent(folder: Path) -> AsyncIterator[str]:
    """Its address; `get_standings` is a bare method of it."""
    desk = Desk(folder)
    app = AgentApp(desk.dispatcher.answer_request, dict, mcp=LazyMcpServer(make_fixture_server, desk.log))
    server = HttpServer(app, "127.0.0.1", free_ports(1), "the fixture agent")
    await server.start()
    try:
        yield f"http://localhost:{server.port}/mcp"
    finally:
        await server.stop()
        desk.log.close()
