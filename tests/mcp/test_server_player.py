"""A player that is nothing but an MCP server of the SDK takes part: the example, in a process of its own."""

import asyncio
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_league.model.events import MatchFinished
from agent_league.model.results import Outcome
from tests.cli.command import LEAGUE, until
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.launch.scripted_guests import hosted
from tests.test_docs import ROOT

EXAMPLE = ROOT / "examples" / "mcp_server_player.py"
OTHER_NAMES = {
    "def handle_game_invitation(": "def receive_game_invitation(",
    "def choose_parity(": "def parity_choose(",
    "def notify_match_result(": "def game_over(",
}
ONE_ARGUMENT = {
    "match_id: str, conversation_id: str, timestamp: str)": "message: dict[str, Any])",
    "match_id: str, conversation_id: str)": "message: dict[str, Any])",
    "match_id: str, game_result: dict[str, Any])": "message: dict[str, Any])",
    "match_id, conversation_id, accept": "message['match_id'], message['conversation_id'], accept",
    "match_id, conversation_id, parity_choice": "message['match_id'], message['conversation_id'], parity_choice",
    "arrival_timestamp=timestamp": "arrival_timestamp=message['timestamp']",
    'print(match_id, game_result["reason"]': 'print(message["match_id"], message["game_result"]["reason"]',
}
"""The tools of the example under other names of the table, and with the message as their one argument."""


async def started(port: str, manager: str, script: Path = EXAMPLE) -> asyncio.subprocess.Process:
    command = [sys.executable, str(script), port, manager]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def ended(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    async with asyncio.timeout(BOUND):
        await process.wait()


@pytest.mark.parametrize(
    ("changes", "called"),
    [
        ({}, ["'tools/call' of MCP"]),
        (
            OTHER_NAMES,
            ["'tools/call' of MCP of 'receive_game_invitation'", "'tools/call' of MCP of 'parity_choose'"],
        ),
        (
            OTHER_NAMES | ONE_ARGUMENT,
            [
                "'tools/call' of MCP of 'receive_game_invitation' with arguments.message",
                "'tools/call' of MCP of 'parity_choose' with arguments.message",
            ],
        ),
    ],
    ids=["our names", "other names", "other names and one argument"],
)
async def test_the_sdk_s_own_server_plays_a_league_with_ours(
    plan: PlanMaker, tmp_path: Path, changes: dict[str, str], called: list[str]
) -> None:
    text = EXAMPLE.read_text()
    for ours, theirs in changes.items():
        assert ours in text, ours
        text = text.replace(ours, theirs)
    script = tmp_path / "player.py"
    script.write_text(text)
    first = free_ports(6)
    planned = plan(players=3, referees=1, manager_port=first, referee_port=first + 1, player_port=first + 2)
    manager, port = f"http://localhost:{first}/mcp", str(first + 5)
    async with AsyncExitStack() as stack:
        watched = await stack.enter_async_context(hosted(planned, 1))
        player = await started(port, manager, script)
        stack.push_async_callback(ended, player)
        completed = await watched.completed(BOUND)
        (guest,) = [row for row in completed.standings if row.display_name == "My MCP player"]
        assert guest.played == 2
        results = [event.result for event in watched.events if isinstance(event, MatchFinished)]
        assert all(result.outcome is not Outcome.TECHNICAL_LOSS for result in results)
        assert {f"called as {way}" for way in called} <= set(completed.tolerated[guest.player_id])
        assert player.stdout is not None
        async with asyncio.timeout(BOUND):
            registered = (await player.stdout.readline()).decode()
            told = (await player.stdout.readline()).decode()
        assert registered.startswith("Registered as P")
        assert told.startswith("R")


async def test_league_check_judges_it_in_its_own_form(tmp_path: Path) -> None:
    first = free_ports(2)
    port, manager = str(first + 1), f"http://localhost:{first}/mcp"
    command = [*LEAGUE, "check", f"http://localhost:{port}/mcp", "--manager-port", str(first), "--wait", "30"]
    check = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=tmp_path)
    async with AsyncExitStack() as stack, asyncio.timeout(BOUND):
        await asyncio.to_thread(until, lambda: not is_free(first), "a checker to register with")
        stack.push_async_callback(ended, await started(port, manager))
        said, _ = await check.communicate()
    assert check.returncode == 0, said.decode()
    assert "Dialect: league.v2, real MCP" in said.decode()
    assert " 0 failed" in said.decode()


async def test_without_a_manager_it_ends_with_a_sentence() -> None:
    player = await started(str(free_ports(1)), f"http://localhost:{free_ports(1)}/mcp")
    async with asyncio.timeout(BOUND):
        _, said = await player.communicate()
    assert player.returncode == 1
    assert said.decode() == (
        "can't play: All connection attempts failed; is the League Manager running at that address?\n"
    )


async def test_ctrl_c_ends_it_without_a_traceback(plan: PlanMaker) -> None:
    first = free_ports(5)
    planned = plan(players=2, referees=1, manager_port=first, referee_port=first + 1, player_port=first + 2)
    async with hosted(planned, 1), asyncio.timeout(BOUND):
        player = await started(str(first + 4), f"http://localhost:{first}/mcp")
        assert player.stdout is not None
        await player.stdout.readline()
        player.send_signal(signal.SIGINT)
        _, said = await player.communicate()
    assert player.returncode == 130
    assert said == b""


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
