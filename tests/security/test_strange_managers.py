"""Attacks on our agents under a manager that isn't ours, over HTTP: a caller elsewhere than that manager gets nowhere,
whichever door it takes.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from agent_league.agent import registration
from agent_league.launch.plan import LeaguePlan
from tests.conftest import BOUND, PlanMaker
from tests.foreign.sample_manager import SampleManager
from tests.foreign.stage import planned, serving, started

ELSEWHERE = frozenset({"203.0.113.9"})
MCP = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_direct = build_opener(ProxyHandler({}))


def post(url: str, body: Any, headers: Mapping[str, str]) -> str:
    """What is answered, whatever its status."""
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with _direct.open(request, timeout=BOUND) as response:
            return str(response.read().decode())
    except HTTPError as error:
        with error:
            return str(error.read().decode())


def framed(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}


def start_of(made: LeaguePlan) -> dict[str, Any]:
    """A start with both players' true addresses."""
    a, b = (player.settings.endpoint for player in made.players)
    return {
        "match_id": "R1M1",
        "round_id": 1,
        "game_type": "even_odd",
        "sender": "league_manager",
        "player_A": {"player_id": "P01", "display_name": "P01", "endpoint": a},
        "player_B": {"player_id": "P02", "display_name": "P02", "endpoint": b},
    }


Door = tuple[str, Any, Mapping[str, str]]


def doors(start: Mapping[str, Any]) -> dict[str, Door]:
    """The ways to a referee's tools: path, body and headers."""
    tool = {"name": "start_match", "arguments": start}
    return {
        "a plain call": ("/mcp", framed("start_match", start), {}),
        "another name": ("/mcp", framed("assign_match", {**start, "message_type": "MATCH_ASSIGNMENT"}), {}),
        "a batch": ("/mcp", [framed("start_match", start)], {}),
        "a bare tool call": ("/mcp", framed("tools/call", tool), {}),
        "MCP": ("/mcp", framed("tools/call", {**tool, "_meta": META}), {**MCP, "Mcp-Name": "start_match"}),
        "a post": ("/run_match", start, {}),
        "a framed post": ("/run_match", framed("start_match", start), {}),
        "forwarding headers": ("/mcp", framed("start_match", start), {"X-Forwarded-For": "203.0.113.9"}),
    }


@asynccontextmanager
async def league_elsewhere(made: LeaguePlan, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SampleManager]:
    """Our agents in the league of a manager that wants one more player, and was elsewhere when they registered."""

    async def elsewhere(endpoint: str) -> frozenset[str]:
        return ELSEWHERE

    monkeypatch.setattr(registration, "find_machines", elsewhere)
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(SampleManager(made.manager.port, 3, 1)))
        await stack.enter_async_context(serving([*made.referees, *made.players]))
        await asyncio.to_thread(manager.wait_for_agents, 3)
        yield manager


async def test_a_start_from_another_address_is_refused_at_every_door(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(plan, players=2, referees=1)
    async with league_elsewhere(made, monkeypatch) as manager:
        base = f"http://127.0.0.1:{made.referees[0].port}"
        for name, (path, body, headers) in doors(start_of(made)).items():
            answer = await asyncio.to_thread(post, base + path, body, headers)
            assert "E012" in answer, (name, answer)
            assert "the call came from 127.0.0.1" in answer, (name, answer)
        assert manager.reports == {}
    assert not list((made.home / "data" / "matches").rglob("*.json"))


async def test_a_notice_from_another_address_is_refused(plan: PlanMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(plan, players=2, referees=1)
    async with league_elsewhere(made, monkeypatch):
        for seat in (*made.referees, *made.players):
            end = framed("notify_league_completed", {"champion": "P01"})
            answer = await asyncio.to_thread(post, f"http://127.0.0.1:{seat.port}/mcp", end, {})
            assert "E012" in answer


async def test_the_doors_lead_somewhere_for_the_manager_itself(plan: PlanMaker) -> None:
    made = planned(plan, players=2, referees=1)
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(SampleManager(made.manager.port, 3, 1)))
        await stack.enter_async_context(serving([*made.referees, *made.players]))
        await asyncio.to_thread(manager.wait_for_agents, 3)
        base = f"http://127.0.0.1:{made.referees[0].port}"
        for name, (path, body, headers) in doors(start_of(made)).items():
            answer = await asyncio.to_thread(post, base + path, body, headers)
            assert '"ok"' in answer.replace("\\", ""), (name, answer)
