"""Players that are MCP servers of an older revision: called in a session, opened once and again if forgotten."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_league.agent.mcp_sessions import McpSessions
from agent_league.http.client import HttpCarrier
from agent_league.protocol.tolerance import MCP_HEADERS, MCP_META
from tests.conftest import BOUND
from tests.http.wire import raw_server
from tests.mcp.client.house import House

HEADERS = {**MCP_HEADERS, "Mcp-Name": "look"}


def look(word: str, number: int = 7) -> bytes:
    """A call of the tool `look`, as the newest revision has it."""
    params = {"name": "look", "arguments": {"word": word}, "_meta": dict(MCP_META)}
    return json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": number}).encode()


@asynccontextmanager
async def sessions_with(house: House) -> AsyncIterator[McpSessions]:
    carrier = HttpCarrier()
    await house.start()
    try:
        async with asyncio.timeout(BOUND):
            yield McpSessions(carrier)
    finally:
        await house.kill()
        await carrier.close()


@pytest.mark.parametrize("old", [False, True])
async def test_a_tool_is_called_in_the_revision_that_the_server_speaks(old: bool) -> None:
    house = House(old=old)
    async with sessions_with(house) as sessions:
        for word in ("one", "two"):
            status, body = await sessions.exchange(house.url, look(word), BOUND, None, HEADERS)
            assert (status, f"look: {word}".encode() in body) == (200, True)
    assert house.calls["look"] == 2
    assert house.heard["tools/call"] == (1 if old else 2), "in a session there is no such header, and it is tried once"


async def test_calls_at_once_open_one_session() -> None:
    house = House(old=True)
    async with sessions_with(house) as sessions:
        calls = [sessions.exchange(house.url, look("x", number), BOUND, None, HEADERS) for number in range(5)]
        assert {status for status, _ in await asyncio.gather(*calls)} == {200}
    assert house.heard[""] == 2 + 5, "two requests for the handshake"


async def test_a_session_that_a_restarted_server_has_forgotten_is_opened_again() -> None:
    house = House(old=True)
    async with sessions_with(house) as sessions:
        assert (await sessions.exchange(house.url, look("one"), BOUND, None, HEADERS))[0] == 200
        await house.kill()
        await house.start()
        assert (await sessions.exchange(house.url, look("two"), BOUND, None, HEADERS))[0] == 200
    assert house.calls["look"] == 2


async def test_a_refused_call_does_not_change_the_revision_of_a_server_without_sessions() -> None:
    house = House()
    async with sessions_with(house) as sessions:
        assert (await sessions.exchange(house.url, look("one"), BOUND, None, HEADERS))[0] == 200
        assert (await sessions.exchange(house.url, b"[1]", BOUND, None, HEADERS))[0] == 400
        assert sessions.find_revision(house.url) is None
        assert (await sessions.exchange(house.url, look("two"), BOUND, None, HEADERS))[0] == 200
    assert house.heard["tools/call"] == 3, "all of them in the newest revision's own form"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 No\r\ncontent-length: 2\r\n\r\nno",
        b'HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n{"result":{"protocolVersion":5}',
        b"HTTP/1.1 400 No\r\nmcp-session-id: x\r\ncontent-length: 2\r\n\r\n{}",
    ],
)
async def test_a_server_that_opens_no_session_is_asked_for_one_once_in_a_while(answer: bytes) -> None:
    heard: list[Any] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
            size = int(head.partition("content-length: ")[2].split()[0])
            method = json.loads(await reader.readexactly(size)).get("method")
            heard.append(method)
            writer.write(answer if method == "initialize" else b"HTTP/1.1 400 No\r\ncontent-length: 2\r\n\r\n{}")

    async with asyncio.timeout(BOUND), raw_server(refuse) as url:
        carrier = HttpCarrier()
        sessions = McpSessions(carrier)
        for _ in range(3):
            assert await sessions.exchange(url, look("x"), BOUND, None, HEADERS) == (400, b"{}")
        await carrier.close()
    assert heard.count("initialize") == 1
    assert heard.count("tools/call") == 3
