"""The agents of a planned league on virtual time: all limits are the shipped ones, and none is waited for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint
from agent_league.launch.plan import LeaguePlan
from agent_league.league.app import LeagueManager
from agent_league.league.journal import run_inline
from agent_league.model.events import Event
from agent_league.players.app import Player
from agent_league.players.strategies import load_strategy
from agent_league.referee.app import Referee
from agent_league.storage.memory import MemoryStore
from agent_league.testing.virtual_time import VirtualClock


@asynccontextmanager
async def virtual_league(
    plan: LeaguePlan, network: MemoryNetwork, on_event: Callable[[Event], None], guests: int = 0
) -> AsyncIterator[LeagueManager]:
    """Runs all but the last players, who are guests; leaving the context ends them."""
    clock, rng = VirtualClock(), Random(7)
    manager = LeagueManager(
        plan.manager.settings, network, clock, on_event, store=MemoryStore(), offload=run_inline, rng=rng
    )
    referees = [Referee(seat.settings, network, clock, rng=rng) for seat in plan.referees]
    players = [
        Player(seat.settings, load_strategy(str(seat.strategy)), network, clock, rng=rng)
        for seat in plan.players[: len(plan.players) - guests]
    ]
    agents: list[LeagueManager | Referee | Player] = [manager, *referees, *players]
    for seat, agent in zip(plan.agent_plans, agents, strict=False):
        network.attach(agent_endpoint(seat), agent.dispatcher.answer_request)
    runs = [asyncio.create_task(agent.run()) for agent in agents]
    try:
        yield manager
    finally:
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
