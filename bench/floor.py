"""The raw floor: httptools over asyncio's protocols, and no framework. Nothing in Python that speaks HTTP is cheaper.

It reads what it needs to find the end of a message, and trusts its peer in everything else.
"""

import asyncio
from collections import defaultdict

import httptools

from bench.drill import answer_to

HOST = "127.0.0.1"
JSON = b"content-type: application/json\r\n"


class Floor:
    """A client and servers on bare sockets. Make it inside a running event loop."""

    def __init__(self) -> None:
        self._idle: dict[int, list[_Client]] = defaultdict(list)
        self._servers: list[asyncio.Server] = []

    async def serve(self, port: int) -> None:
        self._servers.append(await asyncio.get_running_loop().create_server(_Server, HOST, port))

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        idle = self._idle[port]
        client = idle.pop() if idle else await _connected(port)
        proof = f"authorization: Bearer {bearer}\r\n" if bearer else ""
        head = f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\n{proof}content-length: {len(body)}\r\n"
        answer = await client.ask(head.encode() + JSON + b"\r\n" + body)
        idle.append(client)
        return answer

    async def close(self) -> None:
        for server in self._servers:
            server.close()


class _Messages(asyncio.Protocol):
    """The bodies of the messages that come in over one connection."""

    parser: httptools.HttpRequestParser | httptools.HttpResponseParser
    transport: asyncio.WriteTransport

    def __init__(self) -> None:
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment] # uvloop's transports share no class with asyncio's

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def taken(self) -> bytes:
        body = b"".join(self._body)
        self._body.clear()
        return body


class _Server(_Messages):
    def __init__(self) -> None:
        super().__init__()
        self.parser = httptools.HttpRequestParser(self)

    def on_message_complete(self) -> None:
        answer = answer_to(self.taken())
        self.transport.write(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (JSON, len(answer), answer))


class _Client(_Messages):
    def __init__(self) -> None:
        super().__init__()
        self.parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def ask(self, request: bytes) -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answer

    def on_message_complete(self) -> None:
        self._answer.set_result(self.taken())

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the server closed the connection"))


async def _connected(port: int) -> _Client:
    _, client = await asyncio.get_running_loop().create_connection(_Client, HOST, port)
    return client
