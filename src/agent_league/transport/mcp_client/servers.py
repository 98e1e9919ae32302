"""Where an MCP server is, and the SDK's client for one session with it; keeps no session."""

import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from agent_league.errors import UserError
from agent_league.transport.mcp_client.faults import is_forgotten
from agent_league.version import __version__

NAME = re.compile(r"[A-Za-z0-9_-]{1,24}")
US = Implementation(name="agent-league", version=__version__)
TIMEOUT = httpx2.Timeout(10, read=300)
"""A stream of changes may be silent for long; a call has its own limit."""
GOODBYE = httpx2.Timeout(1)
LIMITS = httpx2.Limits(keepalive_expiry=4)
"""Less than the 5 s after which common servers close an idle connection."""
FINAL_STATUSES = frozenset({401, 403, 407, 408, 425, 429, 502, 503, 504})
"""What the SDK's client would report without the status."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server by its name with us, and its address or the command that starts it."""

    name: str
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UserError(f"MCP server {self.name!r}: a name has 1 to 24 letters, digits, _ and -")
        if bool(self.url) == bool(self.command):
            raise UserError(f"MCP server {self.name}: give it a url or a command, one of the two")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise UserError(f"MCP server {self.name}: the url must begin with http:// or https://, not {self.url!r}")


@asynccontextmanager
async def connected(server: McpServer, handler: MessageHandlerFnT) -> AsyncIterator[Client]:
    """A client after its handshake, in whichever revision the server speaks. Enter and leave it in one task."""
    if server.command:
        command, *args = server.command
        parameters = StdioServerParameters(command=command, args=args, env=dict(server.env))
        async with Client(
            stdio_client(parameters, errlog=sys.stderr), message_handler=handler, client_info=US, cache=None
        ) as client:
            yield client
        return
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [_hurry_goodbye], "response": [_keep_status]}
    async with (
        httpx2.AsyncClient(headers=server.headers, timeout=TIMEOUT, limits=LIMITS, event_hooks=hooks) as http,
        Client(
            streamable_http_client(server.url, http_client=http), message_handler=handler, client_info=US, cache=None
        ) as client,
    ):
        yield client


async def _hurry_goodbye(request: httpx2.Request) -> None:
    """A server that hangs mustn't keep us from leaving."""
    if request.method == "DELETE":
        request.extensions["timeout"] = GOODBYE.as_dict()


async def _keep_status(response: httpx2.Response) -> None:
    """Ends the session where the status says more than the SDK's client would."""
    if response.status_code in FINAL_STATUSES or is_forgotten(response):
        what = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
        raise httpx2.HTTPStatusError(what, request=response.request, response=response)
