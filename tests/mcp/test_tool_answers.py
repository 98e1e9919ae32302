"""Tool answers as hosts get them: in pages, with others' words named, and a list of tools that fits a prompt."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError

from agent_league.agent.answer_pages import MAX_HOST_BYTES, PAGED_FIELDS, UNTRUSTED_NOTE
from agent_league.mcp.server.tools import abridge_tool, define_tool
from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS
from tests.conftest import BOUND, PlanMaker
from tests.mcp.league import league

MAX_LIST_BYTES = 16_000
REGISTRATION = {
    "player_meta": {
        "display_name": "Late",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:1/mcp",
    }
}


def size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize("role", Role)
def test_the_short_forms_agree_with_the_exact_ones(role: Role) -> None:
    for method in (method for method in METHODS.values() if role in method.served_by):
        short, exact = abridge_tool(method), define_tool(method)
        Draft202012Validator.check_schema(short.input_schema)
        assert short.input_schema.get("required") == exact.input_schema.get("required")
        assert set(short.input_schema["properties"]) - {"page"} <= set(exact.input_schema["properties"])
        assert ("page" in short.input_schema["properties"]) == (method.name in PAGED_FIELDS)


async def test_every_agent_s_tools_fit_a_prompt_and_its_answers_are_marked(plan: PlanMaker) -> None:
    async with league(plan) as there:
        await there.played()
        for role, url in there.urls.items():
            async with Client(url) as client:
                listed = await client.list_tools()
                assert size(listed.model_dump(mode="json", by_alias=True, exclude_none=True)) < MAX_LIST_BYTES, role
        async with Client(there.urls[Role.LEAGUE_MANAGER]) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            for name in ("get_schedule", "create_schedule", "get_standings"):
                told = (await client.call_tool(name, {})).structured_content or {}
                assert told["untrusted"]["note"] == UNTRUSTED_NOTE
                if schema := schemas[name]:
                    Draft202012Validator(schema).validate(told)
            assert schemas["get_schedule"]
            registered = await client.call_tool("register_player", REGISTRATION)
            match = (await client.call_tool("get_match", {"match_id": "R1M1"})).structured_content or {}
    assert {"players[].display_name", "transcript[].message"} <= set(match["untrusted"]["fields"])
    assert registered.structured_content["message_type"] == "LEAGUE_REGISTER_RESPONSE"
    assert "untrusted" not in registered.structured_content, "agents get the protocol's message alone"


async def test_a_client_without_mcp_headers_gets_the_answers_of_one_with_them(plan: PlanMaker) -> None:
    async with league(plan) as there, Client(there.urls[Role.LEAGUE_MANAGER]) as client:
        await there.played()
        for name, arguments in {"get_schedule": {}, "get_match": {"match_id": "R1M1"}, "get_round": {}}.items():
            frame = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
            _, body = await there.carrier.exchange(there.urls[Role.LEAGUE_MANAGER], json.dumps(frame).encode(), BOUND)
            plain, told = json.loads(body)["result"], await client.call_tool(name, arguments)
            for varying in ("timestamp", "conversation_id"):
                plain["structuredContent"].pop(varying, None)
                (told.structured_content or {}).pop(varying, None)
            assert plain["structuredContent"] == told.structured_content
            assert plain["structuredContent"]["untrusted"]["note"] == UNTRUSTED_NOTE
            assert plain["isError"] is told.is_error is (name == "get_round")


async def test_a_wrong_argument_is_named_by_every_agent(plan: PlanMaker) -> None:
    async with league(plan) as there:
        for role, url in there.urls.items():
            async with Client(url) as client:
                told = await client.call_tool("get_protocol", {"schema": True, "message_type": "GAME_OVER"})
                assert told.is_error, role
                sentence = (told.structured_content or {})["message"]
                assert sentence == "get_protocol: no argument 'schema' here; it takes message_type, schemas, page"
                told = await client.call_tool("get_protocol", {"page": 0})
                assert (told.structured_content or {})["message"] == "'page' must be a whole number from 1 on; found 0"
                fine = await client.call_tool("get_protocol", {"page": "1", "league_id": "any"})
                assert not fine.is_error, role


async def test_a_long_resource_comes_in_pages_and_tells_the_next(plan: PlanMaker) -> None:
    async with league(plan) as there, Client(there.urls[Role.PLAYER]) as client:
        uri, found = "league://protocol", dict[str, Any]()
        while uri:
            (content,) = (await client.read_resource(uri)).contents
            told = json.loads(content.text)  # type: ignore[union-attr]
            assert len(content.text) < 1.1 * MAX_HOST_BYTES  # type: ignore[union-attr]
            found |= told["schemas"]
            uri = told.get("next", "")
        assert told["page"] == told["pages"] > 1
        assert found.keys() == set(told["message_types"])
        for wrong in ("2x", "0", "", "999"):
            with pytest.raises(MCPError, match="'page' must be"):
                await client.read_resource(f"league://protocol?page={wrong}")
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("league://rules/even_odd?page=1")
