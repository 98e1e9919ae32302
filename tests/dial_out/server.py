"""A real manager behind its HTTP server, and agents that dial in by hand."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from agent_league.config import ConfigLoader
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import NO_LISTENERS, ManagerPlan
from agent_league.launch.serving import make_agent_and_app
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.schedule import Pairing
from agent_league.testing.peers import utc_timestamp
from tests.conftest import BOUND, free_port

Reply = tuple[int, bytes]


@dataclass
class DialServer:
    """A manager, and the carrier by which tests call it and its seats."""

    manager: LeagueManager
    server: HttpServer
    carrier: HttpCarrier

    @property
    def base(self) -> str:
        return f"http://localhost:{self.server.port}"

    @property
    def endpoint(self) -> str:
        return f"{self.base}/mcp"

    async def post(self, address: str, content: Any, bearer: str | None = None) -> Reply:
        url = address if "://" in address else f"{self.base}{address}"
        return await self.carrier.exchange(url, json.dumps(content).encode(), BOUND, bearer)

    async def register(self, name: str, endpoint: str, at: str | None = None, **fields: Any) -> dict[str, Any]:
        """The answer to a player's registration."""
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{name}",
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-1",
            "player_meta": {
                "display_name": name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": endpoint,
            },
            **fields,
        }
        frame = {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}
        _, body = await self.post(at or self.endpoint, frame)
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def sign_match_token(self, player_id: str, opponent: str = "P99") -> str:
        """A token as the referee of a match of these two would show it."""
        issuer = self.manager.seat_members.token_issuer
        tokens = issuer.issue_match_tokens(Pairing("R1M1", 1, player_id, opponent), "REF01")
        return tokens.tokens_by_player[player_id]

    @asynccontextmanager
    async def dial(self, **asked: Any) -> AsyncIterator["DialledAgent"]:
        """Open a seat over a WebSocket."""
        async with connect(f"ws://localhost:{self.server.port}/dial", proxy=None, max_size=None) as socket:
            await socket.send(json.dumps({"type": "open", **asked}))
            agent = DialledAgent(socket, {})
            agent.seat = await agent.receive()
            yield agent

    @asynccontextmanager
    async def dial_and_register(self, name: str) -> AsyncIterator["DialledAgent"]:
        """Open a seat and register a player at it."""
        async with self.dial() as agent:
            answer = await self.register(name, "http://localhost:1/mcp", agent.seat["manager"])
            assert (await agent.receive())["type"] == "note"
            agent.player_id = answer["player_id"]
            yield agent


@dataclass
class DialledAgent:
    """The agent's end of a WebSocket."""

    socket: ClientConnection
    seat: dict[str, Any]
    player_id: str = ""

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(BOUND):
            message: dict[str, Any] = json.loads(await self.socket.recv())
            return message

    async def answer(self, call: dict[str, Any], body: Any = "pong", **fields: Any) -> None:
        content = {"type": "answer", "call": call["call"], "status": 200, "body": json.dumps(body), **fields}
        await self.socket.send(json.dumps(content))


@asynccontextmanager
async def serve_manager(home: Path, port: int | None = None, **overrides: Any) -> AsyncIterator[DialServer]:
    """Serve a manager that starts no league by itself."""
    loader = ConfigLoader(home, overrides)
    settings = ManagerSettings(loader.load_system(), loader.load_league("league_2025_even_odd"), home, 0, 0)
    plan = ManagerPlan(settings, port or free_port())
    carrier = HttpCarrier()
    manager, app = make_agent_and_app(plan, carrier, NO_LISTENERS)
    assert isinstance(manager, LeagueManager)
    server = HttpServer(app, plan.host, plan.port, "a test")
    await server.start()
    running = asyncio.create_task(manager.run())
    try:
        yield DialServer(manager, server, carrier)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.stop()
        await carrier.close()
