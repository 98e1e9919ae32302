"""Bracket and groups in a browser: they follow the league without losing what a reader has opened or scrolled to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_league.agent.app import AgentApp
from agent_league.http.server import HttpServer
from agent_league.league.state import LeagueState
from agent_league.web.app import WebApp
from tests.browser.test_access import faults, overflow
from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor
from tests.conftest import free_ports
from tests.web.format_seasons import cup_season, knockout_season, swiss_season
from tests.web.seasons import play_on, reader_of

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def no_answer(_: bytes, __: str | None) -> bytes | None:
    return None


@asynccontextmanager
async def served(season: LeagueState, home: Path) -> AsyncIterator[str]:
    """The pages of a season on a port; their address."""
    port = free_ports(1)
    server = HttpServer(AgentApp(no_answer, dict, pages=WebApp(reader_of(season, home))), "127.0.0.1", port, "pages")
    await server.start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        await server.stop()


async def test_a_bracket_goes_on_under_the_reader_s_eyes(tmp_path: Path, visitor: Visitor) -> None:
    season = knockout_season(32, 3)
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}bracket", viewport=PHONE)
        picture = page.locator(".picture")
        await page.locator("summary").click()
        await picture.evaluate("one => one.scrollTo(196, 300)")
        await expect(page.locator("g.playing")).to_have_count(13)
        play_on(season, 13)
        await expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        await expect(page.locator("p.stage")).to_contain_text("Round of 32, extra game 1")
        assert await page.locator("details").evaluate("one => one.open"), "what was opened stays open"
        assert await picture.evaluate("one => [one.scrollLeft, one.scrollTop]") == [196, 300]
        heads, top = await page.locator(".heads").bounding_box(), await picture.bounding_box()
        assert heads
        assert top
        assert abs(heads["y"] - top["y"]) <= 1, "the headings stay while the picture is scrolled"
        visitor.is_cut_off = True


async def test_named_rounds_fit_a_phone(tmp_path: Path, visitor: Visitor) -> None:
    async with served(knockout_season(8, 5), tmp_path) as url:
        for path in ("schedule", "rounds/1"):
            page = await visitor.look(f"{url}{path}", viewport=PHONE)
            assert await page.locator("h2, h1").get_by_text("Quarter-finals").count()
            assert await overflow(page) <= 0


async def test_groups_go_on_and_then_the_bracket_begins(tmp_path: Path, visitor: Visitor) -> None:
    season = cup_season(8)
    async with served(season, tmp_path) as url:
        groups, bracket = await visitor.look(f"{url}groups"), await visitor.look(f"{url}bracket")
        await expect(groups.get_by_text("would go on")).to_have_count(4)
        await expect(bracket.get_by_text("The bracket is drawn when its stage begins.")).to_be_visible()
        play_on(season, 4)
        await expect(groups.get_by_text("goes on", exact=True)).to_have_count(4)
        await expect(bracket.locator("g.playing")).to_have_count(2)
        visitor.is_cut_off = True


@pytest.mark.parametrize("path", ["", "groups", "bracket", "rounds/4", "players/P01"])
async def test_axe_finds_no_grave_fault_in_a_cup(path: str, tmp_path: Path, visitor: Visitor) -> None:
    async with served(cup_season(13), tmp_path) as url:
        page = await visitor.look(f"{url}{path}")
        assert await faults(page) == []
        assert await overflow(page) <= 0
        visitor.is_cut_off = True


async def test_axe_finds_no_grave_fault_in_a_swiss_round(tmp_path: Path, visitor: Visitor) -> None:
    async with served(swiss_season(9, 9), tmp_path) as url:
        page = await visitor.look(f"{url}rounds/3")
        assert await faults(page) == []
        assert await overflow(page) <= 0
        visitor.is_cut_off = True


async def test_a_heading_leads_to_its_level(tmp_path: Path, visitor: Visitor) -> None:
    async with served(knockout_season(64), tmp_path) as url:
        page = await visitor.look(f"{url}bracket", viewport=PHONE)
        final = page.locator("g.series").last
        await expect(final).not_to_be_in_viewport()
        await page.get_by_role("link", name="Final", exact=True).click()
        await expect(final).to_be_in_viewport()
        visitor.is_cut_off = True
