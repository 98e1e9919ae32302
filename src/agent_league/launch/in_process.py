"""Runs a whole league in one process on the memory carrier: the same agents, without sockets."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import NO_WATCHERS, Agent, Seat, Watchers
from agent_league.launch.plan import LeaguePlan
from agent_league.league.app import LeagueManager
from agent_league.model.events import Event


@asynccontextmanager
async def seated(
    network: MemoryNetwork, seats: Sequence[Seat], watchers: Watchers = NO_WATCHERS
) -> AsyncIterator[list[Agent]]:
    """Run the planned agents on a network; leaving the context ends them."""
    agents = [seat.take(network, watchers) for seat in seats]
    for seat, agent in zip(seats, agents, strict=True):
        network.attach(endpoint_of(seat), agent.dispatcher.answer)
    runs = [asyncio.create_task(agent.run()) for agent in agents]
    try:
        yield agents
    finally:
        for run in runs:
            run.cancel()
        for run in runs:
            with suppress(asyncio.CancelledError):
                await run


async def play_in_process(plan: LeaguePlan, network: MemoryNetwork | None = None) -> tuple[LeagueManager, list[Event]]:
    """Play a planned league to its end; return the manager and all events."""
    network = network or MemoryNetwork()
    events: list[Event] = []
    async with seated(network, plan.seats, Watchers(league=events.append)) as agents:
        manager = agents[0]
        if not isinstance(manager, LeagueManager):
            raise TypeError("the first seat of a plan is the manager's")
        await manager.completed.wait()
    return manager, events


def endpoint_of(seat: Seat) -> str:
    """The endpoint of a planned agent; a manager's is made from its plan."""
    endpoint = getattr(seat.settings, "endpoint", None)
    return endpoint if isinstance(endpoint, str) else f"http://{seat.settings.system.network.base_host}:{seat.port}/mcp"
