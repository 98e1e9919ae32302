"""The registry on agents of ours: manager, referee and player of a league as three MCP servers."""

from agent_league.model.agents import Role
from agent_league.transport.mcp_client.registry import ToolRegistry
from agent_league.transport.mcp_client.servers import McpServer
from agent_league.transport.mcp_client.sessions import SessionManager
from tests.conftest import PlanMaker
from tests.mcp.league import league
from tests.transport.mcp_client.house import BOUND


async def test_the_tools_of_a_league_of_ours_are_one_list_and_its_standings_can_be_asked_for(plan: PlanMaker) -> None:
    async with league(plan) as there:
        sessions = [SessionManager(McpServer(role, there.urls[role])) for role in Role]
        async with ToolRegistry(sessions) as registry:
            tools = {tool.name: tool for tool in registry.tools()}
            assert {"get_standings", "get_match_state", "choose_parity"} <= set(tools)
            assert {f"{role}__get_rules" for role in Role} <= set(tools)
            assert all(tool.description for tool in tools.values())
            await there.join()
            standings = await registry.call("get_standings", {}, limit=BOUND)
            assert "Guest 0" in standings.text
            assert {row["player_id"] for row in standings.data["standings"]} == {"P01", "P02", "P03"}
            rules = await registry.call("player__get_rules", {"game_type": "even_odd"}, limit=BOUND)
            assert "even" in rules.text
            refused = await registry.call("get_match_state", {"match_id": "R9M9"}, limit=BOUND)
            assert refused.is_error
            assert "E007" in refused.text
