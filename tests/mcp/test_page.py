"""The page on MCP is true: its example is the file, its table names everything, its commands run."""

import asyncio
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from agent_league.mcp.server.prompts import PROMPTS
from agent_league.model.agents import Role
from agent_league.protocol.resources import RESOURCES
from tests.conftest import BOUND, PlanMaker
from tests.mcp.league import League, league
from tests.test_docs import ROOT, blocks

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "ask_league.py"
COLUMN = {Role.LEAGUE_MANAGER: 2, Role.REFEREE: 3, Role.PLAYER: 4}


def test_the_client_on_the_page_is_the_example() -> None:
    assert blocks(PAGE, "python") == [EXAMPLE.read_text(encoding="utf-8")]


@pytest.mark.parametrize("role", Role)
def test_the_table_says_who_serves_which_resource(role: Role) -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `league://")]
    told = {uri for row in rows if row[COLUMN[role]].strip() for uri in re.findall(r"`(league://[^`]+)`", row[1])}
    assert told == {resource.uri for resource in RESOURCES[role]}


def test_the_page_names_every_prompt_and_every_resource_s_tool() -> None:
    prompts = {prompt.name for role in Role for prompt in PROMPTS[role]}
    tools = {resource.method for resource in RESOURCES[Role.LEAGUE_MANAGER]}
    assert [name for name in sorted(prompts | tools) if f"`{name}`" not in PAGE] == []


async def output(*command: str | Path) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(BOUND):
        said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


def manager(agents: League) -> str:
    return agents.urls[Role.LEAGUE_MANAGER]


async def test_the_example_shows_the_table_of_a_running_league(plan: PlanMaker) -> None:
    async with league(plan) as agents:
        await agents.join()
        lines = (await output(sys.executable, EXAMPLE, manager(agents))).splitlines()
        assert any(line.endswith("Guest 0 0") for line in lines)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page's command needs curl: apt-get install curl")
async def test_the_page_s_request_without_a_client_lists_the_tools(plan: PlanMaker) -> None:
    (command,) = [line for block in blocks(PAGE, "bash") for line in block.splitlines() if line.startswith("curl")]
    async with league(plan) as agents:
        said = await output(*shlex.split(command.replace("http://localhost:8000/mcp", manager(agents))))
        tools = {tool["name"] for tool in json.loads(said)["result"]["tools"]}
        assert {"get_standings", "get_match", "league_query"} <= tools
