"""The index of a server's leagues: what comes next in each, who won, and news for those who look at it."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.serve import app
from tests.conftest import BOUND, free_ports
from tests.serve.stage import players, serving, write_league

COUNTDOWN = re.compile(r'data-until="([^"]+)">\(in (\d+) days')


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).replace(second=0, microsecond=0).isoformat()


async def test_the_index_counts_down_tells_news_and_goes_on_after_a_restart(home: Path) -> None:
    times = {"time_zone": "Europe/Berlin", "registration_closes": in_days(3.5), "start": in_days(4.5)}
    write_league(home, "autumn", times=times)
    write_league(home, "spring", participants={"start_with": 2})
    port = free_ports(1)
    async with asyncio.timeout(BOUND), serving(home, port) as stage:
        before = (await stage.visitor.get("/")).text
        assert re.findall(r'<p[^>]*>(Registration closes|The league starts): <time datetime="([^"]+)"', before) == [
            ("Registration closes", times["registration_closes"].replace("+00:00", "Z")),
            ("The league starts", times["start"].replace("+00:00", "Z")),
        ]
        assert [days for _, days in COUNTDOWN.findall(before)] == ["3", "4"]
        assert "Times are those of Europe/Berlin." in before
        last = re.search(r'data-last="([^"]+)"', before)
        assert last
        async with (
            stage.visitor.listening(f"?since={last[1]}") as stream,
            players(home, f"{stage.root}/leagues/spring/mcp", ["Ann", "Bob"]),
        ):
            news = await stream.next()
            assert news
            assert news.id
            await stage.wait_for_end("spring")
        after = (await stage.visitor.get("/")).text
        assert re.search(r"Won by (<bdi>)?(Ann|Bob)", after)
    async with (
        asyncio.timeout(BOUND),
        serving(home, port) as stage,
        stage.visitor.listening(f"?since={last[1]}") as stream,
    ):
        news = await stream.next()
        assert news
        assert news.id
        again = (await stage.visitor.get("/")).text
        assert [at for at, _ in COUNTDOWN.findall(again)] == [at for at, _ in COUNTDOWN.findall(before)]
        assert re.search(r"Won by (<bdi>)?(Ann|Bob)", again)


async def test_the_index_shows_nothing_of_a_league_before_it_is_saved(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, waiting = asyncio.Event(), asyncio.Event()

    async def wait_until_saved() -> None:
        waiting.set()
        await saved.wait()

    async def refuse() -> None:
        raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "its server has given it up")

    monkeypatch.setattr(app, "INDEX_SECONDS", 0.0)
    write_league(home, "spring")
    async with asyncio.timeout(BOUND), serving(home) as stage:
        manager = stage.manager("spring")
        monkeypatch.setattr(manager, "wait_until_saved", wait_until_saved)
        asked = asyncio.create_task(stage.visitor.get("/"))
        await waiting.wait()
        assert not asked.done()
        saved.set()
        assert (await asked).status == 200
        monkeypatch.setattr(manager, "wait_until_saved", refuse)
        moving = await stage.visitor.get("/")
        assert (moving.status, "try again in a moment" in moving.text) == (503, True)
