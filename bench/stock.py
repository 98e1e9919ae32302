"""The same calls with libraries as they come: aiohttp's client, and uvicorn with a bare ASGI application.

What an agent would pay that brings no transport of its own; a measure to put the limit and the league beside.
"""

import aiohttp
import uvicorn
from starlette.types import Receive, Scope, Send

from bench.drill import answer_to

HOST = "127.0.0.1"
JSON = {"Content-Type": "application/json"}


class Stock:
    """A client and servers. Make it inside a running event loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        self._servers: list[uvicorn.Server] = []

    async def serve(self, port: int) -> None:
        config = uvicorn.Config(_app, HOST, port, lifespan="off", log_level="critical")
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        self._servers.append(server)
        await server.startup()

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        headers = {**JSON, "Authorization": f"Bearer {bearer}"} if bearer else JSON
        async with self._session.post(f"http://localhost:{port}/mcp", data=body, headers=headers) as response:
            return await response.read()

    async def close(self) -> None:
        await self._session.close()
        for server in self._servers:
            await server.shutdown()


async def _app(_: Scope, receive: Receive, send: Send) -> None:
    body, more = b"", True
    while more:
        piece = await receive()
        body, more = body + piece.get("body", b""), piece.get("more_body", False)
    answer = answer_to(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
