"""Seats over WebSockets: calls go to the agent that opened the seat, and only from those who may call it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agent_league.league.dial_out import app as dial_app
from agent_league.league.dial_out import seats as seats_module
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.paths import DataPaths
from tests.conftest import BOUND
from tests.dial_out.server import DialServer, serve_manager
from tests.league.office import within

PING = {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 7}


@pytest.fixture
async def server(home: Path) -> AsyncIterator[DialServer]:
    async with serve_manager(home) as served:
        yield served


async def test_a_referee_s_call_goes_through_the_seat_and_its_answer_comes_back(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        token = server.sign_match_token(agent.player_id)
        calling = asyncio.create_task(server.post(agent.seat["address"], PING, token))
        call = await agent.receive()
        assert (json.loads(call["body"]), call["authorization"]) == (PING, f"Bearer {token}")
        assert set(call) == {"type", "call", "body", "authorization", "limit_sec"}, "nothing else of the caller's"
        await agent.answer(call, {"result": "here"}, status=201)
        assert await calling == (201, b'{"result": "here"}')


async def test_the_manager_calls_a_seat_without_a_detour(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        member = server.manager.state.roster[agent.player_id]
        asking = asyncio.create_task(server.manager._prober._caller.ask_agent(member))
        call = await agent.receive()
        await agent.answer(call, {"jsonrpc": "2.0", "id": json.loads(call["body"])["id"], "result": "well"})
        assert await asking == "well"
        assert call["authorization"].startswith("Bearer eyJ")


async def test_a_stranger_gets_403_and_the_agent_hears_nothing(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as ann, server.dial_and_register("Bob") as bob:
        address = ann.seat["address"]
        forged = SigningKey.generate().sign_manager_token(
            league_id="league_2025_even_odd",
            audience=ann.player_id,
            now=server.manager._clock.now(),
            lifetime=60,
        )
        own = server.manager.state.roster[ann.player_id]
        tokens = [
            None,
            "nonsense",
            forged,
            server.sign_match_token(bob.player_id),
            own.token_sha256,
            ann.seat["secret"],
        ]
        for token in tokens:
            status, body = await server.post(address, PING, token)
            assert (status, b"signed" in body) == (403, True), token
            status, _ = await server.post(address, {**PING, "params": {"auth_token": token or ""}})
            assert status == 403
        for path in ("/seats", "/seats/", f"/seats/{'S' + 'a' * 24}/mcp", f"{address}/more", "/seats/../mcp"):
            assert (await server.post(path, PING, server.sign_match_token(ann.player_id)))[0] in (403, 404)
        status, _ = await server.carrier.exchange(address, b"no json", 5, server.sign_match_token(ann.player_id))
        assert status == 400
        good = asyncio.create_task(server.post(address, PING, server.sign_match_token(ann.player_id)))
        call = await ann.receive()
        assert json.loads(call["body"]) == PING, "the first call that it hears is the good one"
        await ann.answer(call)
        await good


async def test_a_token_in_the_message_is_as_good_as_one_in_the_header(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        frame = {**PING, "params": {"auth_token": server.sign_match_token(agent.player_id)}}
        calling = asyncio.create_task(server.post(agent.seat["address"], frame))
        call = await agent.receive()
        assert "authorization" not in call
        await agent.answer(call)
        assert (await calling)[0] == 200


async def test_a_seat_can_t_answer_for_another(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as ann, server.dial_and_register("Eve") as eve:
        calling = asyncio.create_task(server.post(ann.seat["address"], PING, server.sign_match_token(ann.player_id)))
        call = await ann.receive()
        await eve.answer(call, "eve")
        other = asyncio.create_task(server.post(eve.seat["address"], PING, server.sign_match_token(eve.player_id)))
        await eve.answer(await eve.receive(), "mine")
        assert await other == (200, b'"mine"'), "Eve's false answer was read by now"
        assert not calling.done()
        await ann.answer(call, "ann")
        assert await calling == (200, b'"ann"')


async def test_a_second_socket_takes_the_seat_and_is_asked_what_the_first_has_not_answered(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as first:
        token = server.sign_match_token(first.player_id)
        calling = asyncio.create_task(server.post(first.seat["address"], PING, token))
        call = await first.receive()
        async with server.dial(secret=first.seat["secret"]) as second:
            assert second.seat == first.seat
            with pytest.raises(ConnectionClosed) as closed:
                await first.receive()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4001
            again = await second.receive()
            assert again["call"] == call["call"], "the agent knows it by its id"
            await second.answer(again, "mine")
            assert await calling == (200, b'"mine"')
        noted = server.manager.state.roster[first.player_id].protocol_profile.deviations
        assert "dials out: a second connection has taken its seat from the first" in noted


async def test_a_call_whose_connection_is_lost_costs_its_caller_nothing(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        seat, token = agent.seat, server.sign_match_token(agent.player_id)
        calling = asyncio.create_task(server.post(seat["address"], PING, token))
        call = await agent.receive()
    async with server.dial(secret=seat["secret"]) as agent:
        again = await agent.receive()
        assert {**again, "limit_sec": 0} == {**call, "limit_sec": 0}
        assert 0 < again["limit_sec"] < call["limit_sec"], "its time goes on"
        await agent.answer(again, "back")
        assert await calling == (200, b'"back"')


async def test_a_server_that_goes_down_fails_the_calls_of_its_seats_at_once(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        calling = asyncio.create_task(
            server.post(agent.seat["address"], PING, server.sign_match_token(agent.player_id))
        )
        await agent.receive()
        await server.manager.seats.close()
        assert (await within(calling))[0] == 502


async def test_a_call_waits_a_while_for_an_agent_that_comes_back(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        seat, token = agent.seat, server.sign_match_token(agent.player_id)
    calling = asyncio.create_task(server.post(seat["address"], PING, token))
    async with server.dial(secret=seat["secret"]) as agent:
        await agent.answer(await agent.receive(), "back")
        assert await calling == (200, b'"back"')


async def test_a_call_to_an_agent_that_stays_away_fails(server: DialServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "RETURN_SECONDS", 0.01)
    async with server.dial_and_register("Ann") as agent:
        seat, token = agent.seat, server.sign_match_token(agent.player_id)
    status, body = await server.post(seat["address"], PING, token)
    assert (status, b"isn't connected" in body) == (502, True)


@pytest.mark.parametrize(("failure", "status"), [("unreachable", 502), ("timeout", 504), ("bad_answer", 500)])
async def test_what_fails_on_the_agent_s_side_has_a_status_of_its_own(
    server: DialServer, failure: str, status: int
) -> None:
    async with server.dial_and_register("Ann") as agent:
        token = server.sign_match_token(agent.player_id)
        calling = asyncio.create_task(server.post(agent.seat["address"], PING, token))
        await agent.answer(await agent.receive(), failure=failure)
        assert (await calling)[0] == status


async def test_an_agent_registers_with_its_local_address_while_a_seat_forwards_it(server: DialServer) -> None:
    own = "http://localhost:8101/mcp"
    async with server.dial(forwards="http://127.0.0.1:8101/mcp") as agent:
        answer = await server.register("Ann", own)
        member = server.manager.state.roster[answer["player_id"]]
        assert member.agent.endpoint == agent.seat["address"]
        assert f"dials out: called through its seat instead of {own}" in member.protocol_profile.deviations
        assert "Ann is registered as P01" in (await agent.receive())["text"]
        other = await server.register("Bob", "http://localhost:8102/mcp")
        assert server.manager.state.roster[other["player_id"]].agent.endpoint == "http://localhost:8102/mcp"
        second = await server.register("Carol", own)
        assert (second["status"], "is P01's" in second["detail"]) == ("REJECTED", True)
    assert (await server.register("Dan", own))["status"] == "ACCEPTED", "nobody forwards it any more"


async def test_two_seats_that_forward_one_address_are_told_apart_by_nobody(server: DialServer) -> None:
    own = "http://localhost:8101/mcp"
    async with server.dial(forwards=own), server.dial(forwards=own):
        answer = await server.register("Ann", own)
        assert (answer["status"], "another port" in answer["detail"]) == ("REJECTED", True)


async def test_a_seat_s_address_is_nobody_else_s(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        for address in (agent.seat["address"], agent.seat["address"].replace("localhost", "127.0.0.1")):
            answer = await server.register("Eve", address)
            assert (answer["status"], "dial-out seat" in answer["detail"]) == ("REJECTED", True)


async def test_the_seat_s_secret_brings_the_same_player_back_and_nobody_else(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        again = await server.register("Ann", "http://localhost:1/mcp", agent.seat["manager"])
        assert (again["status"], again["player_id"]) == ("ACCEPTED", agent.player_id)
        stranger = agent.seat["manager"].replace("tok-seat-", "tok-seat-x")
        assert (await server.post(stranger, PING))[0] == 403


async def test_a_manager_that_is_started_again_elsewhere_finds_its_agents_again(home: Path) -> None:
    async with serve_manager(home) as server, server.dial_and_register("Ann") as agent:
        seat, player_id = agent.seat, agent.player_id
    async with serve_manager(home) as moved, moved.dial(secret=seat["secret"]) as agent:
        assert agent.seat["address"] != seat["address"]
        assert moved.manager.state.roster[player_id].agent.endpoint == agent.seat["address"]
        token = moved.sign_match_token(player_id)
        calling = asyncio.create_task(moved.post(agent.seat["address"], PING, token))
        await agent.answer(await agent.receive(), "still me")
        assert await calling == (200, b'"still me"')


async def test_a_player_that_is_suspended_keeps_no_other_seat_out(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as ann, server.dial() as bob:
        server.manager.state.bar_player(ann.player_id)
        again = await server.register("Ann Two", "http://localhost:1/mcp", ann.seat["manager"])
        assert again["status"] == "REJECTED" or again["player_id"] == ann.player_id, "at its own seat it is known"
        answer = await server.register("Bob", "http://localhost:1/mcp", bob.seat["manager"])
        assert answer["status"] == "ACCEPTED"


async def test_a_page_of_others_opens_no_seat(server: DialServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(server, origin="http://evil.example")
    assert refused.value.response.status_code == 403
    assert b"Origin" in (refused.value.response.body or b"")
    socket = await open_socket(server, origin=server.base)
    await socket.close()


@pytest.mark.parametrize("path", ["/", "/mcp", "/dial/next", "/seats/S1/mcp", "/health"])
async def test_other_paths_have_no_socket(server: DialServer, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(server, path)
    assert refused.value.response.status_code in (403, 404)


@pytest.mark.parametrize(
    ("first", "code", "word"),
    [
        ("no json", 4003, "JSON"),
        ('{"type": "answer", "call": "x"}', 4003, "open"),
        ('{"type": "open", "secret": "mine"}', 4003, "secret"),
        ('{"type": "open", "forwards": 5}', 4003, "string"),
        ("x" * 3_000_000, 1009, ""),
    ],
)
async def test_what_asks_for_no_seat_gets_none(server: DialServer, first: str, code: int, word: str) -> None:
    socket = await open_socket(server)
    with suppress(ConnectionClosed):
        await socket.send(first)
    with pytest.raises(ConnectionClosed) as closed:
        await within(socket.recv())
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, word in closed.value.rcvd.reason) == (code, True)


async def test_a_socket_that_asks_for_nothing_is_closed(server: DialServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial_app, "OPEN_SECONDS", 0.01)
    socket = await open_socket(server)
    with pytest.raises(ConnectionClosed) as closed:
        await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4003


async def test_a_flood_of_seats_stops_at_its_caller_s_limit(
    server: DialServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats_module, "MAX_SEATS_PER_CALLER", 2)
    async with server.dial() as first, server.dial() as second:
        with pytest.raises(ConnectionClosed) as closed:
            async with server.dial():
                pass
        assert closed.value.rcvd is not None
        assert "2 seats already" in closed.value.rcvd.reason
        async with server.dial(secret=second.seat["secret"]) as again:
            assert again.seat["seat"] == second.seat["seat"] != first.seat["seat"], "its own seat it gets again"


async def test_calls_beyond_the_limit_fail_at_once(server: DialServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "MAX_OPEN_CALLS", 1)
    async with server.dial_and_register("Ann") as agent:
        token = server.sign_match_token(agent.player_id)
        calling = asyncio.create_task(server.post(agent.seat["address"], PING, token))
        call = await agent.receive()
        assert (await server.post(agent.seat["address"], PING, token))[0] == 502
        await agent.answer(call)
        assert (await calling)[0] == 200


async def test_a_caller_that_gives_up_ends_its_call(server: DialServer) -> None:
    async with server.dial_and_register("Ann") as agent:
        token = server.sign_match_token(agent.player_id)
        calling = asyncio.create_task(server.post(agent.seat["address"], PING, token))
        await agent.receive()
        seat = server.manager.seats.get(agent.seat["seat"])
        assert seat is not None
        calling.cancel()
        async with asyncio.timeout(BOUND):
            while seat._open_calls:  # noqa: ASYNC110 - the seat tells nobody
                await asyncio.sleep(0.005)


async def test_no_secret_is_written_to_the_logs(server: DialServer, home: Path) -> None:
    async with server.dial_and_register("Ann") as agent:
        secret = agent.seat["secret"]
        await server.register("Ann", "http://localhost:1/mcp", agent.seat["manager"])
    server.manager.log.close()
    assert list_files_with(home, secret) == []


def list_files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def open_socket(server: DialServer, path: str = "/dial", origin: str | None = None) -> ClientConnection:
    headers = {"Origin": origin} if origin else {}
    url = f"ws://localhost:{server.server.port}{path}"
    return await connect(url, proxy=None, max_size=None, additional_headers=headers)


async def test_the_first_seat_opens_the_league_to_others_and_its_referees_find_their_key(
    server: DialServer, home: Path
) -> None:
    assert server.manager.state.roster.rules.is_loopback_only
    async with server.dial():
        assert not server.manager.state.roster.rules.is_loopback_only
        key = DataPaths(home).referee_key_file(server.manager.state.league_id).read_text().strip()
        team = await server.manager.sign_up.find_team(key)
        assert team is not None
        assert team.role == "referee"
