"""Two real servers on one PostgreSQL: everything of a league can be had at the server that doesn't own it."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent_league.http.client import HttpCarrier
from agent_league.serve import shared_leagues
from agent_league.serve.passed_call import PASSED_HEADER
from agent_league.storage.access import TeamRow, create_key, hash_key
from tests.conftest import BOUND
from tests.dial_out.test_long_poll import count_polls
from tests.mcp.lone_league import HANDSHAKE
from tests.serve.stage import ServerStage, players, serving, until, write_league
from tests.serve.test_organisers import csrf_in, post_form, sign_in


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_leagues, "POLL_SECONDS", 0.05)


@pytest.fixture
def homes(home: Path) -> list[Path]:
    other = home.parent / "OTHER"
    shutil.copytree(home, other)
    return [home, other]


@asynccontextmanager
async def entry_and_owner(
    homes: list[Path], store: str, overrides: Mapping[str, Any] | None = None, **league: object
) -> AsyncIterator[tuple[ServerStage, ServerStage]]:
    """Two servers of which the second owns the league `spring`."""
    async with AsyncExitStack() as stack:
        stages = [await stack.enter_async_context(serving(one, store=store, overrides=overrides)) for one in homes]
        write_league(homes[0], "spring", **league)
        await until(lambda: any(is_owner(stage) for stage in stages))
        entry, owner = sorted(stages, key=is_owner)
        await until(lambda: is_known(entry))
        yield entry, owner


def is_owner(stage: ServerStage) -> bool:
    league = stage.server.leagues.get("spring")
    return league is not None and league.manager is not None


def is_known(stage: ServerStage) -> bool:
    return stage.server.shared is not None and stage.server.shared.owners.find_owner("spring") is not None


async def test_pages_events_and_agents_of_all_kinds_come_through_the_other_server(
    homes: list[Path], database: str
) -> None:
    async with (
        asyncio.timeout(BOUND),
        entry_and_owner(homes, database, participants={"start_with": 4}) as (entry, owner),
        aiohttp.ClientSession() as session,
        AsyncExitStack() as stack,
    ):
        root = f"{entry.root}/leagues/spring"
        page = await entry.visitor.get("/leagues/spring/")
        assert page.status == 200
        style = re.search(r'stylesheet" href="([^"]+)', page.text)
        assert style is not None
        assert (await entry.visitor.get(style[1])).status == 200
        assert (await entry.visitor.get("/leagues/spring")).status == 307
        assert (await entry.visitor.get("/leagues/nothing/")).status == 404
        stream = await stack.enter_async_context(session.get(f"{root}/events?form=json"))
        assert (await stream.content.readline()).startswith(b"retry")
        await stack.enter_async_context(players(homes[0], f"{root}/mcp", ["Ann", "Bob"]))
        await stack.enter_async_context(players(homes[0], f"{root}/mcp", ["Cid", "Dora"], dial_out=True))
        await owner.wait_for_end("spring")
        results = owner.manager("spring").state.results
        assert len(results) == 6
        assert {result.outcome for result in results.values()} <= {"WIN", "DRAW"}
        news = b""
        while b"Dora" not in news:
            news = await stream.content.readline()
        health = json.loads((await entry.visitor.get("/leagues/spring/health")).text)
        assert health["role"] == "league_manager"


async def test_what_is_no_passed_call_gets_nothing_at_the_internal_listener(homes: list[Path], database: str) -> None:
    async with (
        asyncio.timeout(BOUND),
        entry_and_owner(homes, database) as (_, owner),
        aiohttp.ClientSession() as session,
    ):
        inside = owner.server.settings.internal_url
        assert inside is not None
        for path in ("/", "/health", "/metrics", "/leagues/spring/", "/leagues/spring/health"):
            async with session.get(f"{inside}{path}", headers={PASSED_HEADER.decode(): "x.y"}) as answer:
                assert answer.status == 403


BEHIND = {"network.public_url": "http://127.0.0.1/base", "network.trusted_proxies": ["127.0.0.1"]}


async def test_organisers_teams_and_mcp_sessions_come_through_the_other_server(
    homes: list[Path], database: str
) -> None:
    async with asyncio.timeout(BOUND), entry_and_owner(homes, database, BEHIND) as (entry, owner):
        cookie = await sign_in(entry, "spring")
        page = (await entry.visitor.get("/base/leagues/spring/organiser", cookie=cookie)).text
        fields = {"csrf": csrf_in(page), "action": "CLOSE_REGISTRATION", "reason": "x"}
        done = await post_form(entry, "/leagues/spring/organiser", cookie, **fields)
        assert (done.status, done.headers["location"]) == (303, "/base/leagues/spring/organiser")
        state = owner.manager("spring").state
        assert (state.is_registration_open, state.audit_log[-1].who) == (False, "Ada")
        key = create_key()
        owner.server.access.write_teams([TeamRow("spring", "T1", "Team One", key_sha256=hash_key(key))])
        team = await entry.visitor.get(f"/leagues/spring/join/{key}/")
        assert (team.status, "Team One" in team.text) == (200, True)
        for path in (f"/leagues/spring/join/{create_key()}/", f"/leagues/spring/join/{key[:-1]}%{ord(key[-1]):x}/"):
            assert (await entry.visitor.get(path)).status == (await owner.visitor.get(path)).status != 200
        accept = {"accept": "application/json, text/event-stream"}
        begun = await entry.visitor.post("/leagues/spring/mcp", HANDSHAKE, **accept)
        assert begun.status == 200, begun.text
        session = begun.headers["mcp-session-id"]
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        headers = {**accept, "mcp_session_id": session, "mcp_protocol_version": "2025-11-25"}
        assert "get_standings" in (await entry.visitor.post("/leagues/spring/mcp", asked, **headers)).text


async def test_limits_of_addresses_count_the_caller_through_whichever_server_it_comes(
    homes: list[Path], database: str
) -> None:
    limits = {**BEHIND, "security.rate_limit_per_sec": 0.001, "security.rate_limit_burst": 1}
    async with asyncio.timeout(BOUND), entry_and_owner(homes, database, limits) as (entry, owner):
        path, statuses = "/leagues/spring/schedule", []
        for server, caller in (
            (entry, "203.0.113.1"),
            (entry, "203.0.113.2"),
            (owner, "203.0.113.1"),
            (entry, "evil, 203.0.113.2"),
        ):
            statuses.append((await server.visitor.get(path, x_forwarded_for=caller)).status)
        assert statuses == [200, 200, 429, 429]


async def test_an_agent_that_waits_for_a_call_at_a_server_that_stops_is_told_to_come_again_and_keeps_its_seat(
    homes: list[Path], database: str
) -> None:
    carrier = HttpCarrier()
    write_league(homes[0], "spring")
    async with asyncio.timeout(BOUND), serving(homes[0], store=database) as owner:
        async with serving(homes[1], store=database) as entry:
            dial, seats = f"{entry.root}/leagues/spring/dial", owner.manager("spring").seats
            opened = json.loads((await carrier.exchange(f"{dial}/open", b"{}", BOUND, None))[1])
            waiting = asyncio.create_task(carrier.exchange(f"{dial}/next", b"{}", BOUND, opened["secret"]))
            await until(lambda: count_polls(seats, opened) == 1)
        status, body = await waiting
        assert (status, "try again in a moment" in body.decode()) == (503, True)
        again = await carrier.exchange(f"{owner.root}/leagues/spring/dial/open", b"{}", BOUND, opened["secret"])
        assert json.loads(again[1])["seat"] == opened["seat"]
    await carrier.close()
