"""A league followed from its first registration to its last result, on one page that is never loaded again."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.browser.stage import Hold, League, league_at
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor, texts

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")

ROWS = "[data-live=standings] tbody tr"


async def shown(page: "Page") -> list[tuple[str, ...]]:
    """The table on the page: rank, name, played, won, drawn, lost, points."""
    rows = await page.locator(ROWS).evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => (cell.querySelector('bdi') ?? cell).textContent.trim()))"
    )
    return [(row[0], row[2], *row[3:8]) for row in rows]


def stored(league: League) -> list[tuple[str, ...]]:
    rows = league.standings()
    return [
        tuple(map(str, (row.shared_rank, row.display_name, row.played, row.wins, row.draws, row.losses, row.points)))
        for row in rows
    ]


async def listeners(league: League) -> int:
    """Those who follow the league, as the manager tells it to machines."""
    async with aiohttp.ClientSession() as session, session.get(f"{league.url}metrics") as answer:
        found = re.search(r"^agent_league_listeners (\d+)", await answer.text(), re.M)
    assert found
    return int(found[1])


async def marked(page: "Page") -> bool:
    """Whether this is still the page that was loaded first."""
    return bool(await page.evaluate("window.isTheSame === true"))


async def finished_on(page: "Page") -> None:
    await expect(page.locator("#league-state")).to_have_attribute("data-phase", "COMPLETED")


async def test_a_league_is_followed_to_its_end_and_its_table_is_the_store_s(tmp_path: Path, visitor: Visitor) -> None:
    hold = Hold()
    async with league_at(tmp_path / "SHARED", players=4, strategy=hold) as league:
        await league.start_manager()
        page = await visitor.look(league.url)
        await page.evaluate("window.isTheSame = true")
        await expect(page.locator("#connection")).to_have_text("Live")
        assert await listeners(league) == 1
        await league.start_agents()
        await expect(page.get_by_role("heading", name="Round 1")).to_be_visible()
        await expect(page.locator("[data-live=round] li.playing")).to_have_count(2)
        hold.let(4)
        await expect(page.get_by_role("heading", name="Round 2")).to_be_visible()
        await expect(page.locator("[data-live=progress]")).to_contain_text(re.compile(r"2\s+of 6 matches"))
        hold.open()
        await league.over()
        await finished_on(page)
        assert await shown(page) == stored(league)
        assert len(await shown(page)) == 4
        await expect(page.get_by_role("heading", name="Final table")).to_be_visible()
        assert await marked(page)


async def test_a_page_that_was_cut_off_says_so_and_is_right_again_afterwards(tmp_path: Path, visitor: Visitor) -> None:
    hold = Hold()
    async with league_at(tmp_path / "SHARED", players=4, strategy=hold) as league:
        await league.start_manager()
        page = await visitor.look(league.url)
        await page.evaluate("window.isTheSame = true")
        await league.start_agents()
        await expect(page.get_by_role("heading", name="Round 1")).to_be_visible()
        visitor.is_cut_off = True
        await league.stop("manager")
        await expect(page.locator("#connection")).to_contain_text("Not connected")
        hold.open()
        await league.start_manager()
        await expect(page.locator("#connection")).to_have_text("Live")
        visitor.is_cut_off = False
        await league.over()
        await finished_on(page)
        assert await shown(page) == stored(league)
        assert await marked(page)
        assert await texts(page, "[data-live=round] li.playing") == []


async def test_a_page_believes_neither_a_silent_line_nor_one_that_is_offline(tmp_path: Path, visitor: Visitor) -> None:
    async with league_at(tmp_path / "SHARED") as league:
        await league.start_manager()
        page = await visitor.look(league.url)
        line = page.locator("#connection")
        await expect(line).to_have_text("Live")
        visitor.is_cut_off = True
        await page.context.set_offline(True)
        await expect(line).to_contain_text("Not connected")
        await page.context.set_offline(False)
        await expect(line).to_have_text("Live")
        visitor.is_cut_off = False
        await page.clock.install(time=0)
        await page.reload()
        await expect(line).to_have_text("Live")
        await page.clock.pause_at(60_000)
        await expect(line).to_contain_text("Not connected")
        await page.clock.resume()
        await expect(line).to_have_text("Live")
