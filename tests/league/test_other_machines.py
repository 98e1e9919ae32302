"""Agents of other machines: which addresses they may register, and that they get no match before they were called."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.client import HttpCarrier
from agent_league.http.hosts import find_endpoint_problem
from agent_league.league import reachability
from agent_league.model.events import ReachabilityChanged
from tests.conftest import BOUND
from tests.http.wire import raw_server, read_request, response
from tests.league.conftest import OfficeMaker
from tests.serve.stage import until

CALLER = "203.0.113.9"


@contextmanager
def calling_from(address: str) -> Iterator[None]:
    token = CALLER_ADDRESS.set((address, 50_000))
    try:
        yield
    finally:
        CALLER_ADDRESS.reset(token)


class NameServer:
    """Resolves names as a test says, and counts how often it was asked."""

    def __init__(self, **names: list[str]) -> None:
        self.names = names
        self.asked: list[str] = []

    def __call__(self, host: Any, port: Any, *rest: Any, **more: Any) -> list[Any]:
        self.asked.append(host)
        name = host.removesuffix(".example")
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.names[name]]


@pytest.mark.parametrize(
    ("host", "addresses", "problem"),
    [
        ("ann.example", (CALLER,), None),
        ("ann.example", (CALLER, "198.51.100.1"), "is neither the address that you call from"),
        ("ann.example", (CALLER, "127.0.0.1"), "(that is 203.0.113.9, 127.0.0.1), which only your own machine"),
        ("ann.example", ("169.254.169.254",), "which only your own machine can call"),
        ("ann.example", ("198.51.100.1",), "is neither the address that you call from"),
        ("ann.example", None, "can't be resolved here"),
        ("listed.example", ("198.51.100.1",), None),
        ("listed.example", ("::1",), "which only your own machine can call"),
        ("listed.example", ("0.0.0.0",), "which only your own machine can call"),
    ],
)
def test_every_address_of_a_name_is_judged(host: str, addresses: tuple[str, ...] | None, problem: str | None) -> None:
    found = find_endpoint_problem(f"http://{host}:8101/mcp", ["listed.example"], CALLER, addresses)
    assert (found or "").find(problem or "") >= 0
    assert bool(found) == bool(problem)


async def test_a_name_is_resolved_once_and_what_it_means_later_is_never_asked(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = office()
    names = NameServer(ann=[CALLER])
    monkeypatch.setattr(socket, "getaddrinfo", names)
    with calling_from(CALLER):
        answer = await here.register("Ann", "http://ann.example:8101/mcp")
        assert answer["status"] == "ACCEPTED"
        assert here.manager.state.roster["P01"].agent.addresses == (CALLER,)
        names.names["ann"] = ["127.0.0.1"]
        rebound = await here.register("Ann", "http://ann.example:8101/mcp", token=answer["auth_token"])
        assert (rebound["status"], "127.0.0.1" in rebound["detail"]) == ("REJECTED", True)
    assert here.manager.state.roster["P01"].agent.addresses == (CALLER,), "the refused one changes nothing"
    fields = here.manager._matches._messages._player_fields("P01", "token")
    assert fields["addresses"] == [CALLER], "referees call it there, too"


async def test_a_pinned_host_is_called_at_its_address_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NameServer(ann=["192.0.2.1"])
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(response(b"{}"))

    async with asyncio.timeout(BOUND), raw_server(answer) as url:
        port = url.split(":")[2].partition("/")[0]
        monkeypatch.setattr(socket, "getaddrinfo", names)
        carrier = HttpCarrier()
        carrier.pin_addresses(f"http://ann.example:{port}/mcp", ["127.0.0.1"])
        assert await carrier.exchange(f"http://ANN.example:{port}/mcp", b"{}", 5) == (200, b"{}")
        await carrier.close()
    assert f"Host: ann.example:{port}".encode() in heads[0]
    assert names.asked == []


async def test_one_caller_makes_us_call_a_few_times_a_minute(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "REACH_CALLS_PER_MINUTE", 2)
    monkeypatch.setattr(reachability, "REACH_WAITS", (0.0, 0.0, 0.0))
    here = office()
    calls: list[bytes] = []

    async def answer(frame: bytes, bearer: str | None) -> bytes:
        calls.append(frame)
        return json.dumps({"jsonrpc": "2.0", "result": {}, "id": json.loads(frame)["id"]}).encode()

    with calling_from(CALLER):
        for number in range(4):
            endpoint = f"http://{CALLER}:{8101 + number}/mcp"
            here.network.attach(endpoint, answer)
            await here.register(f"Agent {number}x", endpoint)
    roster = here.manager.state.roster
    await until(lambda: sum(member.is_reachable for member in roster) == 2)
    with calling_from("203.0.113.10"):
        endpoint = "http://203.0.113.10:8101/mcp"
        here.network.attach(endpoint, answer)
        await here.register("Another place", endpoint)
    await until(lambda: roster["P05"].is_reachable)
    assert len(calls) == 3, "two for the one address, one for the other"
    assert [member.agent_id for member in roster if member.is_being_reached] == ["P03", "P04"]


async def test_of_an_answer_nothing_but_its_status_is_told(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "REACH_WAITS", (0.0, 0.0))
    here = office()
    replies = iter([(302, b"SECRET of the inside"), (302, b"SECRET of the inside")])

    async def exchange(*_: Any, **__: Any) -> tuple[int, bytes]:
        return next(replies)

    monkeypatch.setattr(here.manager._peer_client._carrier, "exchange", exchange, raising=False)
    with calling_from(CALLER):
        await here.register("Ann", f"http://{CALLER}:8101/mcp")
    await until(lambda: any(isinstance(event, ReachabilityChanged) for event in here.events))
    told = next(event for event in here.events if isinstance(event, ReachabilityChanged))
    assert (told.is_reachable, told.why) == (False, "HTTP 302")


async def test_a_player_that_comes_back_from_elsewhere_gets_no_match_before_it_was_called(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "REACH_WAITS", (0.0, *[0.02] * 500))
    here = office(players=2, referees=1)
    players = await here.seat_players(2)
    await here.seat_referee()
    member = here.manager.state.roster["P01"]
    assert member.agent.endpoint == players[0].endpoint
    member.is_being_reached = True
    runner = here.manager._matches
    waiting = asyncio.create_task(runner._wait_for_players(runner._state.schedule.rounds[0].pairings[0]))
    await asyncio.sleep(0)
    assert not waiting.done()
    member.is_being_reached = False
    here.manager.state.set_reachable("P01", is_reachable=True)
    await asyncio.wait_for(waiting, BOUND)
