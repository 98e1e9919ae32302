"""A whole league in a process of its own, which tells in the end what heavy modules it had to load.

`python -m tests.mcp.lone_league HOME FIRST_PORT plays|asks`: whoever asks shakes hands with a player by MCP in the end.
"""

import asyncio
import json
import sys
from pathlib import Path

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.client import HttpCarrier
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.launch.serving import run_async, serve_agents
from agent_league.model.events import Event, LeagueCompleted

HEAVY = ("mcp", "mcp_types", "pydantic_ai", "openai")
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}},
}


async def play(home: Path, first: int, *, asks: bool) -> None:
    make_home(home)
    request = LeagueRequest(
        home=home, players=2, referees=1, manager_port=first, referee_port=first + 1, player_port=first + 2
    )
    plan = make_league_plan(ConfigLoader(home), request)
    over, stop = asyncio.Event(), asyncio.Event()

    def see(event: Event) -> None:
        if isinstance(event, LeagueCompleted):
            over.set()

    serving = asyncio.create_task(serve_agents(plan.agent_plans, stop, AgentListeners(on_league_event=see)))
    await over.wait()
    if asks:
        carrier = HttpCarrier()
        await carrier.exchange(f"http://localhost:{first + 2}/mcp", json.dumps(HANDSHAKE).encode(), 30)
        await carrier.close()
    stop.set()
    await serving


if __name__ == "__main__":
    run_async(play(Path(sys.argv[1]), int(sys.argv[2]), asks=sys.argv[3] == "asks"))
    sys.stdout.write(json.dumps([name for name in HEAVY if name in sys.modules]))
