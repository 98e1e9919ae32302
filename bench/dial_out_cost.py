"""What a call costs that goes through a dial-out seat, beside the same call made directly.

Server, agent and whoever carries its calls are in one process and one event loop, and calls come one after the other:
so the time of a call is the work of all of them together, without the network between.
"""

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from agent_league.agent.app import AgentApp
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.clock import SystemClock, format_utc
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.carrier import HttpReply
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import NO_LISTENERS, ManagerPlan
from agent_league.launch.dial_client import AddressForwarder, DialClient, FrameForwarder
from agent_league.launch.serving import make_agent_and_app
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.protocol import v2
from agent_league.protocol.dial_out import SeatOpened
from agent_league.storage.credentials import CredentialsFile
from bench.plans import Setting

QUESTION = b'{"jsonrpc": "2.0", "method": "get_player_state", "params": {}, "id": 1}'
ANSWER = b'{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}'
CALLS = 100
"""Calls of each kind in a turn."""
DIRECT, DIALLED, CARRIED = "direct", "dialled", "carried"

Call = Callable[[], Awaitable[HttpReply]]


@dataclass(frozen=True, slots=True)
class DialOutCost:
    """Seconds a call, by kind, turn by turn."""

    seconds: Mapping[str, list[float]]

    def figures(self) -> dict[str, float]:
        median = {kind: statistics.median(found) * 1e6 for kind, found in self.seconds.items()}
        return {
            "direct_call_microseconds": round(median[DIRECT], 1),
            "dial_out_call_microseconds": round(median[DIALLED], 1),
            "connect_call_microseconds": round(median[CARRIED], 1),
        }


def measure_dial_out_cost(setting: Setting, home: Path, turns: int) -> DialOutCost:
    """Call one agent in three ways, in so many turns."""
    make_home(home)
    return DialOutCost(asyncio.run(_measure(setting, home, turns)))


async def _measure(setting: Setting, home: Path, turns: int) -> dict[str, list[float]]:
    async with AsyncExitStack() as stack:
        calls = await _open_ways(setting, home, stack)
        seconds: dict[str, list[float]] = {kind: [] for kind in calls}
        for _ in range(turns):
            for kind, call in calls.items():
                seconds[kind].append(await _time_calls(call))
    return seconds


async def _time_calls(call: Call) -> float:
    began = perf_counter()
    for _ in range(CALLS):
        if await call() != (200, ANSWER):
            raise SystemExit("bench: a call through a seat was answered wrongly")
    return (perf_counter() - began) / CALLS


async def _open_ways(setting: Setting, home: Path, stack: AsyncExitStack) -> dict[str, Call]:
    """Start a manager and an agent; return the ways to call the agent."""
    carrier = HttpCarrier()
    stack.push_async_callback(carrier.close)
    loader = ConfigLoader(home)
    league = loader.load_league(loader.load_system().default_league_id)
    plan = ManagerPlan(ManagerSettings(loader.load_system(), league, home, 0, 0), setting.manager_port)
    manager, app = make_agent_and_app(plan, carrier, NO_LISTENERS)
    if not isinstance(manager, LeagueManager):
        raise TypeError("the plan is a manager's")
    agent = HttpServer(AgentApp(_answer, dict), "127.0.0.1", setting.lone_port, "the agent")
    for server in (HttpServer(app, plan.host, plan.port, "the manager"), agent):
        await server.start()
        stack.push_async_callback(server.stop)
    own = f"http://localhost:{agent.port}/mcp"
    dialled = FrameForwarder()
    dialled.handler = _answer
    handlers = {DIALLED: dialled.handle_call, CARRIED: AddressForwarder(own, carrier, lambda _: None).handle_call}
    calls: dict[str, Call] = {DIRECT: lambda: carrier.exchange(own, QUESTION, 30)}
    for kind, handle in handlers.items():
        client = DialClient(setting.manager, handle, CredentialsFile(home, "seat", kind, "", ""), lambda _: None)
        running = asyncio.create_task(client.run())
        stack.callback(running.cancel)
        calls[kind] = await _register(kind, await client.wait_until_open(), manager, carrier)
    return calls


async def _register(name: str, seat: SeatOpened, manager: LeagueManager, carrier: HttpCarrier) -> Call:
    """Register a player at a seat, and return the way in which a referee calls it there."""
    message = v2.LeagueRegisterRequest.write(
        sender=f"player:{name}",
        timestamp=format_utc(SystemClock().now()),
        conversation_id="conv-bench-register",
        player_meta={
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": seat.address,
        },
    )
    call = PeerCall("register_player", message.to_wire(), v2.LeagueRegisterResponse.TYPE)
    answer = (await PeerClient(carrier).request_answer(seat.manager, call, 30)).message
    token = manager.seat_members.token_issuer.get_call_token(answer["player_id"])
    return lambda: carrier.exchange(seat.address, QUESTION, 30, token)


async def _answer(_body: bytes, _bearer: str | None) -> bytes:
    return ANSWER
