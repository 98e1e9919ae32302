"""A league over real HTTP for MCP clients: manager, referee and two players of ours, and two guests who may join."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from agent_league.http.client import HttpCarrier
from agent_league.model.agents import Role
from agent_league.model.events import LeagueCompleted
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import PlanMaker, free_ports
from tests.launch.scripted_guests import Watched, hosted, served

GUESTS = 2


@dataclass
class League:
    """Where its agents are, and who may join it."""

    urls: dict[Role, str]
    guests: list[ScriptedPlayer]
    watched: Watched
    carrier: HttpCarrier

    async def join(self, guest: int = 0) -> ScriptedPlayer:
        """Registers a guest; with the second one the league begins."""
        answer = await self.guests[guest].register(self.carrier, self.urls[Role.LEAGUE_MANAGER])
        assert answer["status"] == "ACCEPTED", answer
        return self.guests[guest]

    async def played(self) -> LeagueCompleted:
        """Plays it to its end."""
        for guest in range(GUESTS):
            await self.join(guest)
        return await self.watched.completed()


@asynccontextmanager
async def league(plan: PlanMaker) -> AsyncIterator[League]:
    """Waits for its guests."""
    first = free_ports(6)
    planned = plan(
        players=2 + GUESTS, referees=1, manager_port=first, referee_port=first + 1, player_port=first + 2, seed="7"
    )
    ports = {Role.LEAGUE_MANAGER: first, Role.REFEREE: first + 1, Role.PLAYER: first + 2}
    guests = [ScriptedPlayer(f"Guest {n}", f"http://localhost:{first + 4 + n}/mcp") for n in range(GUESTS)]
    carrier = HttpCarrier()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(carrier.close)
        for number, guest in enumerate(guests):
            await stack.enter_async_context(served(guest.answer, first + 4 + number))
        watched = await stack.enter_async_context(hosted(planned, GUESTS))
        yield League({role: f"http://localhost:{port}/mcp" for role, port in ports.items()}, guests, watched, carrier)
