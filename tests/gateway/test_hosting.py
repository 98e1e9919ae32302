"""The gateway over HTTP, in both revisions of MCP: several hosts on one seat, beats while they wait, a quick end."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp import Client

from agent_league.gateway import hosting as hosting_module
from agent_league.gateway import server
from agent_league.gateway.hosting import serve_http
from tests.conftest import BOUND, free_ports
from tests.gateway.host import hosting
from tests.gateway.league import tool
from tests.players.chair import game_over


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_hosts_share_the_seat_and_hear_beats_while_they_wait(
    home: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(server, "BEAT_SECONDS", 0.01)
    port, stop, ready = free_ports(1), asyncio.Event(), asyncio.Event()
    async with hosting(home) as host:
        serving = asyncio.create_task(serve_http(host.seat, port, stop, ready.set))
        await ready.wait()
        url = f"http://localhost:{port}/mcp"
        async with Client(url, mode=mode) as first, Client(url, mode=mode) as second:
            joined = await tool(first, "join_league")
            assert await tool(second, "join_league") == joined
            beats = asyncio.Queue[float]()

            async def beat(progress: float, total: float | None, message: str | None) -> None:
                await beats.put(progress)

            arguments = {"handle": joined["handle"], "after": 1}
            waiting = asyncio.create_task(first.call_tool("wait_for_turn", arguments, progress_callback=beat))
            assert [await beats.get() for _ in range(3)]
            await host.told("notify_match_result", game_over())
            news = (await waiting).structured_content
            assert [event["kind"] for event in news["events"]] == ["result"]
        async with Client(url, mode=mode) as third:
            assert await tool(third, "wait_for_turn", **arguments) == news, "the seat isn't the connection's"
        stop.set()
        await serving


async def test_it_ends_in_the_midst_of_a_wait(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BEAT_SECONDS", 0.01)
    port, stop, ready = free_ports(1), asyncio.Event(), asyncio.Event()
    async with hosting(home) as host:
        serving = asyncio.create_task(serve_http(host.seat, port, stop, ready.set))
        await ready.wait()
        async with Client(f"http://localhost:{port}/mcp") as client:
            seat = (await tool(client, "join_league"))["handle"]
            waits = asyncio.Event()

            async def beat(progress: float, total: float | None, message: str | None) -> None:
                waits.set()

            arguments = {"handle": seat, "after": 1}
            waiting = asyncio.create_task(client.call_tool("wait_for_turn", arguments, progress_callback=beat))
            await waits.wait()
            async with asyncio.timeout(BOUND):
                stop.set()
                await serving
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


async def test_it_is_warm_before_it_says_that_it_is_ready(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(seat: object, longest_wait: float) -> object:
        made.append("made")
        return server.make_gateway_server(host.seat, longest_wait)

    monkeypatch.setattr(hosting_module, "_make_server", make)
    stop = asyncio.Event()

    def ready() -> None:
        made.append("ready")
        stop.set()

    async with hosting(home) as host, asyncio.timeout(BOUND):
        await serve_http(host.seat, free_ports(1), stop, ready)
    assert made == ["made", "ready"]


async def test_a_host_with_a_short_limit_is_never_kept_waiting_for_longer(home: Path) -> None:
    async with hosting(home) as host, Client(server.make_gateway_server(host.seat, 0.01)) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        listed = tools["wait_for_turn"].input_schema["properties"]["max_wait_s"]
        assert (listed["default"], listed["maximum"]) == (0.01, 0.01)
        handle = (await host.call("join_league"))["handle"]
        async with asyncio.timeout(BOUND):
            news = await tool(client, "wait_for_turn", handle=handle, after=1, max_wait_s=50)
        assert news["events"] == []


async def test_a_handle_goes_by_its_older_name_too(home: Path) -> None:
    async with hosting(home) as host:
        handle = (await host.call("join_league"))["handle"]
        assert await host.call("get_history", seat=handle) == await host.call("get_history", handle=handle)


async def test_its_tools_fit_a_prompt(home: Path) -> None:
    async with hosting(home) as host:
        listed = (await host.client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert len(json.dumps(listed, separators=(",", ":"))) < 16_000
