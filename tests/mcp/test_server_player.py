"""A player that is nothing but an MCP server of the SDK takes part: the example, in a process of its own."""

import asyncio
import sys
from contextlib import AsyncExitStack

from agent_league.model.events import MatchFinished
from agent_league.model.results import Outcome
from tests.arena.guests import hosted
from tests.cli.command import free_ports
from tests.conftest import PlanMaker
from tests.test_docs import ROOT

BOUND = 60


async def ended(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    async with asyncio.timeout(BOUND):
        await process.wait()


async def test_the_sdk_s_own_server_plays_a_league_with_ours(plan: PlanMaker) -> None:
    first = free_ports(6)
    planned = plan(players=3, referees=1, manager_port=first, referee_port=first + 1, player_port=first + 2)
    manager, port = f"http://localhost:{first}/mcp", str(first + 5)
    async with AsyncExitStack() as stack:
        watched = await stack.enter_async_context(hosted(planned, 1))
        command = [sys.executable, str(ROOT / "examples" / "mcp_server_player.py"), port, manager]
        player = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        stack.push_async_callback(ended, player)
        completed = await watched.completed(BOUND)
        (guest,) = [row for row in completed.standings if row.display_name == "My MCP player"]
        assert guest.played == 2
        results = [event.result for event in watched.events if isinstance(event, MatchFinished)]
        assert all(result.outcome is not Outcome.TECHNICAL_LOSS for result in results)
        assert "called as 'tools/call' of MCP" in completed.tolerated[guest.player_id]
        assert player.stdout is not None
        async with asyncio.timeout(BOUND):
            registered = (await player.stdout.readline()).decode()
            told = (await player.stdout.readline()).decode()
        assert registered.startswith("Registered as P")
        assert told.startswith("R")
