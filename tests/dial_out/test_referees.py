"""Referees that dial out: they judge matches without an address, and their seats answer the players of these alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader
from agent_league.launch.agent_plan import RefereePlan
from agent_league.launch.serving import serve_agents
from agent_league.league.roster import AgentApplication, RegistrationRejected
from agent_league.model.agents import Role
from agent_league.model.schedule import Pairing
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import utc_timestamp
from tests.conftest import BOUND
from tests.dial_out.server import DialledAgent, DialServer, serve_manager
from tests.serve.stage import players, serving, write_league

PING = {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}


@asynccontextmanager
async def dialled_referee(home: Path, manager: str, key_file: Path) -> AsyncIterator[None]:
    """Run a referee that dials out, with the key of the organiser's own machine."""
    loader = ConfigLoader(home)
    settings = RefereeSettings(
        system=loader.load_system(),
        games=loader.load_games_registry(),
        home=home.parent / "home of the referee",
        manager=manager,
        endpoint="http://localhost:1/mcp",
        wanted_id="REF01",
        display_name="Far away",
        game_types=("*",),
        max_concurrent_matches=10,
        key_file=key_file,
    )
    judging = asyncio.create_task(serve_agents([RefereePlan(settings, 1, dial_out=True)], asyncio.Event()))
    try:
        yield
    finally:
        judging.cancel()
        with suppress(asyncio.CancelledError):
            await judging


async def test_a_referee_that_nobody_can_call_judges_a_league(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 3})
    async with asyncio.timeout(BOUND), serving(home, referees=0) as stage:
        manager = f"{stage.root}/leagues/spring/mcp"
        async with players(home, manager, ["Ann"], dial_out=True), players(home, manager, ["Bob", "Cleo"]):
            key_file = DataPaths(home).referee_key_file("spring")
            while not key_file.exists():  # noqa: ASYNC110 - written once somebody dials out
                await asyncio.sleep(0.01)
            async with dialled_referee(home, manager, key_file):
                await stage.wait_for_end("spring")
        state = stage.manager("spring").state
        assert {result.status for result in state.results.values()} <= {"WIN", "DRAW"}
        assert len(state.results) == 3
        (referee,) = state.roster.referees().values()
        assert "/leagues/spring/seats/S" in referee.endpoint


async def register_referee(server: DialServer, manager: str) -> dict[str, Any]:
    meta = {"display_name": "Ref", "version": "1.0.0", "game_types": ["even_odd"], "max_concurrent_matches": 1}
    frame = {
        "protocol": "league.v2",
        "message_type": "REFEREE_REGISTER_REQUEST",
        "sender": "referee:x",
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-1",
        "referee_meta": {**meta, "contact_endpoint": "http://localhost:1/mcp"},
    }
    _, answer = await server.post(manager, {**PING, "method": "register_referee", "params": frame})
    result: dict[str, Any] = json.loads(answer)["result"]
    return result


async def test_a_referee_s_seat_needs_the_key_and_answers_only_players_of_its_matches(home: Path) -> None:
    async with asyncio.timeout(BOUND), serve_manager(home) as server, server.dial() as stranger:
        refused = await register_referee(server, stranger.seat["manager"])
        assert (refused["status"], "organiser's key" in json.dumps(refused)) == ("REJECTED", True)
        key = DataPaths(home).referee_key_file(server.manager.state.league_id).read_text().strip()
        dial = f"ws://localhost:{server.server.port}/join/{key}/dial"
        async with connect(dial, proxy=None) as socket, server.dial_and_register("Ann") as ann:
            await socket.send('{"type": "open"}')
            agent = DialledAgent(socket, json.loads(await socket.recv()))
            accepted = await register_referee(server, agent.seat["manager"])
            assert accepted["referee_id"] == "REF01"
            bob = await server.register("Bob", "http://localhost:2/mcp")
            cid = await server.register("Cid", "http://localhost:3/mcp")
            state = server.manager.state
            state._pairings["R1M1"] = Pairing("R1M1", 1, ann.player_id, bob["player_id"])
            state.assigned_referees["R1M1"] = "REF01"
            address = agent.seat["address"]
            for token in (None, "nonsense", cid["auth_token"], accepted["auth_token"], server.sign_match_token("P01")):
                assert (await server.post(address, PING, token))[0] == 403, token
            calling = asyncio.create_task(server.post(address, PING, bob["auth_token"]))
            call = await agent.receive()
            while call["type"] != "call":  # what it is told at its terminal
                call = await agent.receive()
            await agent.answer(call, "taken")
            assert await calling == (200, b'"taken"')
            at_players_seat = await register_referee(server, ann.seat["manager"])
            assert at_players_seat["status"] == "REJECTED"


async def test_nobody_becomes_a_member_of_another_role_by_its_seat(home: Path) -> None:
    async with asyncio.timeout(BOUND), serve_manager(home) as server, server.dial_and_register("Ann") as ann:
        roster = server.manager.state.roster
        profile = replace(roster[ann.player_id].agent, agent_id="x", role=Role.REFEREE, display_name="Ref")
        asking = AgentApplication(profile, is_seated=True, is_seat_proven=True)
        with pytest.raises(RegistrationRejected, match=f"is {ann.player_id}'s"):
            roster.register(asking, closed=None, now=SystemClock().now())
