"""Players that are MCP servers of other people's SDKs, registered by their owner: they play, and are checked."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.check.judging import check_port, found
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.foreign.stage import PATIENT, Played, match_files, planned
from tests.foreign.web import Message, now, post
from tests.launch.scripted_guests import hosted
from tests.mcp.foreign_sdks import FOREIGN_SDKS, ForeignSdk, build_command, install_sdks
from tests.mcp.node_tools import NotInstalled

OWNER = {"sender": "player:owner", "conversation_id": "conv-owner-001"}
START_SECONDS = 120.0
"""For nine processes that import their libraries at once."""


@pytest.fixture(scope="module")
def node() -> str:
    """The SDKs are there, and the Node for some of them; where they can't be had, tests skip and say why."""
    try:
        return install_sdks()
    except NotInstalled as error:
        pytest.skip(str(error))


def register(manager: str, name: str, endpoint: str) -> Message:
    """Registers a player that can't do it itself."""
    meta = {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "timestamp": now(),
        **OWNER,
        "player_meta": meta,
    }
    answer = post(manager, {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1})
    assert answer["result"]["status"] == "ACCEPTED", answer
    return dict(answer["result"])


@asynccontextmanager
async def running(command: Sequence[str]) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until_listening(port: int, process: Process | None = None) -> None:
    """Waits for a server, which may be that of another process; it fails once that has ended."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            assert process is None or process.returncode is None, "the server has ended"
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


def list_servers(sdks: Sequence[ForeignSdk], first: int) -> Iterator[tuple[ForeignSdk, dict[str, int]]]:
    """Every SDK with its servers' names and ports."""
    for sdk in sdks:
        yield sdk, {name: first + place for place, name in enumerate(sdk.list_names())}
        first += len(sdk.variants)


async def test_servers_of_every_sdk_play_a_league_and_pass_the_check(node: str, plan: PlanMaker) -> None:
    servers = list(list_servers(FOREIGN_SDKS, free_ports(sum(len(sdk.variants) for sdk in FOREIGN_SDKS))))
    ports = {name: port for _, named in servers for name, port in named.items()}
    made = planned(plan, players=1 + len(ports), referees=1, overrides=PATIENT)
    manager = f"http://localhost:{made.manager.port}/mcp"
    async with AsyncExitStack() as stack:
        waits = []
        for sdk, named in servers:
            program = await stack.enter_async_context(running(build_command(sdk, [*named.values()], node)))
            waits += [until_listening(port, program) for port in named.values()]
        league = await stack.enter_async_context(hosted(made, guests=len(ports)))
        async with asyncio.timeout(START_SECONDS):
            await asyncio.gather(*waits)
        for name, port in ports.items():
            await asyncio.to_thread(register, manager, name, f"http://localhost:{port}/mcp")
        await league.completed(BOUND + 5 * len(made.players))
        old = await check_port(ports["Python SDK 1.26"], free_ports(1))
        closed = await check_port(ports["FastMCP 4.1"], free_ports(1))
    played = Played(league.events, match_files(made), [])
    played.assert_played(1 + len(ports))
    ids = {row.display_name: row.player_id for row in played.completed.standings}
    assert all("called as 'tools/call' of MCP" in played.tolerated(ids[name]) for name in ports)
    assert [found(report) for report in (old, closed)] == [{}, {}]
    assert old.ok
    assert closed.ok
    assert "real MCP: tools/call of 2025-11-25 after a handshake" in old.dialect
    assert "real MCP: tools/call of 2026-07-28 with its headers" in closed.dialect
    assert "called with the arguments that its tool takes" in closed.dialect


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[int]:
    """An MCP server of the SDK that we use, in the test's own event loop."""
    port = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=0))
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(BOUND):
            await until_listening(port)
        yield port
    finally:
        server.should_exit = True
        await serving


def make_server(*tools: str) -> MCPServer:
    server = MCPServer("player", log_level="ERROR")
    for name in tools:

        async def answer(match_id: str) -> dict[str, Any]:
            raise ToolError("no heart to play")

        server.add_tool(answer, name)
    return server


async def test_the_check_says_what_an_mcp_server_lacks() -> None:
    async with served(make_server("handle_game_invitation", "pick").streamable_http_app()) as port:
        faults = found(await check_port(port, free_ports(1)))
    assert (
        "The agent itself says: Error executing tool handle_game_invitation: no heart to play"
        in faults["handle_game_invitation is answered"]
    )
    hint = faults["choose_parity is answered"]
    assert "add a tool named `choose_parity`. Its tools are: 'handle_game_invitation', 'pick'." in hint
    assert "406" not in hint


async def test_the_check_tells_a_tool_that_answers_in_words_what_it_should_return() -> None:
    server = MCPServer("player", log_level="ERROR")

    async def answer(match_id: str) -> str:
        return f"with pleasure, {match_id}"

    server.add_tool(answer, "handle_game_invitation")
    async with served(server.streamable_http_app()) as port:
        faults = found(await check_port(port, free_ports(1)))
    hint = faults["handle_game_invitation is answered"]
    assert "its answer holds no GAME_JOIN_ACK: return one as `structuredContent`, or as JSON in a text" in hint
    assert "Serve the method" not in hint


async def test_the_check_says_that_a_server_wants_its_callers_to_sign_in() -> None:
    async def refuse(_: Request) -> JSONResponse:
        return JSONResponse({"error": "unauthorized"}, 401)

    async with served(Starlette(routes=[Route("/mcp", refuse, methods=["POST"])])) as port:
        faults = found(await check_port(port, free_ports(1)))
    hint = faults["handle_game_invitation is answered"]
    assert "The agent itself says: unauthorized. It refuses callers that it doesn't know (HTTP 401)" in hint
    assert "name it exactly" not in hint


@pytest.mark.parametrize("path", ["/sse", "/mcp"])
async def test_a_server_that_speaks_only_the_oldest_transport_is_told_so(path: str) -> None:
    async with served(make_server().sse_app()) as port:
        faults = found(await check_port(port, free_ports(1), path=path))
    (hint,) = faults.values()
    assert f"http://localhost:{port}/sse is an MCP server that speaks nothing but HTTP+SSE" in hint
    assert "serve Streamable HTTP at /mcp" in hint
