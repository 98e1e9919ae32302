"""The HTTP server of an agent, over real sockets."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_league.agent.app import AgentApp
from agent_league.errors import PortInUse, UserError
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.server import HttpServer, bind_socket
from tests.http.wire import LIMIT, chunked, connected, fetch, request

HEALTH = {"status": "ok", "role": "player", "id": "P01", "state": "ACTIVE", "version": "1.0"}
POST = request(b'"hello"')


class Echo:
    """An agent that answers with what it was sent; `notice` isn't answered, `hang` takes for ever."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.bearers: list[str | None] = []
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def answer(self, body: bytes, bearer: str | None) -> bytes | None:
        self.bodies.append(body)
        self.bearers.append(bearer)
        if body == b"hang":
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        return None if body == b"notice" else body


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def server(echo: Echo) -> AsyncIterator[HttpServer]:
    server = HttpServer(AgentApp(echo.answer, lambda: HEALTH), "127.0.0.1", 0, "a test")
    await server.start()
    yield server
    await server.stop()


async def test_a_post_is_answered_with_200_and_json(server: HttpServer) -> None:
    answer = await fetch(server.port, POST)
    assert (answer.status, answer.body) == (200, b'"hello"')
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("header", "bearer"),
    [
        ("Authorization: Bearer tok-1", "tok-1"),
        ("AUTHORIZATION:bearer   tok-1  ", "tok-1"),
        ("Authorization: Basic dG9rLTE=", None),
        ("Authorization: Bearer", None),
        ("Authorization: Bearer ", None),
        ("Authorization: tok-1", None),
        ("Authorization: Bearertok-1", None),
        ("X-Authorization: Bearer tok-1", None),
        ("Accept: */*", None),
    ],
)
async def test_the_bearer_s_token_is_read_from_its_header(
    server: HttpServer, echo: Echo, header: str, bearer: str | None
) -> None:
    assert (await fetch(server.port, request(b"x", header))).status == 200
    assert echo.bearers == [bearer]


async def test_two_tokens_are_one_too_many(server: HttpServer, echo: Echo) -> None:
    answer = await fetch(server.port, request(b"x", "Authorization: Bearer a", "Authorization: Bearer b"))
    assert (answer.status, echo.bodies) == (400, [])


@pytest.mark.parametrize(("path", "method"), [("/mcp", "POST"), ("/mcp", "GET"), ("/health", "GET"), ("/other", "GET")])
async def test_every_path_checks_the_host(server: HttpServer, echo: Echo, path: str, method: str) -> None:
    rebound = request(b"", method=method, path=path).replace(b"Host: localhost", b"Host: evil.example")
    answer = await fetch(server.port, rebound)
    assert (answer.status, echo.bodies) == (421, [])
    assert b"'evil.example'" in answer.body
    assert b"network.allowed_hosts" in answer.body
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_mcp_checks_page_and_type_before_the_body(server: HttpServer, echo: Echo) -> None:
    assert (await fetch(server.port, request(b"x", "Origin: http://evil.example"))).status == 403
    assert (await fetch(server.port, request(b"x", "Content-Type: text/plain"))).status == 415
    async with connected(server.port) as connection:
        await connection.send(request(b"", "Content-Type: text/plain", "Content-Length: 1000000"))
        assert (await connection.response()).status == 415
    assert not echo.bodies
    assert (await fetch(server.port, request(b"x", "Origin: http://localhost:3000"))).status == 403
    assert not echo.bodies
    assert (await fetch(server.port, request(b"x", "Origin: http://localhost"))).status == 200
    assert (await fetch(server.port, request(b"x", "Content-Type: application/JSON; charset=utf-8"))).status == 200


async def test_a_request_that_was_turned_away_leaves_its_connection_usable(server: HttpServer) -> None:
    async with connected(server.port) as connection:
        await connection.send(request(b"x" * 100_000, "Content-Type: text/plain"))
        assert (await connection.response()).status == 415
        await connection.send(POST)
        assert (await connection.response()).body == b'"hello"'


async def test_a_notification_is_answered_with_202_and_no_body(server: HttpServer) -> None:
    answer = await fetch(server.port, request(b"notice"))
    assert (answer.status, answer.body) == (202, b"")


async def test_health_tells_role_id_state_and_version(server: HttpServer) -> None:
    answer = await fetch(server.port, request(method="GET", path="/health"))
    assert (answer.status, answer.json()) == (200, HEALTH)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_only_post_is_allowed_on_mcp(server: HttpServer, echo: Echo, method: str) -> None:
    answer = await fetch(server.port, request(method=method))
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert not echo.bodies


async def test_another_path_is_not_found(server: HttpServer) -> None:
    assert (await fetch(server.port, request(b"x", path="/other"))).status == 404


async def test_health_is_only_read(server: HttpServer) -> None:
    assert (await fetch(server.port, request(b"x", path="/health"))).status == 405


async def test_a_body_in_chunks_is_put_together(server: HttpServer, echo: Echo) -> None:
    body = chunked(b"a", b"bc", b"d" * 1000)
    answer = await fetch(server.port, request(body, "Transfer-Encoding: chunked"))
    assert answer.status == 200
    assert echo.bodies == [b"abc" + b"d" * 1000]


async def test_a_body_of_exactly_one_mebibyte_is_read(server: HttpServer, echo: Echo) -> None:
    assert (await fetch(server.port, request(b"x" * MAX_BODY))).status == 200
    assert (await fetch(server.port, request(chunked(b"x" * MAX_BODY), "Transfer-Encoding: chunked"))).status == 200
    assert [len(body) for body in echo.bodies] == [2**20, 2**20]


@pytest.mark.parametrize("size", [MAX_BODY + 1, 2 * MAX_BODY, 20 * MAX_BODY])
async def test_a_larger_body_is_answered_413_and_never_parsed(server: HttpServer, echo: Echo, size: int) -> None:
    answer = await fetch(server.port, request(b"x" * size))
    assert answer.status == 413
    assert not echo.bodies


@pytest.mark.parametrize("size", [MAX_BODY + 1, 2 * MAX_BODY, 20 * MAX_BODY])
async def test_a_larger_body_in_chunks_is_answered_413_as_well(server: HttpServer, echo: Echo, size: int) -> None:
    chunks = [b"x" * 65536] * (size // 65536) + [b"x" * (size % 65536)] * bool(size % 65536)
    answer = await fetch(server.port, request(chunked(*chunks), "Transfer-Encoding: chunked"))
    assert answer.status == 413
    assert not echo.bodies


async def test_a_large_body_that_is_only_announced_is_refused_before_it_is_sent(server: HttpServer, echo: Echo) -> None:
    async with connected(server.port) as connection:
        await connection.send(request(b"", "Content-Length: 5000000", "Expect: 100-continue"))
        assert (await connection.response()).status == 413
    assert not echo.bodies


async def test_a_body_without_end_is_answered_413_and_its_connection_closed(server: HttpServer, echo: Echo) -> None:
    async with connected(server.port) as connection:
        await connection.send(request(b"", "Transfer-Encoding: chunked"))
        chunk = b"%x\r\n%s\r\n" % (2**20, b"x" * 2**20)
        try:
            for _ in range(200):
                await connection.send(chunk)
        except ConnectionError:
            cut_off = True
        else:
            cut_off = False
    assert cut_off
    assert not echo.bodies
    assert (await fetch(server.port, POST)).status == 200


async def test_after_a_413_the_server_serves_on(server: HttpServer) -> None:
    assert (await fetch(server.port, request(b"x" * (MAX_BODY + 1)))).status == 413
    assert (await fetch(server.port, POST)).status == 200


@pytest.mark.parametrize("length", ["-5", "9" * 5000, "abc", "1 2"])
async def test_a_length_that_is_none_is_a_bad_request(server: HttpServer, echo: Echo, length: str) -> None:
    answer = await fetch(server.port, request(b"x", f"Content-Length: {length}"))
    assert answer.status == 400
    assert not echo.bodies


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\r\n\r\n", b"hello\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"])
async def test_what_is_not_http_is_a_bad_request(server: HttpServer, garbage: bytes) -> None:
    assert (await fetch(server.port, garbage)).status == 400
    assert (await fetch(server.port, POST)).status == 200


async def test_a_connection_is_kept_alive_for_many_calls(server: HttpServer) -> None:
    async with connected(server.port) as connection:
        for number in range(20):
            await connection.send(request(b"%d" % number))
            assert (await connection.response()).body == b"%d" % number


async def test_calls_sent_ahead_are_answered_in_order(server: HttpServer) -> None:
    async with connected(server.port) as connection:
        await connection.send(b"".join(request(b"%d" % number) for number in range(5)))
        assert [(await connection.response()).body for _ in range(5)] == [b"%d" % number for number in range(5)]


async def test_half_sent_bodies_and_slow_heads_hold_up_nobody(server: HttpServer, echo: Echo) -> None:
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(server.port)) for _ in range(60)]
        for number, connection in enumerate(slow):
            whole = request(b"slow")
            await connection.send(whole[: -2 if number % 2 else 10])
        assert (await fetch(server.port, POST)).status == 200
        assert echo.bodies == [b'"hello"']
        await slow[1].send(b"ow")
        assert (await slow[1].response()).body == b"slow"


async def test_a_client_that_goes_away_half_way_costs_nothing(server: HttpServer, echo: Echo) -> None:
    async with connected(server.port) as connection:
        await connection.send(request(b"half", "Content-Length: 100"))
    assert (await fetch(server.port, POST)).status == 200
    assert echo.bodies == [b'"hello"']


async def test_a_handler_that_hangs_holds_up_no_other_call(server: HttpServer, echo: Echo) -> None:
    async with connected(server.port) as connection:
        await connection.send(request(b"hang"))
        async with asyncio.timeout(LIMIT):
            await echo.hanging.wait()
        assert (await fetch(server.port, POST)).status == 200


async def test_stop_ends_hung_calls_half_sent_bodies_and_idle_connections(echo: Echo) -> None:
    server = HttpServer(AgentApp(echo.answer, lambda: HEALTH), "127.0.0.1", 0, "a test")
    await server.start()
    async with connected(server.port) as hung, connected(server.port) as half, connected(server.port) as idle:
        await half.send(request(b"half", "Content-Length: 100"))
        await idle.send(POST)
        await idle.response()
        await hung.send(request(b"hang"))
        async with asyncio.timeout(LIMIT):
            await echo.hanging.wait()
            await server.stop()
            await echo.cancelled.wait()
        assert await idle.ended()
        assert not await hung.ended()
        assert not await half.ended()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_server_that_never_started_lets_go_of_its_port(echo: Echo) -> None:
    server = HttpServer(AgentApp(echo.answer, lambda: HEALTH), "127.0.0.1", 0, "a test")
    await server.stop()
    bind_socket("127.0.0.1", server.port, "the next").close()


async def test_a_port_can_be_used_again_at_once(echo: Echo) -> None:
    port = 0
    for _ in range(3):
        server = HttpServer(AgentApp(echo.answer, lambda: HEALTH), "127.0.0.1", port, "a test")
        await server.start()
        assert (await fetch(server.port, POST)).status == 200
        port = server.port
        await server.stop()


def test_a_bound_socket_is_known_as_tcp_so_that_answers_leave_at_once() -> None:
    with bind_socket("127.0.0.1", 0, "a test") as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_a_port_in_use_is_told_with_who_wants_it_and_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse) as refused:
            bind_socket("localhost", port, "player P01", "Choose another with --player-port.")
    sentence = str(refused.value)
    assert (
        sentence == f"Port {port} on localhost is in use, and player P01 needs it. Choose another with --player-port."
    )


def test_a_port_on_which_another_listens_after_ours_was_bound_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EADDRINUSE, "Address already in use")

    monkeypatch.setattr(socket.socket, "listen", refuse)
    with pytest.raises(PortInUse, match="player P01 needs it"):
        bind_socket("localhost", 0, "player P01", backlog=5)


def test_a_port_that_we_may_not_use_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", forbid)
    with pytest.raises(
        UserError, match=r"^Not allowed to listen on port 80 of localhost, and player P01 wants it\."
    ) as no:
        bind_socket("localhost", 80, "player P01", "Stop what is using it.")
    assert not isinstance(no.value, PortInUse)
    assert "above 1024" in str(no.value)


def test_a_host_that_is_not_ours_is_told_with_who_wants_to_listen_there() -> None:
    with pytest.raises(UserError, match=r"^--host 192\.0\.2\.1: the server of the leagues can't listen there: Cannot "):
        bind_socket("192.0.2.1", 0, "the server of the leagues")


async def test_several_servers_live_in_one_loop() -> None:
    echoes = [Echo() for _ in range(3)]
    servers = [HttpServer(AgentApp(echo.answer, dict), "127.0.0.1", 0, "a test") for echo in echoes]
    try:
        for server in servers:
            await server.start()
        for number, server in enumerate(servers):
            await fetch(server.port, request(b"%d" % number))
    finally:
        for server in servers:
            await server.stop()
    assert [echo.bodies for echo in echoes] == [[b"0"], [b"1"], [b"2"]]


async def test_a_call_that_fails_in_a_way_nobody_thought_of_is_answered_500_and_harms_no_other() -> None:
    async def answer(body: bytes, bearer: str | None) -> bytes | None:
        if body == b"fail":
            raise RuntimeError("nobody thought of this")
        return body

    server = HttpServer(AgentApp(answer, lambda: HEALTH), "127.0.0.1", 0, "a test")
    await server.start()
    try:
        assert (await fetch(server.port, request(b"fail"))).status == 500
        assert (await fetch(server.port, POST)).body == b'"hello"'
    finally:
        await server.stop()


async def test_an_app_serves_every_path_below_its_name_and_may_reject(echo: Echo) -> None:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("/closed"):
            raise RequestRejected(403, "not here")
        await Response(scope["path"])(scope, receive, send)

    server = HttpServer(AgentApp(echo.answer, lambda: HEALTH, path_apps={"seats": serve}), "127.0.0.1", 0, "a test")
    await server.start()
    try:
        assert (await fetch(server.port, request(b"x", path="/seats/P01/mcp"))).body == b"/seats/P01/mcp"
        closed = await fetch(server.port, request(b"x", path="/seats/closed"))
        assert (closed.status, closed.body) == (403, b"not here")
        assert (await fetch(server.port, request(b"x", path="/seatsP01"))).status == 404
    finally:
        await server.stop()
