"""A class with a roster: a real manager behind a real server that strangers could reach, and its teams' keys."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from agent_league.agent.tasks import run_beside
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.serving import make_agent_and_app
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event
from agent_league.storage.access import AccessStore, TeamRow, create_key, hash_key
from agent_league.testing.peers import utc_timestamp
from tests.conftest import BOUND, free_ports
from tests.protocol.traffic import make_league
from tests.web.serving import Reply, Visitor

NOT_LOOPBACK_ONLY = {"network.allowed_hosts": ["localhost", "127.0.0.1", "class.example"]}
"""Settings by which a league isn't one of this machine alone, though it is bound to loopback."""


@dataclass
class Classroom:
    manager: LeagueManager
    visitor: Visitor
    home: Path
    events: list[Event] = field(default_factory=list)

    @property
    def league_id(self) -> str:
        return self.manager.state.league_id

    @property
    def access(self) -> AccessStore:
        assert self.manager.access is not None
        return self.manager.access

    def add_team(self, team_id: str, role: str = "player") -> str:
        """Add a team, or give it a new key; returns the key."""
        key = create_key()
        students = [
            {"student_id": f"s-{team_id}", "name": f"Student of {team_id}", "email": f"{team_id}@class.example"}
        ]
        self.access.write_teams([TeamRow(self.league_id, team_id, f"Team {team_id}", role, students, hash_key(key))])
        return key

    async def register(
        self, name: str, key: str | None = None, role: str = "player", path: str = "/mcp", **meta: Any
    ) -> Any:
        """The answer to a registration, through the sign-up address of a key or without one."""
        port = meta.pop("port", 8101)
        token = meta.pop("auth_token", None)
        about = {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://127.0.0.1:{port}/mcp",
            **meta,
        }
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST",
            "sender": f"{role}:{name.replace(' ', '')}",
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-class",
            **({"auth_token": token} if token else {}),
            f"{role}_meta": about,
        }
        reply = await self.call(f"register_{role}", message, key, path)
        return orjson.loads(reply.text)["result"] if reply.status == 200 else reply

    async def call(self, method: str, params: Mapping[str, Any], key: str | None = None, path: str = "/mcp") -> Reply:
        frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        return await self.visitor.post(f"/join/{key}{path}" if key else path, frame)


@asynccontextmanager
async def classroom(
    folder: Path, overrides: Mapping[str, Any] | None = None, *, is_loopback_only: bool = False, **request: Any
) -> AsyncIterator[Classroom]:
    """A manager that waits for players."""
    settings = {**({} if is_loopback_only else NOT_LOOPBACK_ONLY), **(overrides or {})}
    plan = make_league(folder, settings, players=2, referees=1, **request).manager
    assert isinstance(plan.settings, ManagerSettings)
    quiet = replace(plan.settings, expected_players=0, expected_referees=0)
    plan = replace(plan, settings=quiet, port=free_ports(1))
    events: list[Event] = []
    carrier = HttpCarrier()
    agent, app = make_agent_and_app(plan, carrier, AgentListeners(on_league_event=events.append))
    assert isinstance(agent, LeagueManager)
    server = HttpServer(app, plan.host, plan.port, "a test", "")
    await server.start()
    timeout = aiohttp.ClientTimeout(total=BOUND)
    try:
        async with (
            asyncio.timeout(BOUND),
            run_beside(agent.run()),
            aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
        ):
            yield Classroom(agent, Visitor(session, f"http://127.0.0.1:{plan.port}"), folder, events)
    finally:
        await server.stop()
        await carrier.close()
