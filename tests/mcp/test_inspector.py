"""MCP Inspector's command line, as somebody uses it who wants to look at an agent."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS
from tests.conftest import PlanMaker
from tests.gateway.served import served_gateway
from tests.mcp.league import league
from tests.mcp.node_tools import NodeTools
from tests.mcp.programs import Ended, run

IS_ERROR = 5
"""Inspector's exit code for a tool that answered with an error."""
CALLED: dict[Role, tuple[str, dict[str, Any]]] = {
    Role.LEAGUE_MANAGER: ("get_player", {"player_id": "P01"}),
    Role.REFEREE: ("get_rules", {"game_type": "even_odd"}),
    Role.PLAYER: ("get_player_state", {}),
}


async def inspect(tools: NodeTools, url: str, home: Path, *args: str) -> Ended:
    """Runs it with a home of its own: it keeps files there."""
    return await run(tools.inspector("--cli", url, *args), {**os.environ, "HOME": str(home)})


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("role", Role)
async def test_inspector_lists_and_calls_the_tools_of_every_role(
    node_tools: NodeTools, plan: PlanMaker, tmp_path: Path, role: Role, era: str
) -> None:
    name, arguments = CALLED[role]
    async with league(plan) as there:
        url, spoken = there.urls[role], ("--protocol-era", era)
        listed = await inspect(node_tools, url, tmp_path, *spoken, "--method", "tools/list", "--strict")
        call = ("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        called = await inspect(node_tools, url, tmp_path, *spoken, *call)
    assert listed.code == 0, listed.err
    names = {tool["name"] for tool in json.loads(listed.out)["tools"]}
    assert names == {method for method, row in METHODS.items() if role in row.served_by}
    assert called.code == 0, called.err
    answer = json.loads(called.out)
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    assert "error_code" not in answer["structuredContent"]


async def test_inspector_shows_a_refusal_as_an_error(node_tools: NodeTools, plan: PlanMaker, tmp_path: Path) -> None:
    async with league(plan) as there:
        call = ("--method", "tools/call", "--tool-name", "get_match_state", "--tool-arg", "match_id=R9M9")
        refused = await inspect(node_tools, there.urls[Role.REFEREE], tmp_path, *call)
    assert refused.code == IS_ERROR, refused.err
    assert json.loads(refused.out)["structuredContent"]["error_code"] == "E007"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_inspector_lists_and_calls_the_tools_of_the_gateway(
    node_tools: NodeTools, home: Path, tmp_path: Path, era: str
) -> None:
    async with served_gateway(home) as url:
        spoken = ("--protocol-era", era)
        listed = await inspect(node_tools, url, tmp_path, *spoken, "--method", "tools/list", "--strict")
        call = ("--method", "tools/call", "--tool-name", "get_rules", "--tool-arg", "game_type=even_odd")
        called = await inspect(node_tools, url, tmp_path, *spoken, *call)
    assert listed.code == 0, listed.err
    assert {"join_league", "wait_for_turn", "make_move"} <= {tool["name"] for tool in json.loads(listed.out)["tools"]}
    assert called.code == 0, called.err
    assert json.loads(called.out)["structuredContent"]["game_type"] == "even_odd"
