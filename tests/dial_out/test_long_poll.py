"""The form of plain HTTP: open, next call, answer."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_league.http.client import HttpCarrier
from agent_league.league.dial_out import app as dial_app
from agent_league.league.dial_out.seats import DialOutSeats
from tests.conftest import BOUND
from tests.dial_out.server import DialServer, serve_manager
from tests.serve.stage import serving, until, write_league

PING = {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 7}


@pytest.fixture
async def server(home: Path) -> AsyncIterator[DialServer]:
    async with asyncio.timeout(BOUND), serve_manager(home) as served:
        yield served


async def ask(server: DialServer, step: str, content: Any = None, secret: str | None = None) -> Any:
    status, body = await server.post(f"/dial/{step}", content or {}, secret)
    return json.loads(body) if status == 200 else status


async def test_calls_are_fetched_and_answered(server: DialServer) -> None:
    seat = await ask(server, "open")
    answer = await server.register("Ann", seat["address"], seat["manager"])
    token = server.sign_match_token(answer["player_id"])
    waiting = asyncio.create_task(ask(server, "next", {}, seat["secret"]))
    calling = asyncio.create_task(server.post(seat["address"], PING, token))
    call = await waiting
    assert (call["type"], json.loads(call["body"])) == ("call", PING)
    told = {"call": call["call"], "status": 200, "body": '"pong"'}
    assert await ask(server, "answer", told, seat["secret"]) == {"status": "ok"}
    assert await calling == (200, b'"pong"')
    assert await ask(server, "answer", told, seat["secret"]) == 404, "once is enough"


async def test_without_a_call_the_question_is_answered_after_a_while(
    server: DialServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dial_app, "POLL_SECONDS", 0.01)
    seat = await ask(server, "open")
    assert await ask(server, "next", {}, seat["secret"]) == {"type": "none"}


async def test_a_secret_of_nobody_s_gets_403_and_what_is_wrong_400(server: DialServer) -> None:
    seat = await ask(server, "open")
    for step in ("next", "answer"):
        for secret in (None, "tok-seat-" + "x" * 43, "x"):
            assert await ask(server, step, {}, secret) == 403
    assert await ask(server, "answer", {"call": 5}, seat["secret"]) == 400
    assert await ask(server, "open", {"forwards": 7}) == 400
    assert await ask(server, "open", {}, "mine") == 400
    assert await ask(server, "elsewhere") == 404
    assert (await server.post("/dial", {}))[0] == 426


async def test_the_same_secret_opens_the_same_seat_and_ends_earlier_questions(server: DialServer) -> None:
    seat = await ask(server, "open")
    waiting = asyncio.create_task(ask(server, "next", {}, seat["secret"]))
    await until(lambda: bool(poll_count(server, seat)))
    assert await ask(server, "open", {}, seat["secret"]) == seat
    assert await waiting == 409
    async with server.dial(secret=seat["secret"]):
        assert await ask(server, "next", {}, seat["secret"]) == 409


async def test_a_seat_without_questions_is_gone_and_the_next_question_brings_it_back(
    server: DialServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dial_app, "POLL_GRACE_SECONDS", 0.01)
    seat = await ask(server, "open")
    opened = server.manager.seats.get(seat["seat"])
    assert opened is not None
    await until(lambda: opened.connection is None)
    waiting = asyncio.create_task(ask(server, "next", {}, seat["secret"]))
    calling = asyncio.create_task(opened.exchange(b"{}", BOUND, None))
    call = await waiting
    await ask(server, "answer", {"call": call["call"], "body": "{}"}, seat["secret"])
    assert await calling == (200, b"{}")


async def test_one_who_hangs_up_while_he_waits_takes_no_call_away(server: DialServer) -> None:
    seat = await ask(server, "open")
    waiting = asyncio.create_task(ask(server, "next", {}, seat["secret"]))
    await until(lambda: poll_count(server, seat) == 1)
    waiting.cancel()
    await until(lambda: poll_count(server, seat) == 0)
    opened = server.manager.seats.get(seat["seat"])
    assert opened is not None
    calling = asyncio.create_task(opened.exchange(b"{}", BOUND, None))
    call = await ask(server, "next", {}, seat["secret"])
    await ask(server, "answer", {"call": call["call"], "body": "{}"}, seat["secret"])
    assert await calling == (200, b"{}")


async def test_a_question_that_a_stopping_manager_holds_is_answered_with_a_sentence(home: Path) -> None:
    async with asyncio.timeout(BOUND):
        async with serve_manager(home) as server:
            seat = await ask(server, "open")
            waiting = asyncio.create_task(server.post("/dial/next", {}, seat["secret"]))
            await until(lambda: poll_count(server, seat) == 1)
        status, body = await waiting
    assert (status, dial_app.SERVER_STOPS in body.decode()) == (503, True)


async def test_a_question_that_a_stopping_server_of_many_leagues_holds_is_answered_with_a_sentence(home: Path) -> None:
    write_league(home, "spring")
    carrier = HttpCarrier()
    async with asyncio.timeout(BOUND):
        async with serving(home) as stage:
            dial, seats = f"{stage.root}/leagues/spring/dial", stage.manager("spring").seats
            seat = json.loads((await carrier.exchange(f"{dial}/open", b"{}", BOUND, None))[1])
            asked = carrier.exchange(f"{dial}/next", b"{}", BOUND, seat["secret"])
            waiting = asyncio.create_task(asked)
            await until(lambda: count_polls(seats, seat) == 1)
        status, body = await waiting
        await carrier.close()
    assert (status, dial_app.SERVER_STOPS in body.decode()) == (503, True)


async def test_an_agent_that_dials_in_while_the_server_stops_is_told_to_come_back(server: DialServer) -> None:
    seat = await ask(server, "open")
    server.manager.seats.end_questions()
    assert await ask(server, "next", {}, seat["secret"]) == 503
    assert await ask(server, "open", {}, seat["secret"]) == 503


async def test_a_call_that_was_fetched_before_the_server_stops_can_be_answered_still(server: DialServer) -> None:
    seat = await ask(server, "open")
    opened = server.manager.seats.get(seat["seat"])
    assert opened is not None
    calling = asyncio.create_task(opened.exchange(b"{}", BOUND, None))
    call = await ask(server, "next", {}, seat["secret"])
    server.manager.seats.end_questions()
    assert await ask(server, "answer", {"call": call["call"], "body": "{}"}, seat["secret"]) == {"status": "ok"}
    assert await calling == (200, b"{}")


def poll_count(server: DialServer, seat: dict[str, Any]) -> int:
    return count_polls(server.manager.seats, seat)


def count_polls(seats: DialOutSeats, seat: dict[str, Any]) -> int:
    opened = seats.get(seat["seat"])
    connection = opened.connection if opened else None
    return connection.polls if isinstance(connection, dial_app.PollConnection) else 0
