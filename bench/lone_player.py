"""One player in a process of its own, for `mcp_cost`: `lone_player.py HOME with|without PORT`.

Without the MCP side it is as if that had never been written: not even its module is read. For every line on standard
input it prints the CPU time that it has spent so far; it ends with its input.
"""

import asyncio
import sys
import time
from pathlib import Path
from types import ModuleType

HOME, HAS_MCP, PORT = Path(sys.argv[1]), sys.argv[2] == "with", int(sys.argv[3])
if not HAS_MCP:
    nothing = type("Nothing", (), {"__new__": lambda *_, **__: None})
    no_door = ModuleType("agent_league.mcp.server.lazy_server")
    vars(no_door)["__getattr__"] = lambda _: nothing  # whatever else is imported from it makes nothing
    sys.modules[no_door.__name__] = no_door

from agent_league.config import ConfigLoader  # noqa: E402
from agent_league.http.client import HttpCarrier  # noqa: E402
from agent_league.http.server import HttpServer  # noqa: E402
from agent_league.launch.agent_app import make_agent_app  # noqa: E402 - what it reads depends on the lines above
from agent_league.launch.agent_plan import NO_LISTENERS  # noqa: E402
from agent_league.launch.plan import LeagueRequest, make_league_plan  # noqa: E402
from agent_league.launch.serving import run_async  # noqa: E402 - as above


async def serve() -> None:
    """Serves a player that registers with nobody."""
    seat = make_league_plan(ConfigLoader(HOME), LeagueRequest(home=HOME, players=2, referees=1)).players[0]
    carrier = HttpCarrier()
    server = HttpServer(make_agent_app(seat, seat.make_agent(carrier, NO_LISTENERS)), "127.0.0.1", PORT, "the bench")
    await server.start()
    print("ready", flush=True)
    await asyncio.to_thread(_tell)
    await server.stop()
    await carrier.close()


def _tell() -> None:
    for _ in sys.stdin:
        print(time.process_time(), flush=True)


if __name__ == "__main__":
    run_async(serve())
