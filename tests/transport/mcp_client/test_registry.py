"""One list of tools over several servers: names, order, conflicts, absences, and what a model is given."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ImageContent, TextContent

from agent_league.errors import UserError
from agent_league.transport.mcp_client.faults import Fault, ToolFailed
from agent_league.transport.mcp_client.registry import MAX_NAME, ToolRegistry, _answer, cut, named, spelled
from agent_league.transport.mcp_client.sessions import State
from tests.transport.mcp_client.house import BOUND, House, Naps, session_with

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


def registry_of(houses: tuple[House, House], naps: Naps) -> ToolRegistry:
    return ToolRegistry(
        [session_with(house, naps, name=name) for name, house in zip(("north", "south"), houses, strict=True)]
    )


def names(registry: ToolRegistry) -> list[str]:
    return [tool.name for tool in registry.tools()]


async def test_tools_keep_their_own_name_where_it_is_the_only_one_and_get_their_servers_where_two_have_it(
    houses: tuple[House, House], naps: Naps
) -> None:
    async with registry_of(houses, naps) as registry:
        assert names(registry) == ["north__look", "walk", "south__look", "talk"]
        first = registry.tools()[0]
        assert (first.server, first.original_name, first.description) == ("north", "look", "does look")
        assert first.input_schema["properties"]["word"]["type"] == "string"
        for name, said in [("north__look", "look: hi"), ("south__look", "look: hi"), ("talk", "talk: hi")]:
            answer = await registry.call(name, {"word": "hi"}, limit=BOUND)
            assert (answer.text, answer.data, answer.is_error) == (said, {"result": said}, False)
    assert [dict(house.calls) for house in houses] == [{"look": 1}, {"look": 1, "talk": 1}]


async def test_a_name_that_nobody_has_or_two_have_is_refused_with_those_that_there_are(
    houses: tuple[House, House], naps: Naps
) -> None:
    async with registry_of(houses, naps) as registry:
        with pytest.raises(ToolFailed, match="several, say which: north__look, south__look") as ambiguous:
            await registry.call("look", {}, limit=BOUND)
        with pytest.raises(ToolFailed, match="known are: north__look, walk, south__look, talk"):
            await registry.call("dance", {}, limit=BOUND)
        assert ambiguous.value.fault is Fault.PERMANENT


async def test_a_server_that_is_away_is_not_listed_but_keeps_its_names_and_may_be_waited_for(
    houses: tuple[House, House], naps: Naps
) -> None:
    registry = registry_of(houses, naps)
    async with registry:
        await houses[0].kill()
        naps.beat()
        naps.beat()
        while registry._sessions["north"].state is State.READY:
            await naps.rested()
        assert names(registry) == ["south__look", "talk"]
        with pytest.raises(ToolFailed, match="away for all of") as away:
            await registry.call("walk", {}, limit=0.05)
        assert (away.value.fault, away.value.server) == (Fault.TRANSIENT, "north")
        call = asyncio.create_task(registry.call("walk", {"word": "back"}, limit=BOUND))
        await houses[0].start()
        assert (await call).text == "walk: back"
        assert names(registry) == ["north__look", "walk", "south__look", "talk"]


async def test_a_registry_starts_without_a_server_that_is_not_there(houses: tuple[House, House], naps: Naps) -> None:
    await houses[0].kill()
    registry = registry_of(houses, naps)
    await registry.start(limit=0.1)
    await registry._sessions["south"].settled(BOUND)
    assert names(registry) == ["look", "talk"]
    await registry.close()
    assert names(registry) == []


async def test_what_a_tool_itself_reports_as_an_error_is_an_answer(houses: tuple[House, House], naps: Naps) -> None:
    async with registry_of(houses, naps) as registry:
        answer = await registry.call("walk", {"word": {"not": "a word"}}, limit=BOUND)
    assert answer.is_error
    assert "word" in answer.text


async def test_a_long_answer_is_cut_and_says_so(houses: tuple[House, House], naps: Naps) -> None:
    async with registry_of(houses, naps) as registry:
        answer = await registry.call("walk", {"word": "x" * 50_000}, limit=BOUND)
    assert answer.text.startswith("walk: xxx")
    assert answer.text.endswith("x\n[cut: 16000 of 50006 letters]")
    assert answer.data is None


def test_two_servers_of_one_name_are_refused() -> None:
    house = House()
    with pytest.raises(UserError, match="two MCP servers are called same"):
        ToolRegistry([session_with(house, Naps(), name="same") for _ in range(2)])


def test_an_answer_without_text_is_its_data_and_pictures_are_only_mentioned() -> None:
    data = {"rank": 1}
    assert _answer(CallToolResult(content=[], structured_content=data), 99).text == '{"rank":1}'
    blocks = [TextContent(type="text", text="see"), ImageContent(type="image", data="AA==", mime_type="image/png")]
    answer = _answer(CallToolResult(content=blocks), 99)
    assert (answer.text, answer.data) == ("see\n[image, not shown]", None)
    assert cut("exact", 5) == "exact"


def test_names_outside_what_providers_accept_are_spelled_anew_and_stay_apart() -> None:
    places = [("a", "get.x"), ("a", "get_x"), ("a", "wetter/heute"), ("b", "long" * 40), ("b", "long" * 41)]
    assert list(named(places))[:3] == ["a__get_x", "a__get_x_2", "wetter_heute"]
    assert list(named(places).values()) == places
    assert len(spelled("long" * 40)) == MAX_NAME


def test_a_name_made_of_a_server_and_a_tool_gives_way_to_a_tool_of_that_name() -> None:
    places = [("a", "b"), ("c", "b"), ("d", "a__b")]
    assert named(places) == {"a__b_2": ("a", "b"), "c__b": ("c", "b"), "a__b": ("d", "a__b")}


@given(st.lists(st.tuples(st.sampled_from(["a", "a_", "a__b"]), st.text("ab_.é", min_size=1, max_size=8)), unique=True))
def test_every_tool_has_one_name_of_its_own_that_providers_accept(places: list[tuple[str, str]]) -> None:
    names = named(places)
    assert list(names.values()) == places
    assert all(ACCEPTED.fullmatch(name) for name in names)
