"""Serving agents in this process, and the checks before it."""

import asyncio
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent_league.errors import LeagueFailed, PortInUse, UserError
from agent_league.launch.agent_plan import AgentListeners, AgentPlan
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.serving import check_ports, choose_port, find_free_port, serve_agents
from agent_league.model.events import Event, LeagueCompleted
from agent_league.players.app import PlayerSettings
from agent_league.referee.settings import RefereeSettings
from agent_league.web.league_reader import LeagueHistory
from tests.conftest import BOUND, PlanMaker, free_ports


@pytest.fixture
def small(plan: PlanMaker) -> LeaguePlan:
    port = free_ports(4)
    where = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    return plan(players=2, referees=1, **where)


async def test_seats_that_are_done_by_themselves_end_the_serving(small: LeaguePlan) -> None:
    events: list[Event] = []
    seats: list[AgentPlan] = [small.manager]
    for seat in (*small.referees, *small.players):
        assert isinstance(seat.settings, PlayerSettings | RefereeSettings)
        seats.append(replace(seat, settings=replace(seat.settings, exit_when_done=True)))
    async with asyncio.timeout(BOUND):
        await serve_agents(seats, asyncio.Event(), AgentListeners(on_league_event=events.append))
    assert isinstance(events[-1], LeagueCompleted)
    check_ports(seats)


async def test_a_page_that_fails_over_an_event_costs_no_result(
    small: LeaguePlan, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: LeagueHistory, event: Event) -> None:
        raise ValueError(type(event).__name__)

    monkeypatch.setattr(LeagueHistory, "_note", fail)
    events: list[Event] = []
    stop = asyncio.Event()

    def watch(event: Event) -> None:
        events.append(event)
        if isinstance(event, LeagueCompleted):
            stop.set()

    async with asyncio.timeout(BOUND):
        await serve_agents(small.agent_plans, stop, AgentListeners(on_league_event=watch))
    assert [event.matches for event in events if isinstance(event, LeagueCompleted)] == [1]
    assert "watcher_failed" in (home / "logs/league" / small.league.league_id / "league.log.jsonl").read_text()


async def test_every_agent_answers_health_on_its_own_port_until_it_is_stopped(small: LeaguePlan) -> None:
    stop, ready = asyncio.Event(), asyncio.Event()
    seats = [small.manager, *small.referees, small.players[0]]
    serving = asyncio.create_task(serve_agents(seats, stop, ready=ready.set))
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        await ready.wait()
        roles = []
        for seat in seats:
            async with session.get(f"http://127.0.0.1:{seat.port}/health") as response:
                assert response.status == 200
                health = await response.json()
                assert {"role", "id", "state", "version"} <= set(health)
                roles.append(health["role"])
        stop.set()
        await serving
    assert roles == ["league_manager", "referee", "player"]
    check_ports(seats)


async def test_the_first_failure_ends_the_others(small: LeaguePlan) -> None:
    settings = small.players[1].settings
    assert isinstance(settings, PlayerSettings)
    twin = replace(small.players[1], settings=replace(settings, display_name="Agent Alpha"))
    async with asyncio.timeout(BOUND):
        with pytest.raises(LeagueFailed, match="Duplicate display name"):
            await serve_agents([small.manager, small.players[0], twin], asyncio.Event())
    check_ports(small.agent_plans)


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        (0, "the league manager needs it. Stop what is using it, or choose another with --manager-port."),
        (1, "referee REF01 needs it. Stop what is using it, or choose another with --referee-port."),
        (3, "player P02 needs it. Stop what is using it, or choose another with --player-port."),
    ],
)
def test_a_taken_port_is_named_with_who_needs_it(small: LeaguePlan, index: int, sentence: str) -> None:
    seat = small.agent_plans[index]
    with socket.socket() as other:
        other.bind((seat.host, seat.port))
        other.listen()
        with pytest.raises(PortInUse) as caught:
            check_ports(small.agent_plans)
    said = str(caught.value)
    assert said.startswith(f"Port {seat.port} on 127.0.0.1 is in use, and {sentence}")
    if sys.platform == "linux":
        assert f" It is held by process {os.getpid()} (" in said


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_that_is_not_ours_is_named(small: LeaguePlan, host: str) -> None:
    with pytest.raises(UserError, match=rf"^--host {host}: the league manager can't listen there: \w+"):
        check_ports([replace(small.manager, host=host)])


async def test_a_port_that_is_taken_at_the_last_moment_leaves_nothing_behind(small: LeaguePlan, home: Path) -> None:
    with socket.socket() as other:
        other.bind((small.players[1].host, small.players[1].port))
        other.listen()
        with pytest.raises(PortInUse):
            await serve_agents(small.agent_plans, asyncio.Event())
    check_ports(small.agent_plans)


@pytest.mark.parametrize("strict", [False, True])
async def test_a_player_answers_at_its_name_of_v1_too_and_a_manager_takes_registrations_at_their_own_path(
    plan: PlanMaker, strict: bool
) -> None:
    port = free_ports(4)
    where = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    made = plan({"tolerance.strict": strict}, players=2, referees=1, **where)
    stop, ready = asyncio.Event(), asyncio.Event()
    seats = [made.manager, *made.referees, made.players[0]]
    paths = {"/register": [400, 404, 404], "/player_001": [404, 404, 200]}
    if strict:
        paths["/register"] = [404, 404, 404]
    serving = asyncio.create_task(serve_agents(seats, stop, ready=ready.set))
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        await ready.wait()
        for path, expected in paths.items():
            found = []
            for seat in seats:
                async with session.post(f"http://127.0.0.1:{seat.port}{path}", json={"message_type": "X"}) as response:
                    found.append(response.status)
            assert found == expected
        stop.set()
        await serving


async def test_a_registration_that_is_posted_is_refused_with_a_status_of_http(plan: PlanMaker) -> None:
    port = free_ports(1)
    made = plan(players=2, referees=1, manager_port=port)
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve_agents([made.manager], stop, ready=ready.set))
    flat = {"display_name": "Flat", "version": "1.0.0", "endpoint": "http://localhost:9/mcp", "agent_type": "player"}
    meta = {name: value for name, value in flat.items() if name != "agent_type"}
    message = {"player_meta": {**meta, "game_types": ["even_odd"]}}
    framed = {"jsonrpc": "2.0", "method": "register_player", "params": {"player_meta": {}}, "id": 1}
    bodies: list[tuple[Any, int, str]] = [
        (flat, 200, "ACCEPTED"),
        ({**flat, "endpoint": "http://localhost:10/mcp"}, 409, "Duplicate display name"),
        ({**flat, "display_name": "Other", "endpoint": "nowhere"}, 400, "Invalid MCP endpoint"),
        ({**flat, "display_name": "Other", "auth_token": "tok-p01-x"}, 401, "E012"),
        ({**flat, "display_name": 5}, 400, "player_meta.display_name"),
        ({**flat, "agent_type": "spy"}, 400, "'agent_type' must be"),
        (message, 200, "ACCEPTED"),
        ({"player_meta": {}}, 400, "E003"),
        (framed, 200, "E003"),
        ("no object", 400, "expected an object"),
    ]
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        await ready.wait()
        for body, status, said in bodies:
            async with session.post(f"http://127.0.0.1:{port}/register", json=body) as response:
                assert (response.status, said in await response.text()) == (status, True), body
        stop.set()
        await serving


async def test_a_port_that_was_chosen_for_an_agent_is_its_own_until_it_ends(small: LeaguePlan) -> None:
    first = free_ports(3)
    place: Any = ("127.0.0.1", (first, first + 2))
    port, held = choose_port(None, *place, dial_out=False)
    assert held is not None
    assert choose_port(None, *place, dial_out=True) == (first + 1, None), "a seat that dials out holds nothing"
    seat = replace(small.players[0], port=port, host=place[0], held_socket=held)
    check_ports([seat])
    with pytest.raises(PortInUse):
        check_ports([replace(seat, held_socket=None)])
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve_agents([seat], stop, ready=ready.set))
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        await ready.wait()
        async with session.get(f"http://127.0.0.1:{port}/health") as response:
            assert (await response.json())["role"] == "player"
        stop.set()
        await serving
    assert find_free_port(*place) == port


def test_the_first_port_that_nobody_listens_on_is_taken() -> None:
    port = free_ports(3)
    with socket.create_server(("127.0.0.1", port)), socket.create_server(("127.0.0.1", port + 1)):
        assert find_free_port("127.0.0.1", (port, port + 2)) == port + 2
        with pytest.raises(UserError, match=f"Every port from {port} to {port + 1} is in use; name another"):
            find_free_port("127.0.0.1", (port, port + 1))
    assert find_free_port("127.0.0.1", (port, port + 2)) == port
