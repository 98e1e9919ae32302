"""A manager that takes over at another address: agents of ours go there by its signature, and by nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from agent_league.config import ConfigLoader
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.league_start import record_endpoint
from agent_league.league.app import LeagueManager
from agent_league.league.journal import run_inline
from agent_league.league.settings import ManagerSettings
from agent_league.players.app import Player
from agent_league.players.strategies.random_choice import RandomChoice
from agent_league.protocol.tokens import SigningKey
from agent_league.referee.app import Referee
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.peers import Params
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.players.chair import chair, player_settings
from tests.referee.hall import referee_settings

OLD, NEW = "http://localhost:8000/mcp", "http://localhost:8005/mcp"
FAR_AWAY = "http://league.example:8005/mcp"
HOUR = 3600


@asynccontextmanager
async def managing(home: Path, network: MemoryNetwork, memory: MemoryDatabase, at: str) -> AsyncIterator[LeagueManager]:
    """A manager that listens there until the context is left, and then is gone at once."""
    loader = ConfigLoader(home, {})
    settings = ManagerSettings(
        loader.load_system(), loader.load_league(), home, expected_players=2, expected_referees=1, endpoint=at
    )
    manager = LeagueManager(settings, network, VirtualClock(), store=MemoryStore(memory), offload=run_inline)
    network.attach(at, manager.dispatcher.answer_request)
    run = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        network.detach(at)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


@in_virtual_time
async def test_agents_follow_a_manager_that_takes_over_at_another_address(home: Path) -> None:
    network, memory, remarks = MemoryNetwork(), MemoryDatabase(), list[str]()
    referee = Referee(referee_settings(home), network, VirtualClock(), remarks.append)
    network.attach("http://localhost:8001/mcp", referee.dispatcher.answer_request)
    async with asyncio.timeout(HOUR):
        async with managing(home, network, memory, OLD) as first:
            running = [asyncio.create_task(referee.run())]
            await referee._session.registered.wait()
            assert not first.state.schedule.rounds
        async with managing(home, network, memory, NEW) as second:
            await asyncio.sleep(60)
            assert NEW in remarks[-1], "told though the league had nothing else to say"
            for number in (1, 2):
                settings = player_settings(
                    home,
                    endpoint=f"http://localhost:810{number}/mcp",
                    display_name=f"Agent {number}",
                    wanted_id=f"P0{number}",
                    manager=NEW,
                )
                player = Player(settings, RandomChoice(), network, VirtualClock())
                network.attach(settings.endpoint, player.dispatcher.answer_request)
                running.append(asyncio.create_task(player.run()))
            await second.completed.wait()
            assert referee._session.manager_address == NEW
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    assert [line for line in remarks if NEW in line] == [
        f"The League Manager says, with its signature, that it is at {NEW}; so that is tried too."
    ]


def token(key: SigningKey, at: str, since: float = 1000.0) -> str:
    now, started = VirtualClock().now(), VirtualClock(since).now()
    return key.sign_manager_token(
        league_id="league_2025_even_odd", audience="P01", now=now, lifetime=600, at=at, since=started
    )


@in_virtual_time
async def test_only_the_managers_signature_moves_it_and_only_to_where_an_agent_may_call(home: Path) -> None:
    key = SigningKey.generate()

    async def accept(params: Params) -> dict[str, object]:
        return {
            "message_type": "LEAGUE_REGISTER_RESPONSE",
            "protocol": "league.v2",
            "sender": "league_manager",
            "timestamp": VirtualClock().now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "conversation_id": params["conversation_id"],
            "status": "ACCEPTED",
            "player_id": "P01",
            "auth_token": "tok-p01-0123456789abcdef",
            "league_id": "league_2025_even_odd",
            "reason": None,
            "public_key": key.public_jwk,
        }

    async with chair(home, manager={"register_player": accept}) as seat:
        session = seat.player._session

        async def hear(bearer: str) -> str | None:
            frame = json.dumps({"jsonrpc": "2.0", "method": "get_player_state", "params": {}, "id": 1}).encode()
            await seat.network.exchange(seat.player._settings.endpoint, frame, 10, bearer)
            return session._other_address

        assert await hear(token(SigningKey.generate(), NEW)) is None
        assert await hear("rubbish") is None
        assert await hear(token(key, OLD)) is None
        assert await hear(token(key, FAR_AWAY, 2000)) is None
        assert FAR_AWAY in seat.remarks[-1]
        assert "--manager" in seat.remarks[-1]
        assert await hear(token(key, NEW, 1500)) is None, "an earlier manager's word"
        assert session.manager_address == OLD
        assert await hear(token(key, NEW, 3000)) == NEW
        session.switch_manager_address()
        assert session.manager_address == NEW
        session.switch_manager_address()
        assert session.manager_address == OLD


def test_the_place_of_a_league_is_noted_and_a_move_is_told(tmp_path: Path) -> None:
    assert record_endpoint(tmp_path, "L1", OLD) is None
    assert record_endpoint(tmp_path, "L1", "http://127.0.0.1:8000/mcp") is None
    assert record_endpoint(tmp_path, "L1", NEW) == "http://127.0.0.1:8000/mcp"
    assert record_endpoint(tmp_path, "L1", NEW) is None
