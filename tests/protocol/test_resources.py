"""The resources: which addresses there are, which method answers for each, and that it really does."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import run_agents
from agent_league.league.app import LeagueManager
from agent_league.mcp.server.tools import define_tool
from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS
from agent_league.protocol.resources import RESOURCES, Resource, build_resource_uri, find_resource
from tests.conftest import BOUND, PlanMaker

MANAGER, REFEREE, PLAYER = Role.LEAGUE_MANAGER, Role.REFEREE, Role.PLAYER
ALL = [(role, resource) for role in Role for resource in RESOURCES[role]]


def test_the_addresses_are_those_that_were_promised() -> None:
    assert {str(role): {resource.uri for resource in RESOURCES[role]} for role in Role} == {
        "league_manager": {
            "league://standings",
            "league://schedule",
            "league://rounds/{round_id}",
            "league://matches/{match_id}",
            "league://players/{player_id}",
            "league://rules/{game_type}",
            "league://protocol",
        },
        "referee": {"league://matches/{match_id}", "league://rules/{game_type}", "league://protocol"},
        "player": {"league://players/{player_id}", "league://rules/{game_type}", "league://protocol"},
    }


@pytest.mark.parametrize(("role", "resource"), ALL, ids=lambda part: getattr(part, "uri", str(part)))
def test_a_resource_is_a_method_that_its_role_serves_to_anybody(role: Role, resource: Resource) -> None:
    method = METHODS[resource.method]
    assert role in method.served_by
    assert method.caller.value == "anybody"
    assert define_tool(method).reads_only


@pytest.mark.parametrize(
    ("role", "uri", "method", "arguments"),
    [
        (MANAGER, "league://standings", "get_standings", {}),
        (MANAGER, "league://schedule", "get_schedule", {}),
        (MANAGER, "league://rounds/3", "get_round", {"round_id": 3}),
        (MANAGER, "league://matches/R1M1", "get_match", {"match_id": "R1M1"}),
        (MANAGER, "league://matches/..%2F..%2Fsecret", "get_match", {"match_id": "../../secret"}),
        (MANAGER, "league://players/P01", "get_player", {"player_id": "P01"}),
        (PLAYER, "league://players/P01", "get_player_state", {"player_id": "P01"}),
        (REFEREE, "league://matches/R1M1", "get_match_state", {"match_id": "R1M1"}),
        (REFEREE, "league://rules/even_odd", "get_rules", {"game_type": "even_odd"}),
        (PLAYER, "league://protocol", "get_protocol", {"schemas": True}),
    ],
)
def test_an_address_stands_for_a_call(role: Role, uri: str, method: str, arguments: Mapping[str, Any]) -> None:
    found = find_resource(role, uri)
    assert found is not None
    assert (found[0].method, found[1]) == (method, arguments)
    Draft202012Validator(define_tool(METHODS[method]).input_schema).validate(found[1])


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "league://",
        "league://standing",
        "league://standings/",
        "league://standings?x=1",
        "xleague://standings",
        "league://rounds/one",
        "league://rounds/-1",
        "league://rounds/\u0661",
        "league://rounds/99999999999999999999",
        "league://matches/",
        "league://matches/R1M1/more",
        "file:///etc/passwd",
        "league://matches/{match_id}",
    ],
)
def test_another_address_stands_for_nothing(uri: str) -> None:
    found = find_resource(MANAGER, uri)
    assert found is None or found[1] == {"match_id": "{match_id}"}
    if uri != "league://matches/{match_id}":
        assert found is None


@pytest.mark.parametrize("uri", ["league://standings", "league://players/P01", "league://schedule"])
def test_a_referee_has_no_resources_of_the_manager_s(uri: str) -> None:
    assert find_resource(REFEREE, uri) is None


@given(st.text(min_size=1))
def test_a_name_survives_the_way_into_an_address_and_back(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    found = find_resource(MANAGER, build_resource_uri("players", name))
    assert found is not None
    assert found[1] == {"player_id": name}


async def read(network: MemoryNetwork, role: Role, endpoint: str, uri: str) -> dict[str, Any]:
    found = find_resource(role, uri)
    assert found is not None
    frame = {"jsonrpc": "2.0", "method": found[0].method, "params": found[1], "id": 1}
    _, body = await network.exchange(endpoint, json.dumps(frame).encode(), 10)
    result: dict[str, Any] = json.loads(body)["result"]
    return result


async def test_every_resource_can_be_read_where_it_is_served(plan: PlanMaker) -> None:
    league, network = plan(players=2, referees=1, seed="7"), MemoryNetwork()
    examples = {"round_id": "1", "match_id": "R1M1", "player_id": "P01", "game_type": "even_odd"}
    places = {MANAGER: "http://localhost:8000/mcp", REFEREE: "http://localhost:8001/mcp"}
    places[PLAYER] = "http://localhost:8101/mcp"
    async with asyncio.timeout(BOUND), run_agents(network, league.agent_plans) as agents:
        assert isinstance(agents[0], LeagueManager)
        await agents[0].completed.wait()
        for role, resource in ALL:
            answer = await read(network, role, places[role], resource.uri.format(**examples))
            assert answer.get("message_type") != "LEAGUE_ERROR", resource.uri
        stranger = await read(network, PLAYER, places[PLAYER], "league://players/P02")
        assert stranger["error_code"] == "E005"
