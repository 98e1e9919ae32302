"""Attacks on a server of many leagues behind a proxy: forged addresses, paths that lead elsewhere, others' seats."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from tests.conftest import BOUND
from tests.dial_out.server import DialledAgent
from tests.serve.stage import ServerStage, serving, write_league
from tests.serve.test_behind_proxy import BEHIND, register

OWN = "http://localhost:8101/mcp"
VICTIM, ATTACKER = "203.0.113.7", "198.51.100.1"


@asynccontextmanager
async def dial(stage: ServerStage, forwarded_for: str, **asked: Any) -> AsyncIterator[DialledAgent]:
    """Open a seat in the league `spring`, as a proxy passes it on."""
    url = f"{stage.visitor.base.replace('http:', 'ws:')}/leagues/spring/dial"
    headers = {"X-Forwarded-For": forwarded_for}
    async with connect(url, proxy=None, additional_headers=headers) as socket:
        await socket.send(json.dumps({"type": "open", **asked}))
        agent = DialledAgent(socket, {})
        agent.seat = await agent.receive()
        yield agent


async def sign_up(stage: ServerStage, name: str, forwarded_for: str) -> dict[str, Any]:
    """Register at the league `spring` with an address that only a connection of one's own could forward."""
    reply = await stage.visitor.post("/leagues/spring/mcp", register(name, OWN), x_forwarded_for=forwarded_for)
    answer: dict[str, Any] = json.loads(reply.text)["result"]
    return answer


@pytest.mark.parametrize("claim", [ATTACKER, f"{VICTIM}, {ATTACKER}", f"127.0.0.1, {ATTACKER}"])
async def test_a_forged_address_takes_nobody_s_seat(home: Path, claim: str) -> None:
    write_league(home, "spring")
    async with (
        asyncio.timeout(BOUND),
        serving(home, overrides=BEHIND) as stage,
        dial(stage, VICTIM, forwards=OWN) as agent,
    ):
        stolen = await sign_up(stage, "Eve", claim)
        assert (stolen["status"], f"you call from {ATTACKER}" in stolen["detail"]) == ("REJECTED", True)
        assert (await sign_up(stage, "Ann", f"198.51.100.99, {VICTIM}"))["status"] == "ACCEPTED"
        member = stage.manager("spring").state.roster["P01"]
        assert (member.agent.display_name, member.agent.endpoint) == ("Ann", agent.seat["address"])


async def test_where_no_proxy_is_trusted_all_who_claim_an_address_are_one_caller(home: Path) -> None:
    write_league(home, "spring")
    overrides = {**BEHIND, "network.trusted_proxies": []}
    async with (
        asyncio.timeout(BOUND),
        serving(home, overrides=overrides) as stage,
        dial(stage, VICTIM),
        dial(stage, ATTACKER),
    ):
        holders = [seat.holder for seat in stage.manager("spring").seats._seats.values()]
        assert len({holder.network for holder in holders if holder}) == 1


@pytest.mark.parametrize(
    "path",
    [
        *("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/leagues/../mcp", "/leagues/..%2fmcp", "/leagues/%2e%2e/mcp"),
        *("/leagues/spring/../other/mcp", "/leagues/spring/%2e%2e/other/mcp", "/leagues/spring/..%2fother/organiser"),
        *("/leagues/spring/seats/../mcp", "/leagues/spring/seats/%2e%2e/mcp", "/leagues/spring/dial/../mcp"),
        *("/leagues/spring/house/../mcp", "/leagues/spring/house/..%2f..%2fother/mcp", "/leagues/.%00./mcp"),
        *("/leagues/spring/static/../../../../SHARED/config/system.json", "/leagues/spring/matches/..%2f..%2fsystem"),
        *(
            "/leagues/spring/players/%2e%2e%2f%2e%2e",
            "/archive/..",
            "/archive/..%2f..%2fx",
            "/leagues/spring\\..\\other",
        ),
        *("/leagues/spring/join/..%2f..%2fmcp", "//etc/passwd", "/leagues//spring/../mcp", "/static/..%2f..%2fapp.py"),
    ],
)
async def test_a_path_with_dots_leads_nowhere(home: Path, path: str) -> None:
    for league_id in ("spring", "other"):
        write_league(home, league_id)
    frame = {"jsonrpc": "2.0", "method": "get_standings", "params": {}, "id": 1}
    async with asyncio.timeout(BOUND), serving(home, referees=0) as stage:
        for reply in (await stage.visitor.get(path), await stage.visitor.post(path, frame)):
            assert reply.status in (400, 403, 404, 405), (reply.status, reply.text)
            assert "root:" not in reply.text
            assert "default_league_id" not in reply.text
