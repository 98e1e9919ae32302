"""WebSockets of a server: they count as connections, and none of them may fill its memory."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.frames import OP_CONT, OP_PING, OP_TEXT, Frame

from agent_league.agent.app import AgentApp
from agent_league.http import websocket
from agent_league.http.limits import ConnectionLimits
from agent_league.http.server import HttpServer
from tests.conftest import BOUND

UPGRADE = (
    b"GET /dial HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


async def repeat_messages(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 426, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": event["text"]})


async def no_answer(body: bytes, bearer: str | None) -> None:
    """Answer no call."""


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    app = AgentApp(no_answer, dict, path_apps={"dial": repeat_messages})
    server = HttpServer(app, "127.0.0.1", 0, "a test", limits=ConnectionLimits(max_connections=4))
    async with asyncio.timeout(BOUND):
        await server.start()
        yield server
        await server.stop()


async def test_sockets_take_at_most_half_of_the_connections(server: HttpServer) -> None:
    url = f"ws://localhost:{server.port}/dial"
    async with connect(url, proxy=None) as first, connect(url, proxy=None) as second:
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, proxy=None)
        assert refused.value.response.status_code == 426
        for socket in (first, second):
            await socket.send("still here")
            assert await socket.recv() == "still here"


async def test_one_that_pings_and_reads_nothing_is_cut_off(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MAX_UNREAD_PONGS", 1000)
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
    writer.write(UPGRADE)
    await writer.drain()
    with pytest.raises(ConnectionError):
        await write_for_ever(writer, Frame(OP_PING, b"x" * 125).serialize(mask=True) * 1000)
    writer.close()


async def write_for_ever(writer: asyncio.StreamWriter, data: bytes) -> None:
    while True:
        writer.write(data)
        await writer.drain()


async def test_empty_fragments_are_not_collected(server: HttpServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(Frame(OP_TEXT, b"a", fin=False).serialize(mask=True))
    writer.write(Frame(OP_CONT, b"", fin=False).serialize(mask=True) * 1000)
    writer.write(Frame(OP_PING, b"").serialize(mask=True))
    await reader.readexactly(2)
    sockets = [one for one in server._server_limits.connections if isinstance(one, websocket.LimitedWebSocket)]
    assert [len(one.frames) for one in sockets] == [1]
    writer.write(Frame(OP_CONT, b"b").serialize(mask=True))
    assert await reader.readexactly(4) == b"\x81\x02ab"
    writer.close()
