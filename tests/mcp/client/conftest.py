"""What the tests of the MCP client share: servers and sessions that are put away afterwards."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agent_league.mcp.client.sessions import SessionManager
from tests.mcp.client.house import House, Naps, session_with

Opener = Callable[..., SessionManager]


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
async def house(request: pytest.FixtureRequest) -> AsyncIterator[House]:
    """A running server of either revision of MCP."""
    house = House(old=request.param == "2025-11-25")
    await house.start()
    yield house
    house.gate.set()
    await house.kill()


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
async def opened(house: House) -> AsyncIterator[Opener]:
    """Starts sessions with the house: `opened(naps, pace={...})`."""
    sessions: list[SessionManager] = []

    def start(naps: Naps, **more: Any) -> SessionManager:
        sessions.append(session_with(house, naps, **more))
        sessions[-1].start()
        return sessions[-1]

    yield start
    for session in sessions:
        await session.close()
