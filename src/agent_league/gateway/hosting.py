"""Serves the gateway to MCP hosts, over standard input and output or over HTTP."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import anyio
import orjson

from agent_league.agent import jsonrpc
from agent_league.agent.app import AgentApp
from agent_league.agent.tasks import run_until_first
from agent_league.errors import JsonRpcError, JsonRpcErrorCode
from agent_league.gateway.tool_forms import MAX_WAIT_SECONDS
from agent_league.gateway.typed_lines import TypedLines
from agent_league.http.header_check import HeaderCheck
from agent_league.http.hosts import LOOPBACK
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.mcp.server.lazy_server import LazyMcpServer
from agent_league.players.human import HumanSeat
from agent_league.storage.paths import DataPaths
from agent_league.version import __version__

if TYPE_CHECKING:
    from mcp.server import Server

HOST_GONE_ERRORS = (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError, anyio.ClosedResourceError)
BARE_CALL_REFUSAL = "this is a gateway for MCP hosts, not an agent of the league: speak MCP to it"


async def serve_stdio(seat: HumanSeat, stop: asyncio.Event, longest_wait: float = MAX_WAIT_SECONDS) -> None:
    """Serve one host until it closes our input, or `stop`. Nothing else may write to standard output meanwhile."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - the SDK takes a second to import

    server = _make_server(seat, longest_wait)

    async def serve() -> None:
        try:
            async with stdio_server(stdin=cast("Any", TypedLines())) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* HOST_GONE_ERRORS:
            pass  # the host has closed our output, which is an end too

    try:
        await run_until_first(stop.wait(), serve())
    finally:
        await seat.leave()


async def serve_http(
    seat: HumanSeat,
    port: int,
    stop: asyncio.Event,
    ready: Callable[[], None],
    longest_wait: float = MAX_WAIT_SECONDS,
) -> None:
    """Serve any number of hosts at `/mcp` until `stop`; `ready` is called once it listens and answers at once."""
    log = JsonLogger("gateway", log_root=DataPaths(seat.settings.home).logs_folder)
    mcp = LazyMcpServer(lambda: _make_server(seat, longest_wait), log, tool_calls=True)
    app = AgentApp(
        _refuse_bare_call,
        lambda: {"status": "ok", "role": "gateway", "id": seat.settings.display_name, "version": __version__},
        HeaderCheck(),  # only our address is allowed, not the league's host names: a web page could use one
        mcp=mcp,
    )
    server = HttpServer(app, LOOPBACK, port, "the gateway", "Choose another with --http.")
    await server.start()
    try:
        await mcp.load()  # a host's first call may have a short limit, and the SDK takes seconds on a busy machine
        ready()
        await stop.wait()
    finally:
        await server.stop()
        await seat.leave()
        log.close()


def _make_server(seat: HumanSeat, longest_wait: float) -> "Server[Any]":
    from agent_league.gateway.server import make_gateway_server  # noqa: PLC0415 - it imports the SDK

    return make_gateway_server(seat, longest_wait)


async def _refuse_bare_call(body: bytes, _bearer: str | None = None) -> bytes | None:
    try:
        request_id = jsonrpc.find_request_id(jsonrpc.parse_body(body))
    except JsonRpcError as error:
        return orjson.dumps(jsonrpc.build_error_frame(error, None))
    return orjson.dumps(
        jsonrpc.build_error_frame(JsonRpcError(JsonRpcErrorCode.METHOD_NOT_FOUND, BARE_CALL_REFUSAL), request_id)
    )
