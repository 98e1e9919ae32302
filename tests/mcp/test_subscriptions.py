"""Whoever subscribed to a resource is told that it changed; whoever has gone is forgotten."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from agent_league.agent.app import AgentApp
from agent_league.agent.runtime import ResourceChanges
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.mcp.server.lazy_server import LazyMcpServer
from agent_league.mcp.server.subscriptions import ResourceSubscriptions
from tests.conftest import BOUND
from tests.mcp.test_lazy_server import answer, frame

TABLE, MATCH = "league://standings", "league://matches/R1M1"
pytestmark = pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")


async def list_resources(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


class Newsroom:
    """A server with something to tell."""

    def __init__(self, home: Path) -> None:
        self.changes = ResourceChanges()
        self.updates = ResourceSubscriptions(self.changes, lambda uri: uri.startswith("league://"))
        self.log = JsonLogger("tester", log_root=home)
        self.server = HttpServer(
            AgentApp(answer, dict, mcp=LazyMcpServer(self.make, self.log)), "127.0.0.1", 0, "a test"
        )

    def make(self) -> "Server[Any]":
        return Server(
            "news",
            lifespan=self.updates.lifespan,
            on_list_resources=list_resources,
            on_subscribe_resource=self.updates.subscribe,
            on_unsubscribe_resource=self.updates.unsubscribe,
            on_subscriptions_listen=self.updates.listen,
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[tuple[Client, asyncio.Queue[str]]]:
        """A client of 2025-11-25, and what it is told."""
        news: asyncio.Queue[str] = asyncio.Queue()

        async def hear(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                news.put_nowait(str(message.params.uri))

        async with Client(self.url, mode="legacy", message_handler=hear) as client:
            yield client, news


@pytest.fixture
async def newsroom(tmp_path: Path) -> AsyncIterator[Newsroom]:
    async with AsyncExitStack() as ending, asyncio.timeout(BOUND):
        room = Newsroom(tmp_path)
        ending.callback(room.log.close)
        await room.server.start()
        ending.push_async_callback(room.server.stop)
        yield room


async def test_a_session_is_told_of_what_it_subscribed_to_and_of_nothing_else(newsroom: Newsroom) -> None:
    async with newsroom.reader() as (client, news):
        await client.subscribe_resource(TABLE)
        newsroom.changes.notify_changed(MATCH, TABLE)
        assert await news.get() == TABLE
        await client.unsubscribe_resource(TABLE)
        await client.subscribe_resource(MATCH)
        newsroom.changes.notify_changed(TABLE, MATCH)
        assert await news.get() == MATCH
        assert news.empty()


async def test_changes_that_come_together_are_told_once(newsroom: Newsroom) -> None:
    async with newsroom.reader() as (client, news):
        await client.subscribe_resource(TABLE)
        await client.subscribe_resource(MATCH)
        for _ in range(1000):
            newsroom.changes.notify_changed(TABLE)
        newsroom.changes.notify_changed(MATCH)
        assert [await news.get(), await news.get()] == sorted([TABLE, MATCH])


async def test_a_session_that_ended_is_forgotten_and_costs_nobody_its_news(newsroom: Newsroom) -> None:
    async with newsroom.reader() as (client, news):
        await client.subscribe_resource(TABLE)
        for _ in range(3):
            async with newsroom.reader() as (other, _news):
                await other.subscribe_resource(TABLE)
        newsroom.changes.notify_changed(TABLE)
        assert await news.get() == TABLE
        assert len(newsroom.updates._sessions) == 1


@pytest.mark.parametrize("addresses", [["league://" + "x" * 300], [f"league://{n}" for n in range(201)]])
async def test_what_is_kept_of_a_subscriber_is_bounded(newsroom: Newsroom, addresses: list[str]) -> None:
    async with newsroom.reader() as (client, _):
        for address in addresses[:-1]:
            await client.subscribe_resource(address)
        with pytest.raises(MCPError, match="at most 200 resources"):
            await client.subscribe_resource(addresses[-1])
    async with Client(newsroom.url, mode="2026-07-28") as client:
        with pytest.raises(MCPError, match="at most 200 resources"):
            async with client.listen(resource_subscriptions=addresses):
                pass


async def test_what_is_no_resource_can_t_be_subscribed_to(newsroom: Newsroom) -> None:
    async with newsroom.reader() as (client, _):
        with pytest.raises(MCPError, match="no resource 'file:///etc/passwd' here"):
            await client.subscribe_resource("file:///etc/passwd")


async def test_who_has_no_session_is_told_to_begin_one(newsroom: Newsroom) -> None:
    body = frame("resources/subscribe", uri=TABLE)
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession() as session, session.post(newsroom.url, data=body, headers=headers) as response:
        said = json.loads(await response.read())
    assert said["error"]["message"] == "subscribe in a session: begin with initialize"


async def test_nobody_listens_once_the_server_has_stopped(newsroom: Newsroom) -> None:
    async with newsroom.reader() as (client, _):
        await client.subscribe_resource(TABLE)
        assert newsroom.changes
    await newsroom.server.stop()
    assert not newsroom.changes
