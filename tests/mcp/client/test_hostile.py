"""Servers that want to wear us down: answers without end, packed ones, schemas that take for ever to check."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from agent_league.config import McpServer
from agent_league.mcp.client.sessions import MAX_ANSWER_BYTES, SessionManager, SessionState
from tests.conftest import BOUND, free_ports
from tests.mcp.client.house import Naps, open_registry

TRAP = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
TOOL = {"name": "trap", "inputSchema": {"type": "object"}, "outputSchema": TRAP}
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
ANSWER = {"content": [{"type": "text", "text": "done"}], "structuredContent": {"a": "a" * 20 + "!"}}


class Villain:
    """Speaks the older revision by hand; `listing` is how it answers when asked for its tools."""

    def __init__(self, listing: str) -> None:
        self.listing = listing
        self.sent = 0
        self.accepted: list[str | None] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.accepted.append(request.headers.get("Accept-Encoding"))
        if "id" not in body:
            return web.Response(status=202)
        results: dict[str, Any] = {"initialize": HANDSHAKE, "tools/call": ANSWER, "tools/list": {"tools": [TOOL]}}
        method = body["method"]
        if method not in results:
            error = {"code": -32601, "message": "no"}
            return web.json_response({"jsonrpc": "2.0", "id": body["id"], "error": error})
        answer = {"jsonrpc": "2.0", "id": body["id"], "result": results[method]}
        if method == "tools/list" and self.listing == "endless":
            return await self._endless(request)
        if method == "tools/list" and self.listing == "packed":
            packed = gzip.compress(json.dumps(answer).encode())
            return web.Response(body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"})
        return web.json_response(answer)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)
            self.sent += 65536


@asynccontextmanager
async def villain(listing: str = "plain") -> AsyncIterator[tuple[Villain, SessionManager, Naps]]:
    server, port, naps = Villain(listing), free_ports(1), Naps(free=False)
    app = web.Application()
    app.router.add_post("/mcp", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    session = SessionManager("villain", McpServer(url=f"http://127.0.0.1:{port}/mcp"), sleep=naps)
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        async with asyncio.timeout(BOUND):
            yield server, session, naps
    finally:
        await session.close()
        await runner.cleanup()


async def test_an_answer_is_taken_without_running_the_patterns_of_the_servers_own_schema() -> None:
    """Each letter more doubles the time that this one takes, and holds up the whole player."""
    async with villain() as (_, session, _), open_registry([session]) as registry:
        (tool,) = registry.list_tools()
        assert await registry.call_tool(tool, {}, limit=BOUND) == "done"


@pytest.mark.parametrize(("listing", "problem"), [("endless", "longer than"), ("packed", "is packed")])
async def test_an_answer_without_end_or_a_packed_one_ends_the_session(listing: str, problem: str) -> None:
    async with villain(listing) as (server, session, naps):
        session.start()
        await naps.rested()
        assert session.state is SessionState.LOST
        assert problem in session.problem
        assert server.sent < MAX_ANSWER_BYTES + 16 * 2**20  # what lies in the buffers of a connection is not read
        assert set(server.accepted) == {"identity"}
