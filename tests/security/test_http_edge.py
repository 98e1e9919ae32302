"""Attacks on the HTTP edge of real agents: a manager, a referee and a player behind the servers they run behind.

Each attack is kept up while somebody else is served; after it, everything is as before. Then the other way round: a
manager and a referee that call agents whose servers attack them.
"""

import asyncio
import gzip
import json
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.jsonrpc import parse_result
from agent_league.errors import BadAnswer, CallFailed, PeerTimeout, PeerUnreachable
from agent_league.http.carrier import MAX_BODY
from agent_league.http.client import HttpCarrier
from agent_league.http.limits import ConnectionLimits
from agent_league.http.memory import MemoryNetwork
from agent_league.http.server import HttpServer
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import NO_LISTENERS, AgentPlan
from agent_league.launch.in_process import run_agents
from agent_league.league.settings import ManagerSettings
from tests.conftest import NO_PAUSES
from tests.http.wire import (
    LIMIT,
    Connection,
    Peer,
    Response,
    chunked,
    connected,
    fetch,
    raw_server,
    read_request,
    request,
    response,
    until,
)
from tests.protocol.traffic import make_league

ASKED = {"manager": "get_standings", "referee": "get_match_state", "player": "get_player_state"}
"""For each role a question that anybody may ask."""
CROWD = ConnectionLimits(request_timeout=0.5, max_connections=40)
JSON = "Content-Type: application/json"


def asking(method: str, request_id: int | str = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"match_id": "R1M1"}, "id": request_id}


class Target:
    """An agent of ours and its server."""

    def __init__(self, role: str, server: HttpServer) -> None:
        self.server = server
        self.port = server.port
        self.question = request(json.dumps(asking(ASKED[role])).encode(), JSON)

    async def assert_serves(self) -> None:
        """Somebody who asks in the right way is answered."""
        answer = await fetch(self.port, self.question)
        assert answer.status == 200
        assert "result" in answer.json()
        assert (await fetch(self.port, request(method="GET", path="/health"))).json()["status"] == "ok"


@asynccontextmanager
async def targets(
    folder: Path, *roles: str, limits: ConnectionLimits = CROWD, overrides: Mapping[str, Any] | None = None
) -> AsyncIterator[dict[str, Target]]:
    plan = make_league(
        folder, {**NO_PAUSES, **(overrides or {})}, players=2, referees=1, referee_port=8401, player_port=8501
    )
    assert isinstance(plan.manager.settings, ManagerSettings)
    manager = replace(plan.manager, settings=replace(plan.manager.settings, expected_players=0, expected_referees=0))
    seats: list[AgentPlan] = [manager, plan.referees[0], plan.players[0]]
    async with AsyncExitStack() as stack:
        agents = await stack.enter_async_context(run_agents(MemoryNetwork(), seats))
        found = {}
        for role, seat, agent in zip(ASKED, seats, agents, strict=True):
            if role not in roles:
                continue
            server = HttpServer(make_agent_app(seat, agent), "127.0.0.1", 0, role, limits=limits)
            await server.start()
            stack.push_async_callback(server.stop)
            found[role] = Target(role, server)
        yield found


@pytest.fixture(params=ASKED)
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Target]:
    async with targets(tmp_path / "SHARED", request.param) as found:
        yield found[request.param]


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[Target]:
    async with targets(tmp_path / "SHARED", "manager") as found:
        yield found["manager"]


Attack = Callable[[Connection], Awaitable[None]]
"""What an attacker does with one connection, for as long as it is allowed to."""


async def say_nothing(connection: Connection) -> None:
    await asyncio.Event().wait()


def drip(data: bytes) -> Attack:
    """A byte now and then."""

    async def attack(connection: Connection) -> None:
        for byte in data:
            await connection.send(bytes([byte]))
            await asyncio.sleep(0.05)

    return attack


def flood(start: bytes, more: bytes, total: int = 100_000_000) -> Attack:
    """A beginning, and then the same without end."""

    async def attack(connection: Connection) -> None:
        await connection.send(start)
        for _ in range(total // len(more)):
            await connection.send(more)

    return attack


def half(data: bytes) -> Attack:
    """Only the beginning, and then silence."""

    async def attack(connection: Connection) -> None:
        await connection.send(data)
        await asyncio.Event().wait()

    return attack


async def never_read(connection: Connection) -> None:
    connection.pause()
    while True:
        await connection.send(request(json.dumps(asking("nonsense", "x" * 500_000)).encode(), JSON))


CHUNKED = request(b"", JSON, "Transfer-Encoding: chunked")
ATTACKS: dict[str, Attack] = {
    "silence": say_nothing,
    "a slow head": drip(request()[:-4] + b"\r\nX: " + b"x" * 10_000),
    "a slow body": drip(request(b"x" * 10_000, JSON)),
    "slow chunks": drip(CHUNKED + chunked(*[b"x"] * 5000)),
    "half a body": half(request(b"x" * 500_000, JSON, "Content-Length: 1000000")),
    "headers without end": flood(request()[:-2], b"X-Header: value\r\n" * 1000),
    "one header without end": flood(request()[:-2] + b"X: ", b"x" * 65536),
    "a body of 100 MB": flood(request(b"", JSON, "Content-Length: 100000000"), b"x" * 65536),
    "chunks of 100 MB": flood(CHUNKED, chunked(b"x" * 65536).removesuffix(b"0\r\n\r\n")),
    "trailers without end": flood(CHUNKED + b"1\r\nx\r\n0\r\n", b"X-Header: value\r\n" * 1000),
    "100 MB of the wrong type": flood(
        request(b"", "Content-Type: text/plain", "Content-Length: 100000000"), b"x" * 65536
    ),
    "answers that nobody takes": never_read,
    "noise": flood(b"", random.Random(7).randbytes(65536)),
}


@asynccontextmanager
async def under(attack: Attack, target: Target, attackers: int) -> AsyncIterator[list[asyncio.Task[bool]]]:
    """Keeps an attack up from so many connections; each ends when it is cut off (True) or done."""

    async def strike() -> bool:
        try:
            async with connected(target.port) as connection:
                doing = asyncio.ensure_future(attack(connection))
                ended = asyncio.ensure_future(connection.closed())
                try:
                    done, _ = await asyncio.wait({doing, ended}, return_when=asyncio.FIRST_COMPLETED)
                    return ended in done or isinstance(doing.exception(), ConnectionError)
                finally:
                    for task in (doing, ended):
                        task.cancel()
                    await asyncio.gather(doing, ended, return_exceptions=True)
        except ConnectionError:
            return True

    strikes = [asyncio.create_task(strike()) for _ in range(attackers)]
    try:
        await asyncio.sleep(0)
        yield strikes
    finally:
        for task in strikes:
            task.cancel()
        await asyncio.gather(*strikes, return_exceptions=True)


@pytest.mark.parametrize("kind", ATTACKS)
async def test_others_are_served_while_an_attack_goes_on_and_the_attackers_are_cut_off(
    manager: Target, kind: str
) -> None:
    async with under(ATTACKS[kind], manager, attackers=8) as strikes:
        for _ in range(5):
            await manager.assert_serves()
        async with asyncio.timeout(3 * LIMIT):
            assert all(await asyncio.gather(*strikes))
    await manager.assert_serves()
    await until(lambda: not manager.server._server_limits.connections)
    assert manager.server._server_limits.unfinished_bytes == 0


async def test_the_same_goes_for_every_agent(target: Target) -> None:
    async with AsyncExitStack() as stack:
        for attack in ATTACKS.values():
            await stack.enter_async_context(under(attack, target, attackers=2))
        for _ in range(5):
            await target.assert_serves()
    await target.assert_serves()


async def test_hundreds_of_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    """They aren't even cut off by time here: whoever is silent longest makes room."""
    async with targets(
        tmp_path / "SHARED", "manager", limits=ConnectionLimits(request_timeout=3600, max_connections=40)
    ) as found:
        manager = found["manager"]
        async with AsyncExitStack() as stack:
            for _ in range(300):
                await stack.enter_async_context(connected(manager.port))
            for _ in range(10):
                await manager.assert_serves()
            assert len(manager.server._server_limits.connections) <= 41
        await manager.assert_serves()


STRANGE_PAGES: list[tuple[list[str], int]] = [
    (["Host: evil.example"], 421),
    (["Host: evil.example:8000", "Origin: http://evil.example:8000"], 421),
    (["Host: localhost.evil.example"], 421),
    (["Host: localhost", "Host: evil.example"], 400),
    (["Host: 0.0.0.0"], 421),
    (["Host: localhost", "Origin: https://evil.example"], 403),
    (["Host: localhost", "Origin: null"], 403),
    (["Host: localhost", "Origin: http://localhost:3000"], 403),
    (["Host: localhost:8000", "Origin: http://127.0.0.1:3000"], 403),
    (["Host: localhost", "Content-Type: text/plain;charset=UTF-8"], 415),
    (["Host: localhost", "Content-Type: application/x-www-form-urlencoded"], 415),
    (["Host: localhost", "Content-Type: text/plain", "X-Forwarded-Host: localhost"], 415),
]


async def test_a_web_page_can_t_make_its_visitor_s_browser_call_an_agent(target: Target) -> None:
    for headers, status in STRANGE_PAGES:
        lines = headers if any("Content-Type" in header for header in headers) else [*headers, JSON]
        post = request(json.dumps(asking("get_standings")).encode(), *lines).replace(b"Host: localhost\r\n", b"", 1)
        answer = await fetch(target.port, post)
        assert answer.status == status, headers
        assert b"jsonrpc" not in answer.body
        assert answer.body.decode("ascii").isprintable()
    await target.assert_serves()


async def test_no_path_answers_to_a_stranger_s_name(manager: Target) -> None:
    for path in ("/mcp", "/health", "/", "/other", "//evil.example/mcp"):
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            asked = request(b"", method=method, path=path).replace(b"Host: localhost", b"Host: evil.example")
            assert await _status(manager.port, asked) == 421, (method, path)


async def _status(port: int, asked: bytes) -> int:
    """The status alone: the answer to HEAD has a length but no body."""
    async with connected(port) as connection:
        await connection.send(asked)
        return await connection.status()


async def test_an_absolute_address_in_the_request_line_is_no_way_around_the_host(manager: Target) -> None:
    asked = b"GET http://localhost/health HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    assert (await fetch(manager.port, asked)).status == 421


async def test_names_of_the_settings_are_hosts_of_an_agent_that_listens_everywhere(tmp_path: Path) -> None:
    names = {"network.allowed_hosts": ["Lab-7", "::1", "localhost"], "network.base_host": "localhost"}
    async with targets(tmp_path / "SHARED", "player", overrides=names) as found:
        for name, status in [("lab-7", 200), ("LAB-7.:9", 200), ("[::1]:80", 200), ("lab-8", 421), ("localhost", 200)]:
            asked = request(method="GET", path="/health").replace(b"Host: localhost", f"Host: {name}".encode())
            assert (await fetch(found["player"].port, asked)).status == status, name


@pytest.mark.parametrize(
    ("listens_on", "expected"),
    [("lab-8", {"lab-9": 200, "lab-8": 200, "lab-7": 421}), ("0.0.0.0", {"lab-9": 200, "0.0.0.0": 421, "lab-8": 421})],
)
async def test_an_agent_goes_by_its_base_host_and_by_what_it_listens_on(
    tmp_path: Path, listens_on: str, expected: dict[str, int]
) -> None:
    seat = make_league(tmp_path / "SHARED", players=2, referees=1).players[0]
    system = seat.settings.system
    network = system.network.model_copy(update={"base_host": "lab-9", "allowed_hosts": ()})
    settings = replace(seat.settings, system=system.model_copy(update={"network": network}))
    seat = replace(seat, settings=settings, host=listens_on)
    agent = seat.make_agent(MemoryNetwork(), NO_LISTENERS)
    server = HttpServer(make_agent_app(seat, agent), "127.0.0.1", 0, "a test")
    await server.start()
    try:
        for name, status in expected.items():
            asked = request(method="GET", path="/health").replace(b"Host: localhost", f"Host: {name}".encode())
            assert (await fetch(server.port, asked)).status == status, name
    finally:
        await server.stop()
        agent.log.close()


async def test_a_packed_body_is_not_unpacked(manager: Target) -> None:
    bomb = gzip.compress(b" " * 100_000_000)
    answer = await fetch(manager.port, request(bomb, JSON, "Content-Encoding: gzip"))
    assert (answer.status, answer.json()["error"]["code"]) == (200, -32700)
    await manager.assert_serves()


SMUGGLED = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


TWO_LENGTHS = [
    ["Content-Length: 5", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 5"],
    ["Content-Length: 5", "Content-Length: 60"],
    ["Transfer-Encoding: gzip"],
    ["Transfer-Encoding: chunked, identity"],
    ["Content-Length: +5"],
    ["Content-Length : 5"],
    ["Transfer-Encoding:\x0bchunked"],
]


async def test_a_request_of_two_lengths_is_none(manager: Target) -> None:
    for headers in TWO_LENGTHS:
        smuggling = request(b"0\r\n\r\n" + SMUGGLED, JSON, *headers)
        assert await _status(manager.port, smuggling) in (400, 408), headers
    await manager.assert_serves()


RATE = {"security.rate_limit_per_sec": 0.001, "security.rate_limit_burst": 5}


async def _ask(target: Target, body: Any, *headers: str) -> Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await fetch(target.port, request(raw, JSON, *headers))


async def test_too_many_requests_of_one_address_are_refused_with_e014(tmp_path: Path) -> None:
    async with targets(tmp_path / "SHARED", *ASKED, overrides=RATE) as found:
        for target in found.values():
            for _ in range(5):
                assert (await fetch(target.port, target.question)).json()["result"].get("error_code") != "E014"
            answer = await fetch(target.port, target.question)
            result = answer.json()["result"]
            assert (answer.status, result["message_type"], result["error_code"]) == (200, "LEAGUE_ERROR", "E014")
            assert (result["error_name"], result["retryable"]) == ("RATE_LIMIT_EXCEEDED", True)
            assert 0 < result["context"]["retry_after_sec"] <= 1000
            assert (result["context"]["limit_per_sec"], result["context"]["burst"]) == (0.001, 5)
            assert "at most 0.001 a second, 5 at once; wait " in result["message"]
            assert (await fetch(target.port, request(method="GET", path="/health"))).status == 200


async def test_our_own_client_takes_that_for_passing(tmp_path: Path) -> None:
    async with targets(tmp_path / "SHARED", *ASKED, overrides=RATE) as found:
        body = b""
        for _ in range(6):
            body = (await fetch(found["manager"].port, found["manager"].question)).body
        with pytest.raises(CallFailed) as failed:
            parse_result(200, body)
        assert (failed.value.code, failed.value.is_final) == ("E014", False)


async def test_another_name_is_no_other_address(tmp_path: Path) -> None:
    async with targets(tmp_path / "SHARED", *ASKED, overrides=RATE) as found:
        manager = found["manager"]
        for number in range(5):
            await _ask(
                manager, asking("get_standings"), f"X-Forwarded-For: 10.0.0.{number}", f"Forwarded: for=10.0.0.{number}"
            )
        frame = asking("get_standings")
        for sender in ("player:P99", "league_manager"):
            frame["params"] = {"sender": sender}
            answer = await _ask(
                manager, frame, "X-Forwarded-For: 10.9.9.9", "X-Real-IP: 10.9.9.9", "Authorization: Bearer x"
            )
            assert answer.json()["result"]["error_code"] == "E014"


async def test_a_batch_counts_as_what_it_holds(tmp_path: Path) -> None:
    async with targets(tmp_path / "SHARED", *ASKED, overrides=RATE) as found:
        manager = found["manager"]
        batch = [asking("get_standings", number) for number in range(4)]
        assert all("error_code" not in answer["result"] for answer in (await _ask(manager, batch)).json())
        answers = (await _ask(manager, batch)).json()
        assert [(answer["id"], answer["result"]["error_code"]) for answer in answers] == [(n, "E014") for n in range(4)]
        assert "error_code" not in (await _ask(manager, asking("get_standings"))).json()["result"]
        assert (await _ask(manager, b"nonsense")).json()["error"]["code"] == -32700
        assert (await _ask(manager, [{"jsonrpc": "2.0", "method": "get_standings"}])).status == 202


async def test_without_the_setting_nobody_is_counted(manager: Target) -> None:
    async with connected(manager.port) as connection:
        for _ in range(200):
            await connection.send(manager.question)
            assert "error_code" not in (await connection.response()).json()["result"]


OK = b'{"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}'


def answering(*pieces: bytes, forever: bytes = b"", pause: float = 0) -> Peer:
    """A server that answers with some bytes, and then with the same without end."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"".join(pieces))
        while forever:
            writer.write(forever)
            await writer.drain()
            await asyncio.sleep(pause)
        await writer.drain()

    return peer


CHUNKS = response(b"", "Transfer-Encoding: chunked")
BAD_SERVERS: dict[str, tuple[Peer, type[CallFailed] | tuple[type[CallFailed], ...]]] = {
    "100 MB as it says": (answering(response(b"", "Content-Length: 100000000"), forever=b"x" * 65536), BadAnswer),
    "no end, in chunks": (answering(CHUNKS, forever=b"10000\r\n" + b"x" * 65536 + b"\r\n"), BadAnswer),
    "no end, until it closes": (answering(b"HTTP/1.1 200 OK\r\n\r\n", forever=b"x" * 65536), BadAnswer),
    "a small length and large chunks": (
        answering(
            response(b"", "Content-Length: 10", "Transfer-Encoding: chunked"),
            forever=b"10000\r\n" + b"x" * 65536 + b"\r\n",
        ),
        (BadAnswer, PeerUnreachable),
    ),
    "a byte now and then": (answering(response(b"", "Content-Length: 1000"), forever=b"x", pause=0.02), PeerTimeout),
    "a head a byte at a time": (answering(b"HTTP/1.1 200 OK\r\nX: ", forever=b"x", pause=0.02), PeerTimeout),
    "headers now and then": (answering(b"HTTP/1.1 200 OK\r\n", forever=b"X: y\r\n", pause=0.02), PeerTimeout),
    "headers without end": (answering(b"HTTP/1.1 200 OK\r\n", forever=b"X-Header: y\r\n" * 1000), PeerUnreachable),
    "one header without end": (answering(b"HTTP/1.1 200 OK\r\nX: ", forever=b"x" * 65536), PeerUnreachable),
    "a status line without end": (answering(b"HTTP/1.1 200 ", forever=b"x" * 65536), PeerUnreachable),
    "to be continued for ever": (
        answering(forever=b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (PeerTimeout, PeerUnreachable),
    ),
    "trailers without end": (
        answering(CHUNKS + b"1\r\nx\r\n0\r\n", forever=b"X: y\r\n" * 10_000),
        (PeerTimeout, PeerUnreachable),
    ),
    "no chunks": (answering(CHUNKS + b"nonsense\r\n\r\n"), PeerUnreachable),
    "a chunk of a huge length": (answering(CHUNKS + b"f" * 40 + b"\r\nx"), PeerUnreachable),
    "a negative length": (answering(response(b"x", "Content-Length: -1")), PeerUnreachable),
    "two lengths": (answering(response(OK, "Content-Length: 5", "Content-Length: 55")), PeerUnreachable),
    "less than it says": (answering(response(OK, "Content-Length: 1000")), PeerUnreachable),
    "another protocol": (answering(b"SSH-2.0-OpenSSH_9.2\r\n"), PeerUnreachable),
    "another version": (answering(b"HTTP/9.9 200 OK\r\n\r\n"), PeerUnreachable),
    "an upgrade": (
        answering(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", forever=b"x" * 65536),
        BadAnswer,
    ),
}


@pytest.fixture
async def carrier() -> AsyncIterator[HttpCarrier]:
    carrier = HttpCarrier()
    yield carrier
    await carrier.close()


async def _call(carrier: HttpCarrier, endpoint: str) -> Any:
    return parse_result(*await carrier.exchange(endpoint, b"{}", 1))


@pytest.mark.parametrize("kind", BAD_SERVERS)
async def test_a_server_that_answers_badly_costs_one_call_a_bounded_time_and_nobody_else_anything(
    carrier: HttpCarrier, kind: str
) -> None:
    peer, expected = BAD_SERVERS[kind]
    async with raw_server(peer) as bad, raw_server(answering(response(OK))) as good, asyncio.timeout(LIMIT):
        calls = [asyncio.create_task(_call(carrier, bad)) for _ in range(3)]
        assert await carrier.exchange(good, b"{}", LIMIT) == (200, OK)
        failures = await asyncio.gather(*calls, return_exceptions=True)
        assert await carrier.exchange(good, b"{}", LIMIT) == (200, OK)
    assert [type(failure).__name__ for failure in failures if not isinstance(failure, expected)] == []
    for failure in failures:
        assert isinstance(failure, CallFailed)
        assert len(failure.message) < 400
        assert failure.message.isprintable()


async def test_the_limit_of_a_call_holds_for_connecting_too(carrier: HttpCarrier) -> None:
    """A listener whose queue is full: the connection is never made."""
    with socket.socket() as full, suppress(BlockingIOError):
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        try:
            for one in waiting:
                one.setblocking(False)
                with suppress(BlockingIOError):
                    one.connect(full.getsockname())
            async with asyncio.timeout(LIMIT):
                with pytest.raises((PeerTimeout, PeerUnreachable)):
                    await carrier.exchange(f"http://127.0.0.1:{full.getsockname()[1]}/mcp", b"{}", 0.3)
        finally:
            for one in waiting:
                one.close()


async def test_packed_answers_are_not_unpacked_whatever_they_are_packed_with(carrier: HttpCarrier) -> None:
    bomb = gzip.compress(b"0" * (100 * MAX_BODY))
    for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        async with raw_server(answering(response(bomb, f"Content-Encoding: {coding}"))) as endpoint:
            _, body = await carrier.exchange(endpoint, b"{}", LIMIT)
            assert body == bomb
            with pytest.raises(BadAnswer):
                parse_result(200, body)
