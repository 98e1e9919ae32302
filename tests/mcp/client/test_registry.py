"""One list of tools over several servers: names, order, conflicts, absences, and what a model is given."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ImageContent, TextContent

from agent_league.mcp.client.failures import FailureKind, ToolFailed
from agent_league.mcp.client.registry import (
    MAX_NAME,
    RegisteredTool,
    ToolRegistry,
    _result_text,
    assign_tool_names,
    to_provider_name,
)
from agent_league.mcp.client.sessions import SessionManager, SessionState
from tests.conftest import BOUND
from tests.mcp.client.house import House, Naps, open_registry, session_with, settled

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.fixture
async def houses() -> AsyncIterator[tuple[House, House]]:
    """Two servers that both have `look`, one of each revision."""
    one, two = House(tools={"look": None, "walk": None}), House(old=True, tools={"look": None, "talk": None})
    one.grows = two.grows = False
    for house in (one, two):
        await house.start()
    yield one, two
    for house in (one, two):
        await house.kill()


def sessions_with(houses: tuple[House, House], naps: Naps) -> list[SessionManager]:
    return [session_with(house, naps, name=name) for name, house in zip(("north", "south"), houses, strict=True)]


def tools_of(registry: ToolRegistry) -> dict[str, RegisteredTool]:
    return {tool.name: tool for tool in registry.list_tools()}


async def test_tools_keep_their_own_name_where_it_is_the_only_one_and_get_their_servers_where_two_have_it(
    houses: tuple[House, House], naps: Naps
) -> None:
    async with open_registry(sessions_with(houses, naps)) as registry:
        tools = tools_of(registry)
        assert list(tools) == ["north__look", "walk", "south__look", "talk"]
        first = tools["north__look"]
        assert (first.server, first.original_name, first.description) == ("north", "look", "does look")
        assert first.input_schema["properties"]["word"]["type"] == "string"
        for name, said in [("north__look", "look: hi"), ("south__look", "look: hi"), ("talk", "talk: hi")]:
            assert await registry.call_tool(tools[name], {"word": "hi"}, limit=BOUND) == said
    assert [dict(house.calls) for house in houses] == [{"look": 1}, {"look": 1, "talk": 1}]


async def test_a_tool_that_was_listed_can_be_called_though_another_server_has_brought_its_like_since(
    houses: tuple[House, House], naps: Naps
) -> None:
    await houses[1].kill()
    sessions = sessions_with(houses, naps)
    async with open_registry(sessions) as registry:
        lent = tools_of(registry)["look"]
        await houses[1].start()
        await settled(sessions[1])
        assert "look" not in tools_of(registry)
        assert await registry.call_tool(lent, {"word": "hi"}, limit=BOUND) == "look: hi"
    assert [house.calls["look"] for house in houses] == [1, 0]


async def test_a_server_that_is_away_is_not_listed_but_keeps_its_names_and_may_be_waited_for(
    houses: tuple[House, House], naps: Naps
) -> None:
    sessions = sessions_with(houses, naps)
    async with open_registry(sessions) as registry:
        walk = tools_of(registry)["walk"]
        await houses[0].kill()
        naps.beat()
        naps.beat()
        while sessions[0].state is SessionState.READY:
            await naps.rested()
        assert list(tools_of(registry)) == ["south__look", "talk"]
        with pytest.raises(ToolFailed, match="away for all of") as away:
            await registry.call_tool(walk, {}, limit=0.05)
        assert (away.value.failure_kind, away.value.server) == (FailureKind.TRANSIENT, "north")
        call = asyncio.create_task(registry.call_tool(walk, {"word": "back"}, limit=BOUND))
        await houses[0].start()
        assert await call == "walk: back"
        assert list(tools_of(registry)) == ["north__look", "walk", "south__look", "talk"]


async def test_a_registry_starts_without_a_server_that_is_not_there(houses: tuple[House, House], naps: Naps) -> None:
    await houses[0].kill()
    async with open_registry(sessions_with(houses, naps)) as registry:
        assert list(tools_of(registry)) == ["look", "talk"]
    assert list(tools_of(registry)) == []


async def test_what_a_tool_itself_reports_as_an_error_is_an_answer(houses: tuple[House, House], naps: Naps) -> None:
    async with open_registry(sessions_with(houses, naps)) as registry:
        answer = await registry.call_tool(tools_of(registry)["walk"], {"word": {"not": "a word"}}, limit=BOUND)
    assert "word" in answer


def test_an_answer_without_text_is_its_data_and_pictures_are_only_mentioned() -> None:
    assert _result_text(CallToolResult(content=[], structured_content={"rank": 1})) == '{"rank":1}'
    blocks = [TextContent(type="text", text="see"), ImageContent(type="image", data="AA==", mime_type="image/png")]
    assert _result_text(CallToolResult(content=blocks)) == "see\n[image, not shown]"


def test_names_outside_what_providers_accept_are_spelled_anew_and_stay_apart() -> None:
    places = [("a", "get.x"), ("a", "get_x"), ("a", "wetter/heute"), ("b", "long" * 40), ("b", "long" * 41)]
    assert list(assign_tool_names(places))[:3] == ["a__get_x", "a__get_x_2", "wetter_heute"]
    assert list(assign_tool_names(places).values()) == places
    assert len(to_provider_name("long" * 40)) == MAX_NAME


def test_a_name_made_of_a_server_and_a_tool_gives_way_to_a_tool_of_that_name() -> None:
    places = [("a", "b"), ("c", "b"), ("d", "a__b")]
    assert assign_tool_names(places) == {"a__b_2": ("a", "b"), "c__b": ("c", "b"), "a__b": ("d", "a__b")}


@given(st.lists(st.tuples(st.sampled_from(["a", "a_", "a__b"]), st.text("ab_.é", max_size=8)), unique=True))
def test_every_tool_has_one_name_of_its_own_that_providers_accept(places: list[tuple[str, str]]) -> None:
    names = assign_tool_names(places)
    assert list(names.values()) == places
    assert all(ACCEPTED.fullmatch(name) for name in names)
