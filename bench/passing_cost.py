"""What a call costs that one server passes on to another, beside the same call made to the league's owner directly.

Both servers, the agent behind them and the caller are in one process and one event loop, and calls come one after the
other: so the time of a call is the work of all of them together, without the network between.
"""

import asyncio
import statistics
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from starlette.types import Receive, Scope, Send

from agent_league.agent.app import AgentApp
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.serve.internal_app import InternalApp
from agent_league.serve.league_calls import LeagueCalls
from agent_league.serve.passed_call import CallSigner, CallVerifier
from agent_league.serve.passing import CallPasser
from agent_league.serve.served_league import LeagueHealth
from agent_league.storage.directory import ServerRow

QUESTION = b'{"jsonrpc": "2.0", "method": "league_query", "params": {}, "id": 1}'
ANSWER = b'{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}'
CALLS = 100
"""Calls of each kind in a turn."""
DIRECT, PASSED = "direct", "passed"
LEAGUE = "spring"
KEY = bytes(32)


@dataclass(frozen=True, slots=True)
class PassingCost:
    """Seconds a call, by kind, turn by turn."""

    seconds: Mapping[str, list[float]]

    def figures(self) -> dict[str, float]:
        median = {kind: statistics.median(found) * 1e6 for kind, found in self.seconds.items()}
        return {
            "direct_call_microseconds": round(median[DIRECT], 1),
            "passed_call_microseconds": round(median[PASSED], 1),
        }


def measure_passing_cost(folder: Path, turns: int) -> PassingCost:
    """Call one league at its owner and through another server, in so many turns."""
    return PassingCost(asyncio.run(_measure(folder, turns)))


class _Server:
    """One of two servers: what is asked below a league's path goes to the league or on to its owner."""

    takes_websockets = True

    def __init__(self, server_id: str, leagues: Mapping[str, Any], log: JsonLogger) -> None:
        self.server_id = server_id
        self.owner: ServerRow | None = None
        self.passer = CallPasser(CallSigner(KEY, time.time), "127.0.0.1")
        self._calls = LeagueCalls(leagues.get, self, self.passer, log)

    def has_league(self, league_id: str) -> bool:
        return league_id == LEAGUE

    def find_owner(self, league_id: str) -> ServerRow | None:
        return self.owner if league_id == LEAGUE else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = {**scope, "path": scope["path"].removeprefix(f"/leagues/{LEAGUE}")}
        await self._calls.serve(LEAGUE, scope, inner, receive, send)


class _League:
    """An agent's application in place of a league's."""

    health = LeagueHealth.SERVED

    def __init__(self) -> None:
        self._app = AgentApp(_answer, dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _measure(folder: Path, turns: int) -> dict[str, list[float]]:
    async with AsyncExitStack() as stack:
        carrier = HttpCarrier()
        stack.push_async_callback(carrier.close)
        log = JsonLogger("bench", log_root=folder, folder="system")
        stack.callback(log.close)
        entry, owner = _Server("entry", {}, log), _Server("owner", {LEAGUE: _League()}, log)
        inside = InternalApp(owner, CallVerifier(KEY, lambda: "owner", time.time), log)
        servers = [HttpServer(app, "127.0.0.1", 0, "a server") for app in (entry, owner, inside)]
        for server in servers:
            await server.start()
            stack.push_async_callback(server.stop)
        entry.owner = ServerRow("owner", f"http://127.0.0.1:{servers[2].port}")
        stack.push_async_callback(entry.passer.close)
        ports = {PASSED: servers[0].port, DIRECT: servers[1].port}
        endpoints = {kind: f"http://127.0.0.1:{port}/leagues/{LEAGUE}/mcp" for kind, port in ports.items()}
        seconds: dict[str, list[float]] = {kind: [] for kind in endpoints}
        for _ in range(turns):
            for kind, endpoint in endpoints.items():
                seconds[kind].append(await _time_calls(carrier, endpoint))
    return seconds


async def _time_calls(carrier: HttpCarrier, endpoint: str) -> float:
    began = perf_counter()
    for _ in range(CALLS):
        if await carrier.exchange(endpoint, QUESTION, 30) != (200, ANSWER):
            raise SystemExit("bench: a call to a league was answered wrongly")
    return (perf_counter() - began) / CALLS


async def _answer(_body: bytes, _bearer: str | None) -> bytes:
    return ANSWER
