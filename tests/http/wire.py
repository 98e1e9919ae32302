"""HTTP by hand: raw requests to a server of ours, and servers that answer our client with raw bytes."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.conftest import BOUND

LIMIT = BOUND
"""Seconds that a test waits at most for anything."""


@dataclass(frozen=True)
class Response:
    """What came back over a socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One connection to a server, held open as long as one likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        async with asyncio.timeout(LIMIT):
            await self._writer.drain()

    def pause(self) -> None:
        """Takes nothing more of what comes."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    async def response(self) -> Response:
        """Reads one response by its Content-Length."""
        async with asyncio.timeout(LIMIT):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Response(int(head[0].split()[1]), headers, body)

    async def status(self) -> int:
        """Reads no more than the status of a response."""
        async with asyncio.timeout(LIMIT):
            return int((await self._reader.readline()).split()[1])

    async def closed(self) -> None:
        """Waits, for as long as it takes, until the server has closed the connection."""
        with suppress(ConnectionError):
            while await self._reader.read(65536):
                pass

    async def ended(self) -> bool:
        """Waits for the end of what the server has to say; True where there was nothing left."""
        async with asyncio.timeout(LIMIT):
            return await self._reader.read() == b""


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that nobody tells of."""
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110 - a server of ours has no event for it
            await asyncio.sleep(0.01)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Connection(reader, writer)
    finally:
        writer.transport.abort()  # what wasn't taken would be waited for
        with suppress(ConnectionError):  # the server may be quicker
            await writer.wait_closed()


def request(body: bytes = b"", *headers: str, method: str = "POST", path: str = "/mcp") -> bytes:
    """A request with a Content-Length, unless the headers say otherwise."""
    own = "\r\n".join(headers).lower()
    length = [] if "content-length" in own or "transfer-encoding" in own else [f"Content-Length: {len(body)}"]
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *length, *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*chunks: bytes) -> bytes:
    """A body in chunks, with its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


async def fetch(port: int, data: bytes) -> Response:
    """One request over a connection of its own."""
    async with connected(port) as connection:
        await connection.send(data)
        return await connection.response()


Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What a raw server does with a connection."""


@asynccontextmanager
async def raw_server(peer: Peer, port: int = 0, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that does with each connection whatever `peer` says; the endpoint to call."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await peer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=context)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        await let_connections_begin()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        for writer in writers:
            writer.transport.abort()  # what nobody reads would be waited for
        await asyncio.sleep(0)


async def let_connections_begin() -> None:
    """Waits for the ticks that a connection, accepted before its server was closed, takes to be somebody's."""
    for _ in range(3):
        await asyncio.sleep(0)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Head and body of one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    return head + await reader.readexactly(length)


def response(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A response with a Content-Length, unless the headers say otherwise."""
    own = "\r\n".join(headers).lower()
    length = [] if "content-length" in own or "transfer-encoding" in own else [f"Content-Length: {len(body)}"]
    return "\r\n".join([f"HTTP/1.1 {status}", *length, *headers, "", ""]).encode() + body
