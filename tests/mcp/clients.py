"""The SDK's own client, as a host would use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.conftest import BOUND

MODES = ("legacy", "2026-07-28", "auto")


@asynccontextmanager
async def connected(url: str, mode: str, bearer: str | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client of one agent, with a token beside its requests where there is one."""
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=BOUND, cache=None, **options) as client:
            yield client
