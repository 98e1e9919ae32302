"""The referee's registration, and deadlines over real HTTP."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.app import AgentApp
from agent_league.errors import LeagueFailed
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.http.server import HttpServer
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.v2 import StartMatch
from agent_league.referee.app import Referee
from agent_league.testing.peers import Params, ScriptedManager, ScriptedPlayer, always_reply, never_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import BOUND, FAST, free_ports
from tests.referee.hall import Hall, hall, referee_settings


@in_virtual_time
async def test_a_referee_says_what_it_can_do(home: Path) -> None:
    async with hall(home, max_concurrent_matches=4, version="3.2.1", league_id="league_2025_even_odd") as match:
        (request,) = match.manager.received_params("register_referee")
    assert request["message_type"] == "REFEREE_REGISTER_REQUEST"
    assert request["sender"] == "referee:REF01"
    assert request["league_id"] == "league_2025_even_odd"
    assert request["referee_meta"] == {
        "display_name": "Referee Alpha",
        "version": "3.2.1",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:8001/mcp",
        "max_concurrent_matches": 4,
        "protocol_version": "2.1.0",
        "match_tokens": True,
    }


async def run_against(home: Path, answer: dict[str, Any]) -> None:
    network = MemoryNetwork()
    manager = ScriptedManager(scripts={"register_referee": always_reply(answer)})
    network.attach(manager.endpoint, manager.answer)
    async with asyncio.timeout(60):
        await Referee(referee_settings(home), network).run()


@in_virtual_time
async def test_a_rejected_referee_ends_with_the_managers_reason(home: Path) -> None:
    with pytest.raises(LeagueFailed, match="rejected the registration: Duplicate display name"):
        await run_against(home, {"status": "REJECTED", "reason": "Duplicate display name", "referee_id": None})


@pytest.mark.parametrize("given", ["../../../evil", "/etc/evil", "a/b", "", ".hidden"])
@in_virtual_time
async def test_an_id_that_would_lead_out_of_the_folder_is_not_taken(home: Path, given: str) -> None:
    before = set(home.parent.rglob("*evil*"))
    with pytest.raises(LeagueFailed, match="can't name a file"):
        await run_against(home, {"status": "ACCEPTED", "referee_id": given, "auth_token": "tok-x-y"})
    assert set(home.parent.rglob("*evil*")) == before


@in_virtual_time
async def test_a_referee_started_before_the_manager_waits_for_it(home: Path) -> None:
    network = MemoryNetwork()
    referee = Referee(referee_settings(home), network)
    run = asyncio.create_task(referee.run())
    await asyncio.sleep(300)
    assert referee.health()["state"] == "INIT"
    manager = ScriptedManager()
    network.attach(manager.endpoint, manager.answer)
    await manager.wait_for_calls("register_referee")
    async with asyncio.timeout(60):
        await referee._session.registered.wait()
    assert referee.health()["state"] == "REGISTERED"
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


@in_virtual_time
async def test_a_referee_that_loses_its_place_ends_with_the_managers_sentence(home: Path) -> None:
    """The manager forgets it, and then has no room for it."""
    answers = iter([None, {"status": "REJECTED", "reason": "Registration closed", "referee_id": None}])
    manager = ScriptedManager()
    welcome = manager._scripts["register_referee"]

    async def register(params: Params) -> Any:
        return next(answers) or await welcome(params)

    manager._scripts["register_referee"] = register
    manager._scripts["league_query"] = always_reply(
        {"message_type": "LEAGUE_ERROR", "error_code": "E013", "message": "who?"}
    )
    network = MemoryNetwork()
    network.attach(manager.endpoint, manager.answer)
    with pytest.raises(LeagueFailed, match="rejected the registration: Registration closed"):
        await Referee(referee_settings(home), network).run()


@in_virtual_time
async def test_before_its_registration_a_referee_takes_no_match(home: Path) -> None:
    network = MemoryNetwork()
    referee = Referee(referee_settings(home), network)
    network.attach("http://localhost:8001/mcp", referee.dispatcher.answer_request)
    match = Hall(home, network, ScriptedManager(), referee)
    match.pair()
    answer = await match.start()
    referee.log.close()
    assert answer["error_code"] == "E016"
    assert match.players["P01"].received_calls == []


async def test_over_http_a_deadline_really_cuts_the_call_of_a_hung_player(home: Path) -> None:
    """Real servers, real sockets, real time: the match ends although one player never answers anything."""
    first = free_ports(4)
    hung: dict[str, Any] = dict.fromkeys(("choose_parity", "notify_game_error", "notify_match_result"), never_reply)
    manager = ScriptedManager(f"http://127.0.0.1:{first}/mcp")
    players = [
        ScriptedPlayer("P01", f"http://127.0.0.1:{first + 2}/mcp"),
        ScriptedPlayer("P02", f"http://127.0.0.1:{first + 3}/mcp", scripts=hung),
    ]
    carrier = HttpCarrier()
    settings = replace(
        referee_settings(home, FAST), manager=manager.endpoint, endpoint=f"http://127.0.0.1:{first + 1}/mcp"
    )
    referee = Referee(settings, carrier)
    answers = [manager.answer, referee.dispatcher.answer_request, *(player.answer for player in players)]
    servers = [
        HttpServer(AgentApp(answer, referee.health), "127.0.0.1", first + index, "a test")
        for index, answer in enumerate(answers)
    ]
    for server in servers:
        await server.start()
    run = asyncio.create_task(referee.run())
    try:
        async with asyncio.timeout(BOUND):
            await referee._session.registered.wait()
            order = manager.build_start_match("R1M1", *players)
            request = json.dumps({"jsonrpc": "2.0", "method": "start_match", "params": order, "id": 1})
            await carrier.exchange(settings.endpoint, request.encode(), 5)
            (report,) = await manager.wait_for_calls("report_match_result")
            await players[0].wait_for_calls("notify_match_result")
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        await carrier.close()
        await asyncio.gather(*(server.stop() for server in servers))
    assert report["result"]["winner"] == "P01"
    assert report["result"]["terminations"] == {"P02": "move_timeout"}
    assert len(players[1].received_params("choose_parity")) == 3


SEAT = f"/leagues/spring/seats/S{'0' * 24}/mcp"
SERVER = "http://server:8000/leagues/spring"


@pytest.mark.parametrize(
    ("manager", "given", "called"),
    [
        (f"{SERVER}/mcp", f"http://localhost:8080{SEAT}", f"http://server:8000{SEAT}"),
        (f"{SERVER}/join/key-x/mcp", f"http://127.0.0.1:8080/base{SEAT}", f"http://server:8000{SEAT}"),
        (f"{SERVER}/join/key-x/dial/tok-seat-x/mcp", f"http://localhost:8080{SEAT}", f"http://server:8000{SEAT}"),
        (f"{SERVER}/mcp", f"https://play.example{SEAT}", f"https://play.example{SEAT}"),
        (f"{SERVER}/mcp", "http://localhost:8101/mcp", "http://localhost:8101/mcp"),
        ("http://localhost:8000/leagues/spring/mcp", f"http://localhost:8080{SEAT}", f"http://localhost:8080{SEAT}"),
    ],
)
async def test_a_seat_that_would_be_on_our_own_machine_is_called_on_the_manager_s(
    home: Path, manager: str, given: str, called: str
) -> None:
    settings = replace(referee_settings(home), manager=manager)
    referee = Referee(settings, MemoryNetwork())
    async with hall(home) as match:
        match.pair()
        order = parse_fields(StartMatch, match.order())
    player = order.player_A.model_copy(update={"endpoint": given})
    placed = referee._orders.place_seats(order.model_copy(update={"player_A": player}))
    assert placed.player_A.endpoint == called
    assert placed.player_B == order.player_B
