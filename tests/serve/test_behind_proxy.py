"""A server that is reached through a proxy: below its public address, with the callers' own addresses."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent_league.serve import league_server
from agent_league.web.play import seats
from tests.conftest import BOUND
from tests.serve.stage import players, serving, until, write_league

PUBLIC = "https://play.example/course"
BEHIND = {"network.public_url": PUBLIC, "network.trusted_proxies": ["127.0.0.1"]}
LINKS = re.compile(r'(?:href|src|action|data-events|data-home)="([^"#]+)')


@pytest.fixture(autouse=True)
def _quick_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_server, "SCAN_SECONDS", 0.02)


async def test_all_addresses_are_below_the_public_one_and_a_house_referee_plays_there(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), serving(home, overrides=BEHIND) as stage:
        await until(lambda: bool(stage.manager("spring").state.roster.referees()))
        for prefix in ("/course", ""):  # whether the proxy leaves the base path or takes it off
            for path in ("/", "/leagues/spring/", "/leagues/spring/schedule", "/archive"):
                page = await stage.visitor.get(prefix + path, host="play.example")
                assert page.status == 200, prefix + path
                assert all(link.startswith("/course/") for link in LINKS.findall(page.text)), prefix + path
        moved = await stage.visitor.get("/course/leagues/spring", host="play.example", x_forwarded_host="evil.example")
        assert moved.headers["location"] == "/course/leagues/spring/"
        overview = (await stage.visitor.get("/leagues/spring/")).text
        assert f"{PUBLIC}/leagues/spring/mcp" in overview
        endpoint = stage.manager("spring").state.roster["REF01"].agent.endpoint
        assert endpoint == f"{PUBLIC}/leagues/spring/house/REF01/mcp"
        async with players(home, f"{stage.root}/course/leagues/spring/mcp", ["Ann", "Bob"]):
            await stage.wait_for_end("spring")
        assert len(stage.manager("spring").state.results) == 1


async def test_a_person_in_the_browser_is_called_below_the_public_address(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats, "AWAY_SECONDS", 0.0)  # nobody looks at the page, so the fallback moves
    write_league(home, "spring", participants={"start_with": 2})
    write_league(home, "class", registration="keys")
    own = {"host": "play.example", "origin": "https://play.example"}
    async with asyncio.timeout(BOUND), serving(home, overrides=BEHIND) as stage:
        refused = await stage.visitor.post("/leagues/class/play", {"name": "Ada"}, **own)
        assert (refused.status, "by the sign-up address of their team alone" in refused.text) == (409, True)
        taken = await stage.visitor.post("/leagues/spring/play", {"name": "Ada"}, **own)
        assert taken.status in (200, 201), taken.text
        async with players(home, f"{stage.root}/leagues/spring/mcp", ["Bob"]):
            await stage.wait_for_end("spring")
        state = stage.manager("spring").state
        (ada,) = [one for one in state.roster if one.agent.display_name == "Ada"]
        assert ada.agent.endpoint.startswith(f"{PUBLIC}/leagues/spring/seats/S"), "a referee elsewhere reaches it"
        assert [result.status for result in state.results.values()].count("TECHNICAL_LOSS") == 0


async def test_the_public_host_and_its_pages_are_accepted_and_no_others(home: Path) -> None:
    frame = {"jsonrpc": "2.0", "method": "league_query", "params": {}, "id": 1}
    mcp = "/leagues/league_2025_even_odd/mcp"
    async with asyncio.timeout(BOUND), serving(home, overrides=BEHIND) as stage:
        post = stage.visitor.post
        assert (await post(mcp, frame, host="play.example", origin="https://play.example")).status == 200
        assert (await post(mcp, frame, origin="https://play.example")).status == 200
        assert (await post(mcp, frame, host="play.example", origin="https://evil.example")).status == 403
        assert (await post(mcp, frame, host="evil.example")).status == 421
        assert (await post(mcp, frame, host="evil.example", x_forwarded_host="play.example")).status == 421


def register(name: str, endpoint: str) -> dict[str, Any]:
    meta = {"display_name": name, "version": "1", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:P01",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": "conv-1",
        "player_meta": meta,
    }
    return {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}


async def test_a_caller_is_known_by_the_address_that_a_trusted_proxy_tells_and_by_no_other(home: Path) -> None:
    mcp = "/leagues/league_2025_even_odd/mcp"
    for proxies, is_believed in ((["127.0.0.1"], True), (["10.0.0.1"], False)):
        overrides = {**BEHIND, "network.trusted_proxies": proxies}
        async with asyncio.timeout(BOUND), serving(home, overrides=overrides) as stage:
            wanted = register(f"Agent {is_believed}", "http://203.0.113.7:9/mcp")
            said = await stage.visitor.post(mcp, wanted, x_forwarded_for="198.51.100.1, 203.0.113.7")
            answer = json.loads(said.text)["result"]
            assert (answer["status"] == "ACCEPTED") is is_believed, answer
            mine = register(f"Mine {is_believed}", "http://localhost:9/mcp")
            said = await stage.visitor.post(mcp, mine, x_forwarded_for="203.0.113.7")
            refused = "you call from 203.0.113.7" in json.loads(said.text)["result"].get("detail", "")
            assert refused is is_believed


async def test_rate_limits_count_the_callers_and_not_the_proxy(home: Path) -> None:
    limits = {**BEHIND, "security.rate_limit_per_sec": 0.001, "security.rate_limit_burst": 1}
    frame = {"jsonrpc": "2.0", "method": "nothing", "id": 1}
    async with asyncio.timeout(BOUND), serving(home, overrides=limits, referees=0) as stage:
        for path in ("/leagues/league_2025_even_odd/mcp", "/leagues/league_2025_even_odd/schedule"):
            statuses = []
            for caller in ("203.0.113.1", "203.0.113.2", "evil, 203.0.113.1"):
                if path.endswith("mcp"):
                    reply = await stage.visitor.post(path, frame, x_forwarded_for=caller)
                    statuses.append("too many requests" in reply.text)
                else:
                    reply = await stage.visitor.get(path, x_forwarded_for=f"{caller}0")
                    statuses.append(reply.status == 429)
            assert statuses == [False, False, True], path
