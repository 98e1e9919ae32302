"""Runs a whole league in one process on the memory carrier: the same agents, without sockets."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agent_league.agent.runtime import Agent
from agent_league.agent.tasks import run_beside
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import NO_LISTENERS, AgentListeners, AgentPlan, ManagerPlan
from agent_league.launch.house_bots import open_house_bots
from agent_league.launch.plan import LeaguePlan
from agent_league.league.app import LeagueManager
from agent_league.model.events import Event


@asynccontextmanager
async def run_agents(
    network: MemoryNetwork, seats: Sequence[AgentPlan], watchers: AgentListeners = NO_LISTENERS
) -> AsyncIterator[list[Agent]]:
    """Run the planned agents on a network; leaving the context ends them."""
    agents = [seat.make_agent(network, watchers) for seat in seats]
    for seat, agent in zip(seats, agents, strict=True):
        network.attach(agent_endpoint(seat), agent.dispatcher.answer_request)
        if isinstance(seat, ManagerPlan) and isinstance(agent, LeagueManager):
            open_house_bots(agent, seat.settings, network)
    async with run_beside(*(agent.run() for agent in agents)):
        yield agents


async def play_in_process(plan: LeaguePlan, network: MemoryNetwork | None = None) -> tuple[LeagueManager, list[Event]]:
    """Play a planned league to its end; return the manager and all events."""
    network = network or MemoryNetwork()
    events: list[Event] = []
    async with run_agents(network, plan.agent_plans, AgentListeners(on_league_event=events.append)) as agents:
        manager = agents[0]
        if not isinstance(manager, LeagueManager):
            raise TypeError("the first seat of a plan is the manager's")
        await manager.completed.wait()
    return manager, events


def agent_endpoint(seat: AgentPlan) -> str:
    """The endpoint of a planned agent; a manager's is made from its plan."""
    endpoint = getattr(seat.settings, "endpoint", None)
    return endpoint if isinstance(endpoint, str) else f"http://{seat.settings.system.network.base_host}:{seat.port}/mcp"
