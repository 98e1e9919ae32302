"""Two real servers on one PostgreSQL: everything of a league can be had at the server that doesn't own it."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from agent_league.serve import shared_leagues
from agent_league.serve.passed_call import PASSED_HEADER
from tests.conftest import BOUND
from tests.serve.stage import ServerStage, players, serving, until, write_league


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
    homes: list[Path], store: str, **league: object
) -> AsyncIterator[tuple[ServerStage, ServerStage]]:
    """Two servers of which the second owns the league `spring`."""
    async with AsyncExitStack() as stack:
        stages = [await stack.enter_async_context(serving(one, store=store)) for one in homes]
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
