"""Players that are not ours, as guests in a league of ours: real HTTP servers in the test's own event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent_league.agent.app import AgentApp
from agent_league.http.carrier import FrameHandler
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.serving import serve_agents
from agent_league.model.events import AgentRegistered, Event, LeagueCompleted
from tests.conftest import BOUND


@asynccontextmanager
async def served(answer: FrameHandler, port: int) -> AsyncIterator[HttpServer]:
    """A guest's server; it may be stopped before the end."""
    server = HttpServer(AgentApp(answer, dict), "127.0.0.1", port, "a guest")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@dataclass
class Watched:
    """A league that is being played, and what has happened in it."""

    registrations: int
    """How many of our own agents are to come."""
    events: list[Event] = field(default_factory=list)
    on_event: Callable[[Event], None] | None = None
    all_in: asyncio.Event = field(default_factory=asyncio.Event)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, event: Event) -> None:
        self.events.append(event)
        if self.on_event:
            self.on_event(event)
        if isinstance(event, LeagueCompleted):
            self._over.set()
        if sum(isinstance(one, AgentRegistered) for one in self.events) >= self.registrations:
            self.all_in.set()

    async def completed(self, bound: float = BOUND) -> LeagueCompleted:
        """The end of the league, within the bound."""
        async with asyncio.timeout(bound):
            await self._over.wait()
        return next(event for event in self.events if isinstance(event, LeagueCompleted))


@asynccontextmanager
async def hosted(plan: LeaguePlan, guests: int) -> AsyncIterator[Watched]:
    """A planned league whose last players are guests: everybody else is served here, over HTTP, and in before them."""
    stop, seats = asyncio.Event(), plan.agent_plans[: len(plan.agent_plans) - guests]
    watched = Watched(registrations=len(seats) - 1)
    serving = asyncio.create_task(serve_agents(seats, stop, AgentListeners(on_league_event=watched.see)))
    try:
        async with asyncio.timeout(BOUND):
            await asyncio.wait({serving, asyncio.ensure_future(watched.all_in.wait())}, return_when="FIRST_COMPLETED")
        yield watched
    finally:
        stop.set()
        await serving
