"""The HTTP server of one agent: `POST /mcp` as a plain ASGI endpoint, `GET /health`, on uvicorn.

Several can live in one process and one event loop, each on its own port.
"""

import asyncio
import errno
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.errors import PortInUse
from agent_league.transport.carrier import Answer
from agent_league.transport.jsonrpc import MAX_BODY

JSON_TYPE = (b"content-type", b"application/json")
TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")
KEEP_ALIVE_SECONDS = 75
MAX_DROPPED = 64 * MAX_BODY
DROP_SECONDS = 5


class BodyTooLarge(Exception):
    """The body exceeds the limit; more of it may be on its way."""

    def __init__(self, *, more: bool) -> None:
        super().__init__()
        self.more = more


class McpEndpoint:
    """`/mcp`: a frame in, a frame out."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _reply(send, 405, b"use POST with a JSON-RPC 2.0 body", TEXT_TYPE, (b"allow", b"POST"))
            return
        try:
            body = await _read_body(scope, receive)
        except BodyTooLarge as error:
            await _refuse_body(receive if error.more else None, send)
            return
        if body is None:
            return
        answer = await self._answer(body)
        if answer is None:
            await _reply(send, 202, b"")
        else:
            await _reply(send, 200, answer, JSON_TYPE)


def make_app(answer: Answer, health: Callable[[], Mapping[str, Any]]) -> ASGIApp:
    """The routes of an agent: `/mcp` straight to its endpoint, everything else through Starlette."""

    async def show_health(_: Request) -> Response:
        return Response(orjson.dumps(health()), media_type="application/json")

    endpoint = McpEndpoint(answer)
    pages = Starlette(routes=[Route("/health", show_health)])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        chosen: ASGIApp = endpoint if scope["type"] == "http" and scope["path"] == "/mcp" else pages
        await chosen(scope, receive, send)

    return app


class HttpServer:
    """One agent's server: binds at once, serves between `start` and `stop`."""

    def __init__(self, app: ASGIApp, host: str, port: int, wanted_by: str, hint: str = "") -> None:
        self.socket = bind(host, port, wanted_by, hint)
        self.port: int = self.socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def start(self) -> None:
        await self._server.startup(sockets=[self.socket])

    async def stop(self) -> None:
        if self._server.started:
            await self._server.shutdown(sockets=[self.socket])
        self.socket.close()


def bind(host: str, port: int, wanted_by: str, hint: str = "") -> socket.socket:
    """A bound socket, or PortInUse with a sentence."""
    address = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Named as TCP, because asyncio turns Nagle's algorithm off only on sockets that say so: 40 ms a call otherwise.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise PortInUse(host, port, wanted_by, hint) from None
        raise
    return bound


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body, or None where the client went away."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > MAX_BODY:
            raise BodyTooLarge(more=True)
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        body += event.get("body", b"")
        more: bool = event.get("more_body", False)
        if len(body) > MAX_BODY:
            raise BodyTooLarge(more=more)
        if not more:
            return bytes(body)


async def _refuse_body(receive: Receive | None, send: Send) -> None:
    """Answers 413, then drops what is still coming: a client that is cut off while it writes loses the answer."""
    sentence = b"the body is over 1 MiB"
    headers = [(b"content-length", str(len(sentence)).encode()), TEXT_TYPE, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": sentence, "more_body": True})
    if receive:
        with suppress(TimeoutError):
            async with asyncio.timeout(DROP_SECONDS):
                await _drop_body(receive)
    await send({"type": "http.response.body", "body": b""})


async def _drop_body(receive: Receive) -> None:
    dropped, more = 0, True
    while more and dropped < MAX_DROPPED:
        event = await receive()
        dropped += len(event.get("body", b""))
        more = event.get("more_body", False)


async def _reply(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
