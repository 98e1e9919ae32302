"""Attacks on the MCP side of a real agent: after each of them, and while it lasts, bare calls are answered."""

import asyncio
import io
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from agent_league.http.carrier import MAX_BODY
from agent_league.mcp.server.open_sessions import MAX_SESSIONS_PER_NETWORK
from agent_league.model.agents import Role
from tests.conftest import BOUND, PlanMaker
from tests.mcp.league import league

NEW, OLD = "2026-07-28", "2025-11-25"
FLOOD = 500
JSON = {"content-type": "application/json"}
BOTH = {**JSON, "accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "mallory", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE = {
    "protocolVersion": OLD,
    "capabilities": {},
    "clientInfo": {"name": "mallory", "version": "1"},
}


def frame(method: str, request_id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()


def tool_call(arguments: str) -> bytes:
    """A call of `get_match_state` with these arguments, as they are to stand in the body."""
    whole = frame("tools/call", name="get_match_state", arguments="HERE", _meta=META)
    return whole.replace(b'"HERE"', arguments.encode())


CALL = tool_call('{"match_id": "R1M1"}')
CALLED = {**BOTH, "mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "get_match_state"}


@dataclass(frozen=True)
class Target:
    """A referee, and the attacker's connections to it."""

    url: str
    session: aiohttp.ClientSession

    async def send(self, method: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, bytes]:
        data = None if body is None else io.BytesIO(body)
        async with self.session.request(method, self.url, headers=headers, data=data) as response:
            return response.status, await response.read()

    async def answers_bare(self) -> None:
        status, body = await self.send("POST", JSON, frame("get_match_state", match_id="R1M1"))
        assert (status, json.loads(body)["result"]["error_code"]) == (200, "E007")

    async def answers_mcp(self) -> None:
        status, body = await self.send("POST", CALLED, CALL)
        assert (status, json.loads(body)["result"]["isError"]) == (200, True)

    async def handshake(self) -> tuple[int, str | None]:
        """The status, and the id of the session that was opened."""
        body = frame("initialize", **HANDSHAKE)
        async with self.session.post(self.url, headers=BOTH, data=body) as response:
            await response.read()
            return response.status, response.headers.get("mcp-session-id")


@asynccontextmanager
async def attacked(plan: PlanMaker) -> AsyncIterator[Target]:
    connector = aiohttp.TCPConnector(limit=0)
    async with asyncio.timeout(BOUND), league(plan) as there, aiohttp.ClientSession(connector=connector) as session:
        yield Target(there.urls[Role.REFEREE], session)


STREAM = {"accept": "text/event-stream"}
EVIL_PAGE, EVIL_NAME = {"origin": "http://evil.example"}, {"host": "evil.example"}
STRANGER = {"mcp-session-id": "somebody-else's"}
IMPROPER: dict[str, tuple[int, str, dict[str, str], bytes | None]] = {
    "half a request": (400, "POST", CALLED, b'{"jsonrpc": "2.0", "method":'),
    "nothing": (400, "POST", CALLED, b""),
    "no UTF-8": (400, "POST", CALLED, b"\xff\xfe"),
    "a batch": (400, "POST", CALLED, b"[" + CALL + b"]"),
    "a batch as before": (400, "POST", {**BOTH, "mcp-protocol-version": OLD}, b"[" + CALL + b"]"),
    "a deep one": (400, "POST", CALLED, tool_call("[" * 100_000 + "]" * 100_000)),
    "arguments in a list": (400, "POST", CALLED, tool_call("[1]")),
    "over the limit": (413, "POST", CALLED, b" " * (MAX_BODY + 1)),
    "far over the limit": (413, "POST", CALLED, b" " * 30 * MAX_BODY),
    "plain text": (415, "POST", {**CALLED, "content-type": "text/plain"}, CALL),
    "another method in the header": (400, "POST", {**CALLED, "mcp-method": "tools/list"}, CALL),
    "a revision that isn't": (400, "POST", {**BOTH, "mcp-protocol-version": "1999-01-01"}, CALL),
    "a session that isn't": (404, "POST", {**BOTH, **STRANGER}, CALL),
    "a strange page": (403, "POST", {**CALLED, **EVIL_PAGE}, CALL),
    "a strange page's stream": (403, "GET", {**STREAM, **STRANGER, **EVIL_PAGE}, None),
    "a strange name": (421, "POST", {**CALLED, **EVIL_NAME}, CALL),
    "a strange name's end": (421, "DELETE", {**STRANGER, **EVIL_NAME}, None),
    "a stream of nothing": (405, "GET", STREAM, None),
    "a stream without a session": (400, "GET", {**STREAM, "mcp-protocol-version": OLD}, None),
    "a stream that there is no more": (405, "GET", {**STREAM, "mcp-protocol-version": NEW}, None),
    "the end of nothing": (405, "DELETE", {}, None),
    "the end of no session": (400, "DELETE", {"mcp-protocol-version": OLD}, None),
    "the end of a session that isn't": (404, "DELETE", STRANGER, None),
}
ODD_VALUES = {
    "half a character": '"\\ud800"',
    "no number": "NaN",
    "infinite": "1e999",
    "a long number": "9" * 5000,
    "a deep list": "[" * 900 + "]" * 900,
    "orders to a terminal": '"\\u0000\\u001b[31m"',
    "a long text": '"' + "x" * 900_000 + '"',
}


async def test_what_is_no_proper_request_is_refused(plan: PlanMaker) -> None:
    async with attacked(plan) as target:
        for what, (status, method, headers, body) in IMPROPER.items():
            assert (what, (await target.send(method, headers, body))[0]) == (what, status)
            await target.answers_bare()
        await target.answers_mcp()


async def test_odd_arguments_are_refused_in_a_sentence(plan: PlanMaker) -> None:
    async with attacked(plan) as target:
        for what, value in ODD_VALUES.items():
            status, body = await target.send("POST", CALLED, tool_call(f'{{"match_id": {value}}}'))
            answer = json.loads(body, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
            assert status in {200, 400}, what
            assert "error" not in answer or answer["error"]["code"] in {-32700, -32602}, (what, answer)
            assert len(body) < 5000, what
            await target.answers_bare()


async def test_blanks_around_headers_change_nothing(plan: PlanMaker) -> None:
    async with attacked(plan) as target:
        _, _, port = target.url.removesuffix("/mcp").rpartition(":")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        lines = [f"{name}: \t {value} \t" for name, value in CALLED.items() if name != "content-type"]
        head = ["POST /mcp HTTP/1.1", "host: localhost", "connection: close", f"content-length: {len(CALL)}", *lines]
        writer.write("\r\n".join([*head, "content-type: application/json", "", ""]).encode() + CALL)
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200 "), answer


async def test_a_flood_of_sessions_and_streams_has_its_bounds_and_bare_calls_go_on(plan: PlanMaker) -> None:
    async with attacked(plan) as target, AsyncExitStack() as streams:
        opened = [await target.handshake() for _ in range(FLOOD)]
        assert {status for status, _ in opened} == {200}
        await target.answers_bare()
        await target.answers_mcp()
        statuses: Counter[int] = Counter()
        for _, session_id in opened:
            headers = {"mcp-session-id": session_id or "", "accept": "text/event-stream", "mcp-protocol-version": OLD}
            stream = await streams.enter_async_context(target.session.get(target.url, headers=headers))
            statuses[stream.status] += 1
        assert statuses == {200: MAX_SESSIONS_PER_NETWORK, 404: FLOOD - MAX_SESSIONS_PER_NETWORK}
        assert (await target.handshake())[0] == 503  # every session is in use
        for _ in range(20):
            await target.answers_bare()


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux has loopback more than one address")
async def test_sessions_of_one_address_lock_nobody_else_out_and_end_nobody_else_s(plan: PlanMaker) -> None:
    connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with attacked(plan) as target, aiohttp.ClientSession(connector=connector) as session:
        other = replace(target, session=session, url=target.url.replace("localhost", "127.0.0.1"))
        status, session_id = await other.handshake()
        assert status == 200
        assert {(await target.handshake())[0] for _ in range(FLOOD)} == {200}
        kept = {**BOTH, "mcp-session-id": session_id or "", "mcp-protocol-version": OLD}
        assert (await other.send("POST", kept, frame("tools/list")))[0] == 200
        assert (await other.handshake())[0] == 200
