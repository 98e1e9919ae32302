"""The registry on agents of ours: manager, referee and player of a league as three MCP servers."""

import json
from collections.abc import Mapping

from agent_league.config import McpServer
from agent_league.mcp.client.sessions import SessionManager
from agent_league.model.agents import Role
from tests.conftest import BOUND, PlanMaker
from tests.mcp.client.house import open_registry
from tests.mcp.league import league


def sessions_with(urls: Mapping[Role, str]) -> list[SessionManager]:
    return [SessionManager(role, McpServer(url=urls[role])) for role in Role]


async def test_the_tools_of_a_league_of_ours_are_one_list_and_its_standings_can_be_asked_for(plan: PlanMaker) -> None:
    async with league(plan) as there, open_registry(sessions_with(there.urls)) as registry:
        tools = {tool.name: tool for tool in registry.list_tools()}
        assert {"get_standings", "get_match_state", "choose_parity"} <= set(tools)
        assert {f"{role}__get_rules" for role in Role} <= set(tools)
        assert all(tool.description for tool in tools.values())
        await there.join()
        standings = json.loads(await registry.call_tool(tools["get_standings"], {}, limit=BOUND))
        assert {row["player_id"] for row in standings["standings"]} == {"P01", "P02", "P03"}
        rules = await registry.call_tool(tools["player__get_rules"], {"game_type": "even_odd"}, limit=BOUND)
        assert "even" in rules
        assert "E007" in await registry.call_tool(tools["get_match_state"], {"match_id": "R9M9"}, limit=BOUND)
