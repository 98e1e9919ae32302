"""A seat among scripted peers over HTTP, and an MCP client in the place of its host."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client

from agent_league.config import ConfigLoader
from agent_league.gateway.server import make_gateway_server
from agent_league.http.client import HttpCarrier
from agent_league.launch.outside_player import OutsidePlayer
from agent_league.players.app import PlayerSettings
from agent_league.players.observation import Strategy
from agent_league.players.strategies.always import AlwaysOdd
from agent_league.testing.peers import Script, ScriptedManager
from tests.conftest import BOUND, free_ports
from tests.launch.scripted_guests import served

JsonObject = dict[str, Any]


def settings_for(home: Path, manager: str, name: str = "Claude", overrides: JsonObject | None = None) -> PlayerSettings:
    return PlayerSettings(
        system=ConfigLoader(home, overrides or {}).load_system(),
        home=home,
        manager=manager,
        endpoint="",
        wanted_id="player",
        display_name=name,
    )


@dataclass
class Host:
    """The client, the seat behind its server, and the league around it."""

    client: Client
    seat: OutsidePlayer
    manager: ScriptedManager
    carrier: HttpCarrier
    answers: list[str] = field(default_factory=list)
    """Everything that a tool said."""

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        """What a tool answers; a refusal is a failure here."""
        answer = await self.client.call_tool(tool, arguments)
        text = "".join(part.text for part in answer.content if part.type == "text")
        self.answers.append(text)
        assert not answer.is_error, text
        data: JsonObject = answer.structured_content
        assert json.loads(text) == data
        return data

    async def refusal(self, tool: str, **arguments: Any) -> str:
        answer = await self.client.call_tool(tool, arguments)
        text = "".join(part.text for part in answer.content if part.type == "text")
        self.answers.append(text)
        assert answer.is_error, text
        return text

    async def wait(self, after: int = 0, max_wait_s: float = 50) -> JsonObject:
        return await self.call("wait_for_turn", handle=self.seat.handle, after=after, max_wait_s=max_wait_s)

    async def told(self, method: str, message: Mapping[str, Any]) -> JsonObject:
        """A call of the league's to the player."""
        endpoint = self.manager.received_params("register_player")[-1]["player_meta"]["contact_endpoint"]
        frame = json.dumps({"jsonrpc": "2.0", "method": method, "params": message, "id": 1}).encode()
        _, body = await self.carrier.exchange(endpoint, frame, BOUND)
        result: JsonObject = json.loads(body)["result"]
        return result

    async def asked(self, method: str, message: Mapping[str, Any]) -> "asyncio.Task[JsonObject]":
        """A question of a referee's that is being thought about."""
        before = len(self.seat.mailbox.open_turns)
        question = asyncio.create_task(self.told(method, message))
        while len(self.seat.mailbox.open_turns) == before:
            await self.seat.mailbox.wait_for_events(self.seat.mailbox.last_number, BOUND)
        return question


@asynccontextmanager
async def hosting(
    home: Path,
    *,
    scripts: Mapping[str, Script] | None = None,
    fallback: Strategy | None = None,
    overrides: JsonObject | None = None,
    **options: Any,
) -> AsyncIterator[Host]:
    """A host that has not joined yet; the options are the seat's."""
    port = free_ports(1)
    manager = ScriptedManager(f"http://localhost:{port}/mcp", scripts=scripts)
    seat = OutsidePlayer(settings_for(home, manager.endpoint, overrides=overrides), fallback or AlwaysOdd(), **options)
    carrier = HttpCarrier()
    try:
        async with asyncio.timeout(BOUND), served(manager.answer, port), Client(make_gateway_server(seat)) as client:
            yield Host(client, seat, manager, carrier)
    finally:
        await seat.leave()
        await carrier.close()
