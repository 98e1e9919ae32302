"""How long, how large and how many the connections of a server may be."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from agent_league.agent.app import AgentApp
from agent_league.http.limits import (
    MAX_HEAD,
    MAX_HEADERS,
    MAX_MESSAGE,
    MAX_UNFINISHED,
    ConnectionLimits,
    LimitedProtocol,
)
from agent_league.http.server import HttpServer
from tests.http.wire import LIMIT, Connection, chunked, connected, fetch, request, until

PATIENCE = 0.3
POST = request(b"hello")


class Echo:
    """Answers with what it was sent; `wait` only once it is told to, `much` with more than a socket takes."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, body: bytes, bearer: str | None) -> bytes | None:
        if body == b"wait":
            self.asked.set()
            await self.go_on.wait()
        if body == b"fail":
            raise RuntimeError("what nobody foresaw")
        return b"x" * 50_000_000 if body == b"much" else body


@pytest.fixture
def echo() -> Echo:
    return Echo()


@asynccontextmanager
async def serving(echo: Echo, **limits: float) -> AsyncIterator[HttpServer]:
    server = HttpServer(AgentApp(echo.answer, dict), "127.0.0.1", 0, "a test", limits=ConnectionLimits(**limits))  # type: ignore[arg-type]
    await server.start()
    try:
        yield server
        assert (await fetch(server.port, POST)).body == b"hello"
    finally:
        await server.stop()
    assert server._server_limits.unfinished_bytes == 0


@pytest.fixture
async def hasty(echo: Echo) -> AsyncIterator[HttpServer]:
    async with serving(echo, request_timeout=PATIENCE) as server:
        yield server


async def emptied(server: HttpServer) -> None:
    """Waits until nobody is connected."""
    await until(lambda: not server._server_limits.connections)


async def ticks(server: HttpServer, count: int) -> None:
    """Waits until so many ticks have passed for a new connection that says nothing."""
    before = set(server._server_limits.list_connections())
    async with connected(server.port):
        await until(
            lambda: any(
                visitor.waiting_ticks >= count for visitor in set(server._server_limits.list_connections()) - before
            )
        )


@pytest.mark.parametrize(
    "begun",
    [b"", b"\r\n", POST[:1], POST[:30], POST[:-1], request(b"", "Transfer-Encoding: chunked") + b"5\r\nhel"],
    ids=["nothing", "a line", "a byte", "half a head", "half a body", "half a chunk"],
)
async def test_a_request_that_isn_t_there_in_time_is_answered_408_and_its_connection_closed(
    hasty: HttpServer, begun: bytes
) -> None:
    async with connected(hasty.port) as connection:
        await connection.send(begun)
        answer = await connection.response()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert answer.body == b"expected a whole request within 0.3 s of its beginning"
        assert await connection.ended()
    await emptied(hasty)


@pytest.mark.parametrize("whole", [POST, request(b"", "Transfer-Encoding: chunked") + chunked(b"x" * 1000)])
async def test_a_byte_now_and_then_gains_no_time(hasty: HttpServer, whole: bytes) -> None:
    async with connected(hasty.port) as connection:
        drip = asyncio.create_task(_drip(connection, whole))
        assert (await connection.response()).status == 408
        drip.cancel()
        await asyncio.gather(drip, return_exceptions=True)


async def _drip(connection: Connection, data: bytes) -> None:
    for byte in data:
        await connection.send(bytes([byte]))
        await asyncio.sleep(0.01)


async def test_the_second_request_of_a_connection_has_to_come_in_time_as_well(hasty: HttpServer) -> None:
    async with connected(hasty.port) as connection:
        await connection.send(POST)
        assert (await connection.response()).status == 200
        await connection.send(POST[:-1])
        assert (await connection.response()).status == 408


async def test_each_request_has_its_own_time_however_many_follow_each_other(echo: Echo) -> None:
    async with serving(echo, request_timeout=1) as server, connected(server.port) as connection:
        await connection.send(POST[:-1])
        for _ in range(3):
            await ticks(server, 5)
            await connection.send(POST[-1:] + POST[:-1])
            assert (await connection.response()).body == b"hello"


async def test_that_goes_for_what_follows_a_refused_body_too(hasty: HttpServer) -> None:
    async with connected(hasty.port) as connection:
        await connection.send(request(b"", "Content-Type: text/plain", "Content-Length: 5"))
        assert (await connection.response()).status == 415
        await connection.send(b"hello" + POST[:20])
        assert (await connection.response()).status == 408


async def test_a_refused_body_leaves_no_connection_without_an_end(echo: Echo) -> None:
    """It is closed as any other that is idle for long."""
    async with serving(echo, request_timeout=1, keep_alive_timeout=0.2) as server, connected(server.port) as connection:
        await connection.send(request(b"", "Content-Type: text/plain", "Content-Length: 5"))
        assert (await connection.response()).status == 415
        await connection.send(b"hello")
        assert await connection.ended()


async def test_an_idle_connection_is_kept_beyond_that(hasty: HttpServer) -> None:
    async with connected(hasty.port) as connection:
        await connection.send(POST)
        await connection.response()
        await ticks(hasty, 10)
        await ticks(hasty, 10)
        await connection.send(POST)
        assert (await connection.response()).status == 200


@pytest.mark.parametrize("rest", [b"", b"\r\n", POST[:10], POST[:-1]])
async def test_whoever_waits_for_an_answer_of_ours_is_not_slow(hasty: HttpServer, echo: Echo, rest: bytes) -> None:
    """Whatever has come of its next request: it is our turn."""
    async with connected(hasty.port) as connection:
        await connection.send(request(b"wait") + rest)
        async with asyncio.timeout(LIMIT):
            await echo.asked.wait()
        await ticks(hasty, 10)
        await ticks(hasty, 10)
        echo.go_on.set()
        assert (await connection.response()).body == b"wait"
        await connection.send(POST[len(rest) :] if rest != b"\r\n" else POST)
        assert (await connection.response()).body == b"hello"


async def test_a_peer_that_doesn_t_take_its_answer_is_cut_off(hasty: HttpServer) -> None:
    async with connected(hasty.port) as connection:
        connection.pause()
        await connection.send(request(b"much"))
        await emptied(hasty)


HUGE = b"x" * 65536
ENDLESS = {
    "headers": (POST[:20], b"X-Header: value\r\n" * 1000, 431),
    "one header": (request()[:-2] + b"X-Header: ", HUGE, 431),
    "a path": (b"POST /", HUGE, 431),
    "a method": (b"", b"P" * 65536, 400),
    "empty lines": (b"", b"\r\n" * 1000, 431),
    "trailers": (request(b"", "Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n", b"X-Header: value\r\n" * 1000, 431),
    "one trailer": (request(b"", "Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\nX-Header: ", HUGE, 413),
    "a body of the wrong type": (
        request(b"", "Content-Type: text/plain", "Content-Length: 1000000000"),
        HUGE,
        415,
    ),
    "a chunk's own words": (request(b"", "Transfer-Encoding: chunked") + b"1;", HUGE, 413),
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_never_ends_is_cut_off_long_before_it_is_large(echo: Echo, kind: str) -> None:
    start, more, status = ENDLESS[kind]
    sent = 0
    async with serving(echo, request_timeout=3600) as server, connected(server.port) as connection:
        await connection.send(start)
        told = asyncio.create_task(connection.response())
        try:
            while sent < 200_000_000:
                await connection.send(more)
                sent += len(more)
        except ConnectionError:
            pass
        assert sent < 100_000_000  # with what the sockets' own buffers hold
        (answer,) = await asyncio.gather(told, return_exceptions=True)
        if isinstance(answer, BaseException):
            assert isinstance(answer, ConnectionError | asyncio.IncompleteReadError)  # cut off while it wrote
        else:
            assert answer.status == status


async def test_a_head_of_reasonable_size_is_read(echo: Echo) -> None:
    headers = [f"X-Header-{number}: {'x' * 500}" for number in range(MAX_HEADERS - 10)]
    data = request(b"hello", *headers)
    assert 40_000 < len(data) < MAX_HEAD
    async with serving(echo) as server, connected(server.port) as connection:
        for start in range(0, len(data), 1000):
            await connection.send(data[start : start + 1000])
        assert (await connection.response()).body == b"hello"


async def test_large_requests_may_be_sent_ahead(echo: Echo) -> None:
    bodies = [b"%d" % number * 200_000 for number in range(8)]
    async with serving(echo) as server, connected(server.port) as connection:
        sending = asyncio.create_task(connection.send(b"".join(map(request, bodies))))
        for body in bodies:
            assert (await connection.response()).body == body
        await sending


async def test_the_largest_body_may_come_in_small_chunks_with_trailers(echo: Echo) -> None:
    body = chunked(*[b"x" * 64] * (2**20 // 64)).removesuffix(b"\r\n") + b"X-Sum: 1\r\n\r\n"
    assert len(body) < MAX_MESSAGE
    async with serving(echo) as server:
        answer = await fetch(server.port, request(body, "Transfer-Encoding: chunked"))
        assert (answer.status, len(answer.body)) == (200, 2**20)


async def test_requests_sent_ahead_are_read_no_faster_than_they_are_answered(echo: Echo) -> None:
    """Thousands fit into what is read at once, so that one answer for each reading would never catch up."""
    async with serving(echo, request_timeout=3600) as server, connected(server.port) as connection:
        await connection.send(request(b"wait"))
        async with asyncio.timeout(LIMIT):
            await echo.asked.wait()
        ahead = asyncio.create_task(connection.send(POST * 50_000))
        (visitor,) = server._server_limits.list_connections()
        assert isinstance(visitor, LimitedProtocol)
        await until(lambda: len(visitor.pipeline) > 0)
        most = len(visitor.pipeline)
        echo.go_on.set()
        assert (await connection.response()).body == b"wait"
        for _ in range(20_000):
            assert (await connection.response()).body == b"hello"
            most = max(most, len(visitor.pipeline))
        assert most < 10_000
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)


async def test_when_there_are_too_many_the_one_that_waits_longest_makes_room(echo: Echo) -> None:
    async with serving(echo, max_connections=5, request_timeout=3600) as server, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(connected(server.port)) for _ in range(5)]
        await until(lambda: len(server._server_limits.connections) == 5)
        for first in silent[:2]:
            caller = await stack.enter_async_context(connected(server.port))
            await caller.send(POST)
            assert (await caller.response()).status == 200
            assert (await first.response()).status == 503
        await until(lambda: len(server._server_limits.connections) == 5)
        await silent[-1].send(POST)
        assert (await silent[-1].response()).status == 200


async def test_a_call_that_is_being_answered_is_never_cut_off_for_another(echo: Echo) -> None:
    async with serving(echo, max_connections=3) as server, AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(connected(server.port)) for _ in range(3)]
        for caller in callers:
            echo.asked.clear()
            await caller.send(request(b"wait"))
            async with asyncio.timeout(LIMIT):
                await echo.asked.wait()
        async with connected(server.port) as late:
            assert (await late.response()).status == 503
        echo.go_on.set()
        assert [(await caller.response()).body for caller in callers] == [b"wait"] * 3


async def test_unfinished_bodies_together_are_limited_too(echo: Echo) -> None:
    """The first have to make room for the last; who isn't among them isn't concerned."""
    half = request(b"x" * 2**19, f"Content-Length: {2**20}")
    async with serving(echo, request_timeout=3600) as server, AsyncExitStack() as stack:
        hoard = [await stack.enter_async_context(connected(server.port)) for _ in range(MAX_UNFINISHED // 2**19 + 5)]
        for connection in hoard:
            await connection.send(half)
        assert (await hoard[0].response()).status == 503
        assert server._server_limits.unfinished_bytes <= MAX_UNFINISHED
        assert (await fetch(server.port, POST)).status == 200
        await hoard[-1].send(b"x" * 2**19)
        assert (await hoard[-1].response()).status == 200


OFFERS = {
    "h2c": ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA"],
    "websocket": ["Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
}
SMUGGLED = request(b"smuggled")
"""A whole request, which somebody hides in a body."""


@pytest.mark.parametrize("size", [1, 7, 150, 100_000], ids=lambda size: f"{size} bytes at once")
@pytest.mark.parametrize("chunks", [False, True], ids=["a length", "chunks"])
@pytest.mark.parametrize("kind", OFFERS)
async def test_an_offer_of_another_protocol_is_ignored_and_the_body_read_never_run(
    echo: Echo, kind: str, size: int, chunks: bool
) -> None:
    offer = [*OFFERS[kind], *(["Transfer-Encoding: chunked"] if chunks else [])]
    asked = request(chunked(SMUGGLED[:20], SMUGGLED[20:]) if chunks else SMUGGLED, *offer) + POST
    async with serving(echo) as server, connected(server.port) as connection:
        for start in range(0, len(asked), size):
            await connection.send(asked[start : start + size])
            await asyncio.sleep(0)
        assert [(await connection.response()).body for _ in range(2)] == [SMUGGLED, b"hello"]
        await connection.send(request(b"", *OFFERS[kind], method="GET", path="/health") + POST)
        assert [(await connection.response()).body for _ in range(2)] == [b"{}", b"hello"]


async def test_an_offer_changes_nothing_about_when_a_connection_ends(echo: Echo) -> None:
    async with serving(echo) as server, connected(server.port) as connection:
        await connection.send(request(b"last", "Connection: close, Upgrade", "Upgrade: h2c"))
        assert (await connection.response()).body == b"last"
        assert await connection.ended()


@pytest.mark.parametrize(
    ("asked", "status"),
    [(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)],
    ids=["connect", "http2"],
)
async def test_a_proxy_and_http_2_are_refused_and_what_follows_is_not_read(
    hasty: HttpServer, asked: bytes, status: int
) -> None:
    async with connected(hasty.port) as connection:
        await connection.send(asked + POST)
        assert (await connection.response()).status == status
        assert await connection.ended()


RUBBISH = {
    "no HTTP": b"\x16\x03\x01 what is this\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two lengths": request(b"", "Content-Length: 1", "Content-Length: 2"),
    "broken chunks": request(b"nonsense\r\n", "Transfer-Encoding: chunked"),
    "a large head": request(b"", f"X: {'x' * MAX_HEAD}"),
}


@pytest.mark.parametrize("ahead", [1, 2, 3])
@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("kind", RUBBISH)
async def test_a_good_request_followed_by_rubbish_gets_its_answer(
    echo: Echo, kind: str, pieces: int, ahead: int
) -> None:
    async with serving(echo) as server, connected(server.port) as connection:
        good = request(b"wait") + POST * (ahead - 1)
        if pieces == 1:
            await connection.send(good + RUBBISH[kind])
        else:
            await connection.send(good)
            await echo.asked.wait()
            await connection.send(RUBBISH[kind])
        await echo.asked.wait()
        echo.go_on.set()
        answers = [await connection.response() for _ in range(ahead)]
        assert [answer.body for answer in answers] == [b"wait", *[b"hello"] * (ahead - 1)]
        assert (await connection.response()).status in (400, 431, 505)
        assert await connection.ended()


async def test_a_large_answer_before_rubbish_arrives_whole(echo: Echo) -> None:
    async with serving(echo) as server, connected(server.port) as connection:
        await connection.send(request(b"much") + RUBBISH["no HTTP"])
        assert len((await connection.response()).body) == 50_000_000
        assert (await connection.response()).status == 400


@pytest.mark.parametrize(
    "head",
    [[f"X: {'x' * MAX_HEAD}"], ["X: y"] * (MAX_HEADERS + 1), [f"X: {'x' * 700}"] * 99],
    ids=["one header", "many headers", "all together"],
)
@pytest.mark.parametrize("pieces", [1, 2])
async def test_the_bound_on_heads_holds_however_they_come(echo: Echo, head: list[str], pieces: int) -> None:
    asked = request(b"hello", *head)
    async with serving(echo) as server, connected(server.port) as connection:
        middle = 0 if pieces == 1 else 60_000 if len(asked) > 60_000 else 30
        if middle:
            await connection.send(asked[:middle])
            await until(lambda: server._server_limits.unfinished_bytes == middle)
        await connection.send(asked[middle:])
        assert (await connection.response()).status == 431


def test_the_connections_of_a_server_leave_files_for_the_rest() -> None:
    assert 1 <= ConnectionLimits().max_connections <= 1000
    assert ConnectionLimits().request_timeout == 10


async def test_a_body_byte_by_byte_arrives_whole(echo: Echo) -> None:
    async with serving(echo) as server, connected(server.port) as connection:
        for byte in request(b"hello, world"):
            await connection.send(bytes((byte,)))
            await asyncio.sleep(0)
        assert (await connection.response()).body == b"hello, world"


async def test_a_call_that_fails_is_answered_500_and_nobody_s_task_is_left_with_the_error(echo: Echo) -> None:
    strays: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: strays.append(context))
    async with serving(echo) as server, connected(server.port) as connection:
        await connection.send(request(b"fail"))
        assert (await connection.response()).status == 500
        assert await connection.ended()
        await until(lambda: not server._server_limits.tasks)
        gc.collect()
    assert not strays
