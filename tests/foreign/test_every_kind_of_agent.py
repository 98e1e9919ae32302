"""One league over HTTP whose eight players are of eight kinds, and none of them an agent of ours."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client

from agent_league.referee.verify import verify_match
from tests.a2a.agents import agent_process
from tests.a2a.test_registration import register as register_a2a_agent
from tests.browser.test_seat import click_to_the_end, seated
from tests.browser.visitor import Visitor, open_browser
from tests.cli.command import LEAGUE
from tests.conftest import BOUND, PlanMaker
from tests.foreign.players import ForeignPlayer
from tests.foreign.sample_player import SamplePlayer
from tests.foreign.stage import PATIENT, Played, match_files, planned, started
from tests.foreign.v1_player import V1Player
from tests.gateway.league import play
from tests.launch.scripted_guests import hosted
from tests.mcp.foreign_sdks import FOREIGN_SDKS, ForeignSdk, build_command, install_sdks
from tests.mcp.node_tools import NotInstalled
from tests.mcp.test_foreign_servers import START_SECONDS, register, running, until_listening
from tests.web.test_seats import with_manager

VARIANTS = {"Python SDK 1.26": "", "FastMCP 4.1": "", "TypeScript SDK": "1.32"}
"""The MCP SDKs, and which of their servers plays."""
SEATED = "an A2A agent: asked through a seat of the league's server"
"""Noted at the registration, and so in no match."""
SCANT = {
    "called as 'tools/call' of MCP",
    *(f"no '{field}'" for field in ("protocol", "sender", "timestamp", "conversation_id", "auth_token")),
}
NOTES = {
    "A2A Agent": {SEATED},
    "Python SDK 1.26": SCANT,
    "FastMCP 4.1": {*SCANT, "called with the arguments that its tool takes, without the message's other fields"},
    "TypeScript SDK": {*SCANT, "answer in result.content[0].text"},
    "Host": set(),
    "Person": set(),
    V1Player.name: set(),
    SamplePlayer.name: set(),
}
"""The eight, and every deviation that each of them has."""


def choose_servers() -> list[ForeignSdk]:
    """The MCP SDKs, with one server each."""
    return [replace(sdk, variants=(VARIANTS[sdk.name],)) for sdk in FOREIGN_SDKS if sdk.name in VARIANTS]


async def test_eight_kinds_of_agents_play_a_league_and_every_deviation_is_noted(
    plan: PlanMaker, tmp_path: Path
) -> None:
    servers = choose_servers()
    try:
        node = await asyncio.to_thread(install_sdks, servers)
    except NotInstalled as error:
        pytest.skip(str(error))
    made = planned(plan, players=len(NOTES), referees=1, overrides=PATIENT)
    site = f"http://localhost:{made.manager.port}"
    manager = f"{site}/mcp"
    old_port, new_port, host_port, *ports = [seat.port for seat in made.players][: 3 + len(servers)]
    gateway = [*LEAGUE, "join", manager, "--name", "Host", "--http", str(host_port), "--home", str(tmp_path / "host")]
    commands = {host_port: gateway}
    commands |= {port: build_command(sdk, [port], node) for sdk, port in zip(servers, ports, strict=True)}
    async with asyncio.timeout(2 * BOUND), AsyncExitStack() as stack:
        enter = stack.enter_async_context
        browser = await enter(open_browser())
        a2a_agent = stack.enter_context(agent_process()).open()
        guests: list[ForeignPlayer] = [
            await enter(started(V1Player(old_port, manager))),
            await enter(started(SamplePlayer(new_port, manager))),
        ]
        league = await enter(hosted(with_manager(made, exit_when_done=False), guests=len(NOTES)))
        processes = [(port, await enter(running(command))) for port, command in commands.items()]
        async with asyncio.timeout(START_SECONDS):
            await asyncio.gather(*(until_listening(port, process) for port, process in processes))
        seat = await asyncio.to_thread(register_a2a_agent, site, a2a_agent.url, "A2A Agent")
        assert seat["status"] == "ACCEPTED", seat
        for sdk, port in zip(servers, ports, strict=True):
            await asyncio.to_thread(register, manager, sdk.name, f"http://localhost:{port}/mcp")
        for guest in guests:
            assert (await asyncio.to_thread(guest.register))["status"] == "ACCEPTED"
        visitor = Visitor(browser)
        stack.push_async_callback(visitor.close)
        page = await visitor.look(f"{site}/play")
        await seated(page, "Person")
        host = await enter(Client(f"http://localhost:{host_port}/mcp"))
        events, clicks, _ = await asyncio.gather(
            play(host, lambda _: "odd"), click_to_the_end(page), league.completed(2 * BOUND)
        )
        questions = a2a_agent.questions
    played = Played(league.events, match_files(made), [])
    played.assert_played(len(NOTES))
    assert len(played.files) == 28
    assert [
        finding.sentence for file in played.files.values() for finding in verify_match(file) if not finding.ok
    ] == []
    ids = {row.display_name: row.player_id for row in played.completed.standings}
    assert {name: played.codes(player_id) for name, player_id in ids.items()} == {name: set() for name in NOTES}
    noted = played.completed.tolerated
    assert {name: set(noted.get(player_id, ())) for name, player_id in ids.items()} == NOTES
    assert {name: played.tolerated(ids[name]) for name in NOTES} == {name: NOTES[name] - {SEATED} for name in NOTES}
    assert (clicks, len(questions)) == (7, 7), "nobody else moved for the person or for the A2A agent"
    assert [event["kind"] for event in events].count("your_turn") == 7
    assert "fallback" not in [event["kind"] for event in events]
    assert [*visitor.faults, *(fault for guest in guests for fault in guest.faults)] == []
