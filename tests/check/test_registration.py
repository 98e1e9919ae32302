"""How an agent registers: what can't be read as a request is said, instead of waiting for another one."""

import aiohttp

from agent_league.check.http_probe import HttpProbe
from agent_league.check.player_subject import PlayerSubject
from agent_league.check.registration import judge_registering
from agent_league.check.scripted_agents import CheckerManager
from agent_league.check.steps import StepVerdict
from agent_league.check.subject import CheckOptions
from agent_league.protocol.tokens import SigningKey
from tests.conftest import free_ports


async def test_a_registration_that_is_no_request_is_a_failure_and_says_why() -> None:
    port = free_ports(2)
    manager = CheckerManager(port + 1, SigningKey.generate())
    await manager.start()
    probe = HttpProbe(f"http://localhost:{port}/mcp")
    try:
        async with aiohttp.ClientSession() as session:
            call = {"method": "register_player", "params": {"player_meta": {}}, "id": 1}
            async with session.post(manager.endpoint, json=call) as response:
                assert (await response.json())["error"]["code"] == -32600
        found = await judge_registering(PlayerSubject(probe, CheckOptions(wait_seconds=0), manager.key, manager))
    finally:
        await probe.close()
        await manager.stop()
    assert found.verdict is StepVerdict.FAIL
    assert "'jsonrpc' must be" in found.came
