"""Frames of MCP and refused requests in an agent's log: a line each, within bounds."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client

from agent_league.agent.app import AgentApp
from agent_league.agent.message_log import MAX_REFUSED_LINES, CallLogLimit
from agent_league.agent.runtime import Agent, ResourceChanges
from agent_league.http.call_limits import RateLimit
from agent_league.http.carrier import MAX_BODY
from agent_league.http.server import HttpServer
from agent_league.mcp.server.lazy_server import make_lazy_mcp_server
from agent_league.protocol.methods import Caller
from tests.agent.answering_agent import call, refuse
from tests.agent.test_message_log import LoggedDesk, query
from tests.http.wire import fetch, request

TOKEN = "tok-p01-abcdef0123456789"


class McpDesk(LoggedDesk):
    """A small agent that is served as agents are: with an MCP side, and a log of what is refused."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.changes = ResourceChanges()
        self.server.socket.close()
        self.serve()

    def serve(self, rate_limit: RateLimit | None = None) -> None:
        app = AgentApp(
            self.dispatcher.answer_request,
            dict,
            rate_limit=rate_limit,
            mcp=make_lazy_mcp_server(cast("Agent", self), lambda token: token == TOKEN),
            refused=self.messages.log_refused_request,
            refuse_frame=self.dispatcher.refuse_requests,
        )
        self.server = HttpServer(app, "127.0.0.1", 0, "a test")

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return None

    def health(self) -> Mapping[str, Any]:
        return {}

    async def post_raw(self, body: bytes, *headers: str) -> int:
        return (await fetch(self.server.port, request(body, *headers))).status

    def messages_of(self, event_type: str) -> list[dict[str, Any]]:
        return [line["message"] for line in self.lines(self.log) if line["event_type"] == event_type]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[McpDesk]:
    async with AsyncExitStack() as ending:
        desk = McpDesk(tmp_path)
        ending.callback(desk.log.close)
        await desk.server.start()
        ending.push_async_callback(desk.server.stop)
        yield desk


async def test_each_frame_of_a_session_is_one_line_and_so_is_its_answer(desk: McpDesk) -> None:
    desk.refusal = refuse()
    async with Client(desk.endpoint) as client:
        await client.list_tools()
        await client.call_tool("get_standings", {"auth_token": TOKEN})
    received = desk.messages_of("message_received")
    methods = Counter(frame["method"] for frame in received)
    assert methods["tools/list"] == methods["tools/call"] == 1
    assert "get_standings" not in methods
    sent = [line for line in desk.lines(desk.log) if line["event_type"] == "message_sent"]
    assert len(sent) == len([frame for frame in received if "id" in frame])
    assert {line["message"]["id"] for line in sent if "message" in line} <= {frame.get("id") for frame in received}
    assert any("tools" in line.get("text", "") for line in sent)  # its list is longer than a line has room for
    for line in (line for line in desk.lines(desk.log) if "peer" in line):
        assert line["peer"].startswith("127.0.0.1:")
        assert ("latency_ms" in line) is (line["event_type"] == "message_sent")
    assert TOKEN not in desk.log.log_file.read_text()


async def test_refused_tool_calls_of_mcp_are_counted_beside_the_lines_of_their_frames(desk: McpDesk) -> None:
    desk.refusal = refuse()
    async with Client(desk.endpoint) as client:
        for _ in range(MAX_REFUSED_LINES + 1):
            await client.call_tool("get_standings", {})
    desk.log.close()
    told = desk.lines(desk.log)[-1]
    assert (told["event_type"], told["calls"]) == ("calls_refused", MAX_REFUSED_LINES + 1)


async def test_a_frame_without_a_session_is_one_line_too_and_so_is_its_answer(desk: McpDesk) -> None:
    for body in (call("tools/list"), call("tools/call", params={"name": "get_standings"}), call("ping")):
        assert await desk.post_raw(json.dumps(body).encode()) == 200
    events = [line["event_type"] for line in desk.lines(desk.log)]
    assert events == ["message_received", "message_sent"] * 3
    methods = [frame["method"] for frame in desk.messages_of("message_received")]
    assert methods == ["tools/list", "tools/call", "ping"]


async def test_frames_of_a_caller_without_a_good_token_have_a_bound(desk: McpDesk) -> None:
    desk.messages.open_calls = CallLogLimit(desk.log, "open_calls", 3)
    frame = json.dumps(call("ping")).encode()
    for _ in range(5):
        await desk.post_raw(frame)
    assert [line["event_type"] for line in desk.lines(desk.log)] == ["message_received", "message_sent"] * 3
    for _ in range(2):
        await desk.post_raw(frame, f"authorization: Bearer {TOKEN}")
    assert len(desk.messages_of("message_received")) == len(desk.messages_of("message_sent")) == 5
    desk.log.close()
    assert desk.lines(desk.log)[-1]["calls"] == 5


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request(query(), "origin: http://evil.example"), 403),
        (request(query(), "content-type: text/plain"), 415),
        (request(b"x" * (MAX_BODY + 1)), 413),
        (b"PUT /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 405),
        (b"POST /mcp HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 0\r\n\r\n", 421),
        (b"POST /mcp HTTP/1.1\r\n" + b"x: y\r\n" * 200 + b"\r\n", 431),
        (b"rubbish\r\n\r\n", 400),
    ],
)
async def test_a_request_that_is_refused_before_it_is_read_is_a_line(desk: McpDesk, raw: bytes, status: int) -> None:
    assert (await fetch(desk.server.port, raw)).status == status
    (line,) = desk.lines(desk.log)
    assert (line["event_type"], line["level"], line["status"]) == ("request_refused", "WARNING", status)
    assert line["peer"].startswith("127.0.0.1:")
    assert line["message"]


async def test_refused_requests_are_counted_beyond_the_first_ten(desk: McpDesk) -> None:
    for _ in range(25):
        await desk.post_raw(query(), "origin: http://evil.example")
    assert [line["event_type"] for line in desk.lines(desk.log)] == ["request_refused"] * MAX_REFUSED_LINES
    desk.log.close()
    told = desk.lines(desk.log)[-1]
    assert (told["event_type"], told["address"], told["calls"]) == ("requests_refused", "127.0.0.1", 25)
    assert told["error_codes"] == {"403": 25}


async def test_messages_that_come_too_fast_are_lines_and_are_counted(tmp_path: Path) -> None:
    desk = McpDesk(tmp_path)
    desk.server.socket.close()
    desk.serve(RateLimit(0.001, 1))
    await desk.server.start()
    for _ in range(21):
        await desk.post_raw(query())
    await desk.server.stop()
    desk.log.close()
    lines = desk.lines(desk.log)
    assert Counter(line["event_type"] for line in lines[:-1]) == {"message_received": 11, "message_sent": 11}
    assert (lines[-1]["event_type"], lines[-1]["error_codes"]) == ("calls_refused", {"E014": 20})
