"""The door to the SDK: what is MCP, when the SDK is loaded, and what becomes of a bare call meanwhile."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import mcp_types as types
import orjson
import pytest
from mcp import Client
from mcp.server import Server

from agent_league.agent import jsonrpc
from agent_league.agent.app import AgentApp
from agent_league.errors import JsonRpcError, JsonRpcErrorCode
from agent_league.http.limits import ConnectionLimits
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.mcp.server.lazy_server import MCP_SHARE, LazyMcpServer, is_mcp_request
from tests.conftest import BOUND
from tests.http.wire import fetch, request

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
CONNECTIONS = 80
TAKES_BOTH = {"accept": "application/json, text/event-stream"}


async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="knock", input_schema={"type": "object"})])


class Made:
    """A factory that counts."""

    def __init__(self) -> None:
        self.servers = 0
        self.broken = False

    def __call__(self) -> "Server[Any]":
        if self.broken:
            raise ImportError("no such SDK")
        self.servers += 1
        return Server("a test", on_list_tools=list_tools)


async def answer(body: bytes, _: str | None) -> bytes | None:
    """An agent with one method, which takes tool calls as well."""
    frame = json.loads(body)
    if frame["method"] in ("get_standings", "tools/call"):
        return b'{"bare": true}'
    error = JsonRpcError(JsonRpcErrorCode.METHOD_NOT_FOUND, "no such method")
    return orjson.dumps(jsonrpc.build_error_frame(error, frame["id"])) if "id" in frame else None


class Place:
    """A server with a door."""

    def __init__(self, home: Path) -> None:
        self.made = Made()
        self.log = JsonLogger("tester", log_root=home)
        limits = ConnectionLimits(max_connections=CONNECTIONS)
        app = AgentApp(answer, dict, mcp=LazyMcpServer(self.made, self.log, limits))
        self.server = HttpServer(app, "127.0.0.1", 0, "a test", limits=limits)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"

    async def post(self, content: Any, **headers: str) -> tuple[int, str]:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url, data=body, headers={"content-type": "application/json", **headers}) as response,
        ):
            return response.status, await response.text()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as ending:
        place = Place(tmp_path)
        ending.callback(place.log.close)
        await place.server.start()
        ending.push_async_callback(place.server.stop)
        yield place


def frame(method: Any, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


async def test_a_client_that_reads_no_streams_is_answered_in_plain_json_from_the_handshake_on(place: Place) -> None:
    plain = {"accept": "application/json"}
    status, said = await place.post(INITIALIZE, **plain)
    assert (status, json.loads(said)["result"]["protocolVersion"]) == (200, "2025-11-25")
    spoken = {**plain, "mcp-protocol-version": "2025-11-25"}
    status, _ = await place.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **spoken)
    assert status == 202
    status, said = await place.post(frame("tools/list"), **spoken)
    assert (status, json.loads(said)["result"]["tools"][0]["name"]) == (200, "knock")


async def test_a_handshake_that_names_nothing_that_it_accepts_is_answered_in_plain_json(place: Place) -> None:
    body = json.dumps(INITIALIZE).encode()
    response = await fetch(place.server.port, request(body, "Content-Type: application/json"))
    assert (response.status, json.loads(response.body)["result"]["protocolVersion"]) == (200, "2025-11-25")
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("accepted", ["application/json, text/event-stream", "*/*"])
async def test_who_began_in_plain_json_needs_no_session_whatever_it_accepts_later(place: Place, accepted: str) -> None:
    status, said = await place.post(INITIALIZE, accept="application/json")
    assert (status, "result" in json.loads(said)) == (200, True)
    spoken = {"accept": accepted, "mcp-protocol-version": "2025-11-25"}
    status, said = await place.post(frame("tools/list"), **spoken)
    assert (status, json.loads(said)["result"]["tools"][0]["name"]) == (200, "knock")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (frame("initialize"), True),
        (frame("ping"), True),
        (frame("tools/list"), True),
        (frame("resources/read", uri="league://standings"), True),
        (frame("notifications/initialized"), True),
        (b'{"jsonrpc":"2.0","id":1,"method" : "tools\\/list"}', True),
        (frame("tools/call", name="get_standings"), False),
        (frame("get_standings"), False),
        (frame("choose_parity", context={"method": "tools/list"}), False),
        (frame("register_player", player_meta={"contact_endpoint": "http://localhost:8101/mcp"}), False),
        (frame(["tools/list"]), False),
        (b"[" + frame("tools/list") + b"]", False),
        (b'{"method": "tools/list"', False),
        (b"", False),
        (b"\xff\xfe", False),
    ],
)
def test_a_body_without_headers_is_mcp_by_its_method(body: bytes, expected: bool) -> None:
    assert is_mcp_request(body) is expected


async def test_who_takes_no_bare_calls_may_have_tool_calls_go_to_the_sdk(tmp_path: Path) -> None:
    assert is_mcp_request(frame("tools/call", name="knock"), tool_calls=True)
    assert is_mcp_request(frame("tools/call", name="get_match", arguments={"match_id": "R1M1"}), tool_calls=True)
    told = {"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST"}
    assert not is_mcp_request(frame("tools/call", name="register_player", arguments=told), tool_calls=True)
    assert LazyMcpServer(Made(), JsonLogger("tester", log_root=tmp_path), tool_calls=True).is_mcp_body(
        frame("tools/call")
    )
    assert not LazyMcpServer(Made(), JsonLogger("tester", log_root=tmp_path)).is_mcp_body(frame("tools/call"))


async def test_a_notification_is_heard_once_also_where_tool_calls_go_to_the_sdk(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def hear(body: bytes, _: str | None) -> bytes | None:
        heard.append(body)
        return b"{}" if b'"id"' in body else None

    log = JsonLogger("tester", log_root=tmp_path)
    server = HttpServer(AgentApp(hear, dict, mcp=LazyMcpServer(Made(), log, tool_calls=True)), "127.0.0.1", 0, "a test")
    await server.start()
    try:
        assert (await fetch(server.port, request(frame("get_standings")))).status == 200
        told = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "move"}}).encode()
        assert (await fetch(server.port, request(told))).status == 202
    finally:
        await server.stop()
        log.close()
    assert heard.count(told) == 1


async def test_bare_calls_never_load_the_sdk(place: Place) -> None:
    assert await place.post(frame("get_standings")) == (200, '{"bare": true}')
    assert await place.post(frame("tools/call", name="get_standings")) == (200, '{"bare": true}')
    assert place.made.servers == 0


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_a_client_of_either_revision_and_bare_callers_share_the_path(place: Place, mode: str) -> None:
    async with Client(place.url, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["knock"]
        assert await place.post(frame("get_standings")) == (200, '{"bare": true}')
        assert [tool.name for tool in (await client.list_tools()).tools] == ["knock"]
    assert place.made.servers == 1


async def test_a_request_without_a_handshake_is_answered_whatever_its_sender_accepts(place: Place) -> None:
    status, text = await place.post(frame("tools/list"), accept="*/*")
    assert (status, json.loads(text)["result"]["tools"][0]["name"]) == (200, "knock")


async def test_requests_that_come_together_load_the_sdk_once(place: Place) -> None:
    answers = await asyncio.gather(*(place.post(frame("tools/list")) for _ in range(5)))
    assert [status for status, _ in answers] == [200] * 5
    assert place.made.servers == 1


async def test_an_sdk_that_can_t_be_loaded_is_told_and_tried_again(place: Place) -> None:
    place.made.broken = True
    status, text = await place.post(frame("tools/list"))
    assert (status, text) == (500, "the MCP side could not be loaded; this agent's log says why")
    assert "no such SDK" in place.log.log_file.read_text()
    assert (await place.post(frame("get_standings")))[0] == 200
    place.made.broken = False
    assert (await place.post(frame("tools/list")))[0] == 200


async def opened(place: Place, session: aiohttp.ClientSession) -> aiohttp.ClientResponse:
    """An open stream of a session, which never ends by itself."""
    async with session.post(place.url, json=INITIALIZE, headers=TAKES_BOTH) as response:
        await response.read()
        headers = {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    while True:  # the handshake may still be ending
        stream = await session.get(place.url, headers={**headers, "accept": "text/event-stream"})
        if stream.status == 200:
            return stream


async def test_streams_take_only_their_share_of_the_connections_and_one_address_half_of_it(place: Place) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(BOUND):
        streams = [await opened(place, session) for _ in range(CONNECTIONS // MCP_SHARE // 2)]
        status, text = await place.post(frame("tools/list"))
        assert (status, "come again" in text) == (503, True)
        assert (await place.post(frame("get_standings")))[0] == 200
        streams.pop().close()
        while status != 200:  # until the server has seen it
            status, _ = await place.post(frame("tools/list"))
        for stream in streams:
            stream.close()


async def test_a_server_that_stops_ends_the_streams_that_are_open(place: Place) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(BOUND):
        stream = await opened(place, session)
        await place.server.stop()
        await stream.read()


async def test_a_get_without_a_session_says_what_to_do_and_loads_nothing(place: Place) -> None:
    async with aiohttp.ClientSession() as session, session.get(place.url) as response:
        assert (response.status, await response.text()) == (405, "use POST with a JSON-RPC 2.0 body")
    assert place.made.servers == 0


async def test_blanks_around_a_header_are_not_part_of_it(place: Place) -> None:
    """httptools leaves them, and the SDK would take the version for an unknown one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.server.port)
    body = frame("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n"
        f"accept: application/json, text/event-stream\r\nmcp-protocol-version:  2025-11-25 \t\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    async with asyncio.timeout(BOUND):
        text = (await reader.read()).decode()
    writer.close()
    assert "Unsupported protocol version" not in text


async def test_a_page_of_another_host_can_t_use_the_door(place: Place) -> None:
    status, _ = await place.post(INITIALIZE, origin="http://evil.example", **TAKES_BOTH)
    assert status == 403
    version = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    assert (await place.post(frame("tools/list"), origin="http://evil.example", **version))[0] == 403
    assert (await place.post(frame("tools/list"), host="evil.example", **version))[0] == 421
    assert place.made.servers == 0


async def test_what_the_sdk_has_to_say_is_in_the_log_and_not_on_the_terminal(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    await place.post(frame("tools/list"))
    logging.getLogger("mcp.server").warning("something odd")
    assert "something odd" in place.log.log_file.read_text()
    assert "something odd" not in capsys.readouterr().err
