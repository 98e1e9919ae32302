"""Links: calls to all agents of a process over one connection, against real servers and against raw ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from agent_league.agent.app import AgentApp
from agent_league.errors import PeerTimeout, PeerUnreachable
from agent_league.http.caller_address import CALLER_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY, HttpReply
from agent_league.http.client import HttpCarrier
from agent_league.http.limits import ConnectionLimits
from agent_league.http.link_frames import (
    LINK_PATH,
    LINK_PROTOCOL,
    MAX_LINE,
    MAX_RECIPIENTS,
    MAX_SHARED_BODY,
    BrokenFrame,
    FrameReader,
)
from agent_league.http.link_server import MAX_CALLS, LinkedProcess, LinkTarget
from agent_league.http.server import HttpServer
from tests.http.wire import (
    LIMIT,
    Connection,
    Peer,
    connected,
    fetch,
    raw_server,
    request,
    response,
    until,
)

ASK = request(b"", "Connection: Upgrade", f"Upgrade: {LINK_PROTOCOL}", method="GET", path=LINK_PATH)
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: agent-league-link\r\n\r\n"


class Agent:
    """Answers with what it was sent; `hang` waits until it is let go, `notice` is only acknowledged."""

    def __init__(self) -> None:
        self.calls: list[tuple[bytes, str | None]] = []
        self.callers: list[Address | None] = []
        self.hanging = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, body: bytes, bearer: str | None) -> bytes | None:
        self.calls.append((body, bearer))
        self.callers.append(CALLER_ADDRESS.get())
        if body == b"hang":
            self.hanging.set()
            await self.go_on.wait()
        return None if body == b"notice" else body


class Process:
    """The agents of one process, each with a server of its own; the first port takes the links."""

    def __init__(self, agents: list[Agent], servers: list[HttpServer], linked: dict[bytes, LinkTarget]) -> None:
        self.agents = agents
        self.servers = servers
        self.linked = linked

    @property
    def endpoints(self) -> list[str]:
        return [f"http://127.0.0.1:{server.port}/mcp" for server in self.servers]

    @property
    def port(self) -> int:
        return self.servers[0].port

    def count_links(self) -> int:
        return sum(len(server._server_limits.connections) for server in self.servers)

    async def open_link(self, carrier: HttpCarrier) -> None:
        """Use a link for all agents, and wait until it is open; the call that opens it is made over HTTP."""
        for endpoint in self.endpoints:
            carrier.use_link(endpoint, self.port)
        await carrier.exchange(self.endpoints[0], b"first", LIMIT)
        await until(lambda: is_open(carrier))
        self.agents[0].calls.clear()


def is_open(carrier: HttpCarrier) -> bool:
    return all(link._connection is not None and link._connection.is_usable for link in carrier._links.values())


@asynccontextmanager
async def serving(number: int, limits: ConnectionLimits | None = None) -> AsyncIterator[Process]:
    linked: dict[bytes, LinkTarget] = {}
    agents = [Agent() for _ in range(number)]
    async with AsyncExitStack() as stack:
        servers = []
        for agent in agents:
            app = AgentApp(agent.answer, dict)
            app.link_targets = linked
            server = HttpServer(app, "127.0.0.1", 0, "a test", limits=limits)
            linked[f"http://127.0.0.1:{server.port}/mcp".encode()] = app
            await server.start()
            stack.push_async_callback(server.stop)
            servers.append(server)
        yield Process(agents, servers, linked)
        for agent in agents:
            agent.go_on.set()


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    async with serving(3) as process:
        yield process


@pytest.fixture
async def carrier() -> AsyncIterator[HttpCarrier]:
    carrier = HttpCarrier()
    yield carrier
    await carrier.close()


class CountedWrites:
    """Counts the writes of an open link."""

    def __init__(self, carrier: HttpCarrier) -> None:
        (link,) = carrier._links.values()
        assert link._connection is not None
        self._writer = link._connection._writer
        self._transport = self._writer.transport
        self._writer.transport = self
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)


async def test_calls_of_one_tick_to_all_agents_of_a_process_are_one_write(
    process: Process, carrier: HttpCarrier
) -> None:
    await process.open_link(carrier)
    writes = CountedWrites(carrier)
    calls = [carrier.exchange(endpoint, b"%d" % n, LIMIT, f"tok-{n}") for n, endpoint in enumerate(process.endpoints)]
    assert await asyncio.gather(*calls) == [(200, b"0"), (200, b"1"), (200, b"2")]
    assert [agent.calls for agent in process.agents] == [[(b"%d" % n, f"tok-{n}")] for n in range(3)]
    assert len(writes.written) == 1
    assert {caller[0] for agent in process.agents for caller in agent.callers if caller} == {"127.0.0.1"}


async def test_a_body_for_several_agents_travels_once_with_the_token_of_each(
    process: Process, carrier: HttpCarrier
) -> None:
    await process.open_link(carrier)
    writes = CountedWrites(carrier)
    calls = [carrier.exchange(endpoint, b"news", LIMIT, f"tok-{n}") for n, endpoint in enumerate(process.endpoints)]
    assert await asyncio.gather(*calls) == [(200, b"news")] * 3
    assert [agent.calls for agent in process.agents] == [[(b"news", f"tok-{n}")] for n in range(3)]
    assert b"".join(writes.written).count(b"news") == 1


async def test_a_notice_is_acknowledged_and_a_call_without_a_token_has_none(
    process: Process, carrier: HttpCarrier
) -> None:
    await process.open_link(carrier)
    assert await carrier.exchange(process.endpoints[1], b"notice", LIMIT) == (202, b"")
    assert process.agents[1].calls == [(b"notice", None)]


async def test_a_slow_agent_holds_back_no_other(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    slow = asyncio.create_task(carrier.exchange(process.endpoints[0], b"hang", LIMIT))
    quick = carrier.exchange(process.endpoints[1], b"quick", LIMIT)
    assert await quick == (200, b"quick")
    assert not slow.done()
    process.agents[0].go_on.set()
    assert await slow == (200, b"hang")


async def test_each_call_has_its_own_deadline(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    patient = asyncio.create_task(carrier.exchange(process.endpoints[0], b"hang", LIMIT))
    await process.agents[0].hanging.wait()
    with pytest.raises(PeerTimeout, match=r"no answer from http://127\.0\.0\.1:\d+/mcp within 0\.05 s"):
        await carrier.exchange(process.endpoints[1], b"hang", 0.05)
    assert not patient.done()
    process.agents[0].go_on.set()
    assert await patient == (200, b"hang")
    assert await carrier.exchange(process.endpoints[2], b"again", LIMIT) == (200, b"again")


async def test_a_link_without_any_sign_of_life_is_replaced(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    (link,) = carrier._links.values()
    first = link._connection
    with pytest.raises(PeerTimeout):
        await carrier.exchange(process.endpoints[1], b"hang", 0.05)
    assert await carrier.exchange(process.endpoints[2], b"by HTTP", LIMIT) == (200, b"by HTTP")
    await until(lambda: is_open(carrier))
    assert link._connection is not first


async def test_a_cancelled_call_disturbs_no_other(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    given_up = asyncio.create_task(carrier.exchange(process.endpoints[0], b"hang", LIMIT))
    await process.agents[0].hanging.wait()
    given_up.cancel()
    await asyncio.wait([given_up])
    process.agents[0].go_on.set()
    assert await carrier.exchange(process.endpoints[0], b"next", LIMIT) == (200, b"next")


async def test_an_agent_that_is_not_on_the_link_is_called_by_itself_and_once(
    process: Process, carrier: HttpCarrier
) -> None:
    await process.open_link(carrier)
    del process.linked[process.endpoints[1].encode()]
    both = [carrier.exchange(endpoint, b"call", LIMIT, "tok") for endpoint in process.endpoints[:2]]
    assert await asyncio.gather(*both) == [(200, b"call")] * 2
    assert [agent.calls for agent in process.agents[:2]] == [[(b"call", "tok")]] * 2


async def test_a_rejected_call_among_good_ones_keeps_its_status(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)

    class Overrun:
        async def answer_linked_call(self, body: bytes, bearer: str | None, client: Address) -> HttpReply:
            return 503, b"too many calls wait here"

    process.linked[process.endpoints[1].encode()] = Overrun()
    calls = [carrier.exchange(endpoint, b"call", LIMIT) for endpoint in process.endpoints]
    assert await asyncio.gather(*calls) == [(200, b"call"), (503, b"too many calls wait here"), (200, b"call")]


async def test_a_call_that_fits_no_frame_is_made_by_itself(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    status, _ = await carrier.exchange(process.endpoints[1], b"x" * (MAX_BODY + 1), LIMIT)
    assert status == 413
    assert await carrier.exchange(process.endpoints[1], b"call", LIMIT, "two words") == (200, b"call")
    assert process.agents[1].calls == [(b"call", "two words")]


async def test_a_large_body_is_not_shared(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    body = b"x" * (MAX_SHARED_BODY + 1)
    calls = [carrier.exchange(endpoint, body, LIMIT) for endpoint in process.endpoints]
    assert await asyncio.gather(*calls) == [(200, body)] * 3


async def test_more_recipients_than_a_frame_has_room_for(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    calls = [carrier.exchange(process.endpoints[n % 3], b"news", LIMIT) for n in range(2 * MAX_RECIPIENTS)]
    assert await asyncio.gather(*calls) == [(200, b"news")] * 2 * MAX_RECIPIENTS


async def test_a_server_that_takes_no_links_is_called_over_http(carrier: HttpCarrier) -> None:
    agent = Agent()
    server = HttpServer(AgentApp(agent.answer, dict), "127.0.0.1", 0, "a test")
    await server.start()
    endpoint = f"http://127.0.0.1:{server.port}/mcp"
    carrier.use_link(endpoint, server.port)
    for number in range(3):
        assert await carrier.exchange(endpoint, b"%d" % number, LIMIT) == (200, b"%d" % number)
        await until(lambda: carrier._links[endpoint.replace("/mcp", LINK_PATH)]._opening is None)
    assert len(agent.calls) == 3
    await server.stop()


async def test_a_port_where_nobody_is_costs_nothing_but_the_link(process: Process, carrier: HttpCarrier) -> None:
    async with serving(1) as other:
        gone = other.port
    carrier.use_link(process.endpoints[0], gone)
    assert await carrier.exchange(process.endpoints[0], b"call", LIMIT) == (200, b"call")


async def test_without_its_link_an_agent_is_called_over_http(process: Process, carrier: HttpCarrier) -> None:
    await process.open_link(carrier)
    carrier.use_link(process.endpoints[1], None)
    writes = CountedWrites(carrier)
    assert await carrier.exchange(process.endpoints[1], b"call", LIMIT) == (200, b"call")
    assert writes.written == []


def link_server(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], calls: list[bytes]
) -> Peer:
    """A raw server: `answer` goes on with a link that was opened; single calls are kept and answered `by HTTP`."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET /link "):
            writer.write(SWITCH)
            await answer(reader, writer)
            return
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        calls.append(await reader.readexactly(length))
        writer.write(response(b"by HTTP"))

    return peer


async def open_raw_link(carrier: HttpCarrier, endpoint: str, calls: list[bytes]) -> None:
    carrier.use_link(endpoint, int(endpoint.rpartition(":")[2].partition("/")[0]))
    await carrier.exchange(endpoint, b"first", LIMIT)
    await until(lambda: is_open(carrier))
    calls.clear()


async def test_a_call_whose_link_is_lost_before_its_answer_is_made_by_itself_once(carrier: HttpCarrier) -> None:
    calls: list[bytes] = []

    async def lose(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    async with raw_server(link_server(lose, calls)) as endpoint:
        await open_raw_link(carrier, endpoint, calls)
        assert await carrier.exchange(endpoint, b"call", LIMIT) == (200, b"by HTTP")
        assert calls == [b"call"]


async def test_a_call_whose_link_is_lost_within_its_answer_is_not_made_again(carrier: HttpCarrier) -> None:
    calls: list[bytes] = []

    async def lose(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = (await reader.readline()).split()[1]
        writer.write(b"10 200 %b\nhalf" % number)
        await writer.drain()
        writer.close()

    async with raw_server(link_server(lose, calls)) as endpoint:
        await open_raw_link(carrier, endpoint, calls)
        with pytest.raises(PeerUnreachable, match="the server closed the link"):
            await carrier.exchange(endpoint, b"call", LIMIT)
        assert calls == []


@pytest.mark.parametrize("line", [b"x 200 %b\n", b"99999999 200 %b\n", b"2 abc %b\nok", b"2000000 200 %b\n"])
async def test_what_is_no_answer_ends_the_link_and_the_call_is_made_by_itself(
    carrier: HttpCarrier, line: bytes
) -> None:
    calls: list[bytes] = []

    async def answer_wrong(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(line % (await reader.readline()).split()[1])
        await reader.read()

    async with raw_server(link_server(answer_wrong, calls)) as endpoint:
        await open_raw_link(carrier, endpoint, calls)
        assert await carrier.exchange(endpoint, b"call", LIMIT) == (200, b"by HTTP")
        assert calls == [b"call"]


async def test_an_answer_to_nobody_is_ignored(carrier: HttpCarrier) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = (await reader.readline()).split()[1]
        writer.write(b"2 200 999\nno2 200 %b\nok" % number)
        await reader.read()

    calls: list[bytes] = []
    async with raw_server(link_server(answer, calls)) as endpoint:
        await open_raw_link(carrier, endpoint, calls)
        assert await carrier.exchange(endpoint, b"call", LIMIT) == (200, b"ok")


async def test_a_closed_carrier_makes_no_call_again(process: Process) -> None:
    carrier = HttpCarrier()
    await process.open_link(carrier)
    call = asyncio.create_task(carrier.exchange(process.endpoints[0], b"hang", LIMIT))
    await process.agents[0].hanging.wait()
    await carrier.close()
    with pytest.raises(PeerUnreachable):
        await call
    assert len(process.agents[0].calls) == 1


@asynccontextmanager
async def linked(process: Process) -> AsyncIterator[Connection]:
    """A link by hand."""
    async with connected(process.port) as link:
        await link.send(ASK)
        answer = await link.response()
        assert answer.status == 101
        assert answer.headers["upgrade"] == LINK_PROTOCOL
        yield link


async def test_a_frame_in_pieces_is_answered_like_one_in_one_piece(process: Process) -> None:
    async with linked(process) as link:
        frame = b"4 7 %b tok 8 %b -\ncall" % tuple(end.encode() for end in process.endpoints[:2])
        for byte in frame:
            await link.send(bytes([byte]))
        async with asyncio.timeout(LIMIT):
            assert await link._reader.readexactly(14) == b"4 200 7 8\ncall"
    assert [agent.calls for agent in process.agents[:2]] == [[(b"call", "tok")], [(b"call", None)]]


@pytest.mark.parametrize(
    "frame",
    [
        b"nonsense\n",
        b"-1 1 x -\n",
        b"%d 1 x -\n" % (MAX_BODY + 1),
        b"4\ncall",
        b"4 1 x\ncall",
        b"4 1 x - 2\ncall",
        b"x" * (MAX_LINE + 1),
        b"4%b\ncall" % (b" 1 x -" * (MAX_RECIPIENTS + 1)),
        b"%d 1 x - 2 x -\n%b" % (MAX_SHARED_BODY + 1, b"x" * (MAX_SHARED_BODY + 1)),
    ],
)
async def test_what_is_no_call_ends_the_link_and_nothing_is_carried_out(process: Process, frame: bytes) -> None:
    async with linked(process) as link:
        await link.send(frame.replace(b" x ", b" %b " % process.endpoints[0].encode()))
        async with asyncio.timeout(LIMIT):
            await link.closed()
    assert process.agents[0].calls == []
    await until(lambda: process.servers[0]._server_limits.unfinished_bytes == 0)


async def test_a_call_to_nobody_here_is_answered_as_misdirected(process: Process) -> None:
    async with linked(process) as link:
        await link.send(b"4 1 http://localhost:1/mcp -\ncall")
        async with asyncio.timeout(LIMIT):
            assert await link._reader.readline() == b"0 421 1\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [(("Origin: http://evil.example",), 403), (("Host: evil.example",), 421)],
)
async def test_a_request_for_a_link_passes_the_checks_of_any_request(
    process: Process, headers: tuple[str, ...], status: int
) -> None:
    ask = ASK if not headers[0].startswith("Host") else ASK.replace(b"Host: localhost", headers[0].encode())
    if ask is ASK:
        ask = request(b"", "Connection: Upgrade", f"Upgrade: {LINK_PROTOCOL}", *headers, method="GET", path=LINK_PATH)
    async with connected(process.port) as link:
        await link.send(ask)
        assert (await link.response()).status == status


async def test_without_links_the_request_for_one_is_answered_as_any_other_path() -> None:
    server = HttpServer(AgentApp(Agent().answer, dict), "127.0.0.1", 0, "a test")
    await server.start()
    assert (await fetch(server.port, ASK)).status == 404
    await server.stop()


async def test_an_unfinished_frame_an_unread_answer_and_an_idle_link_end() -> None:
    limits = ConnectionLimits(request_timeout=0.2, keep_alive_timeout=0.4)
    async with serving(1, limits) as process:
        async with linked(process) as link:
            await link.send(b"100 1 ")
            async with asyncio.timeout(LIMIT):
                await link.closed()
        async with linked(process) as link:
            async with asyncio.timeout(LIMIT):
                await link.closed()
        assert process.count_links() == 0


async def test_while_answers_are_not_read_no_calls_are(process: Process) -> None:
    body = b"x" * MAX_SHARED_BODY
    frame = b"%d 1 %b -\n%b" % (len(body), process.endpoints[0].encode(), body)
    async with linked(process) as link:
        (taken,) = [each for each in process.servers[0]._server_limits.connections if isinstance(each, LinkedProcess)]
        link.pause()

        def is_paused() -> bool:
            if taken._is_reading and link._writer.transport.get_write_buffer_size() < MAX_BODY:
                link._writer.write(frame)
            return not taken._is_reading

        await until(is_paused)
        assert taken.unread_bytes < 2 * MAX_CALLS * MAX_SHARED_BODY


async def test_a_server_that_stops_answers_the_calls_under_way(carrier: HttpCarrier) -> None:
    async with serving(2) as process:
        await process.open_link(carrier)
        call = asyncio.create_task(carrier.exchange(process.endpoints[1], b"hang", LIMIT))
        await process.agents[1].hanging.wait()
        stopping = asyncio.create_task(process.servers[0].stop())
        process.agents[1].go_on.set()
        assert await call == (200, b"hang")
        await stopping


def test_a_line_without_an_end_is_no_frame() -> None:
    reader = FrameReader()
    assert reader.feed(b"x" * (MAX_LINE - 1)) == []
    with pytest.raises(BrokenFrame, match="a line of at most"):
        reader.feed(b"xx")
