"""Opens the SDK's client to one MCP server, by its URL or its command; doesn't reconnect."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation

from agent_league.config import McpServer
from agent_league.http.bounded_response import UNCOMPRESSED, limit_response_size
from agent_league.mcp.client.failures import is_session_forgotten
from agent_league.version import __version__

CLIENT_INFO = Implementation(name="agent-league", version=__version__)
TIMEOUT = httpx2.Timeout(10, read=300)
"""The read timeout is long, since a stream may be silent; each call has its own limit."""
CLOSE_TIMEOUT = httpx2.Timeout(1)
LIMITS = httpx2.Limits(keepalive_expiry=4)
"""Less than the 5 s after which common servers close an idle connection."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Streams are exempt: the SDK limits each of their messages."""
FINAL_STATUSES = frozenset({401, 403, 407, 408, 425, 429, 502, 503, 504})
"""Statuses that the SDK's client would not report."""


@asynccontextmanager
async def open_client(server: McpServer, handler: MessageHandlerFnT) -> AsyncIterator[Client]:
    """Open a client and complete its handshake, in either revision of MCP. Enter and leave it in one task."""
    async with AsyncExitStack() as stack:
        if server.url:
            http = await stack.enter_async_context(_make_http_client(server))
            transport = streamable_http_client(server.url, http_client=http)
        else:
            command, *args = server.command
            transport = stdio_client(StdioServerParameters(command=command, args=args, env=server.env), sys.stderr)
        client = Client(transport, message_handler=handler, client_info=CLIENT_INFO, cache=None)
        await stack.enter_async_context(client)
        client.session.validate_tool_result = _skip_validation  # type: ignore[assignment,method-assign]
        yield client


async def _skip_validation(_tool: str, _result: CallToolResult) -> None:
    """Accept any tool result: to validate it, the SDK would run regular expressions of the server's schema."""


def _make_http_client(server: McpServer) -> httpx2.AsyncClient:
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [_shorten_close_timeout],
        "response": [_raise_final_status, limit_response_size(MAX_ANSWER_BYTES, unless_type="text/event-stream")],
    }
    headers = {"accept-encoding": UNCOMPRESSED, **server.headers}
    return httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, limits=LIMITS, event_hooks=hooks)


async def _shorten_close_timeout(request: httpx2.Request) -> None:
    """Shorten the timeout of the closing DELETE, so that a hung server doesn't delay us."""
    if request.method == "DELETE":
        request.extensions["timeout"] = CLOSE_TIMEOUT.as_dict()


async def _raise_final_status(response: httpx2.Response) -> None:
    """Raise for statuses that the SDK's client would hide, which ends the session."""
    if response.status_code in FINAL_STATUSES or is_session_forgotten(response):
        what = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
        raise httpx2.HTTPStatusError(what, request=response.request, response=response)
