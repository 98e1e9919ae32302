"""The whole table in a browser: sorted, searched, one's own row found, while it follows the league."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_league.league.state import LeagueState
from agent_league.model.looks import PlayerLook
from agent_league.web.app import WebApp
from tests.browser.visitor import DESKTOP, NO_PLAYWRIGHT, PHONE, Visitor
from tests.web.seasons import play_on, reader_of, season_of
from tests.web.serving import visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")

ROWS = "#table tbody tr"
SHOWN = f"{ROWS}:not([hidden])"


@asynccontextmanager
async def served(season: LeagueState, home: Path) -> AsyncIterator[str]:
    """The address of a season's pages."""
    async with visiting(WebApp(reader_of(season, home))) as reached:
        yield f"{reached.base}/"


async def keys(page: "Page", selector: str = SHOWN) -> list[str]:
    found: list[str] = await page.locator(selector).evaluate_all("rows => rows.map(row => row.dataset.key)")
    return found


async def test_the_table_is_sorted_by_any_column_and_back(tmp_path: Path, visitor: Visitor) -> None:
    season = season_of(12, 30, names=["Zoe", "äsop", "Bob"], looks=[PlayerLook(sign="AAA"), PlayerLook(sign="ZZ")])
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}table")
        ranked = [row.player_id for row in season.standings()]
        assert await keys(page) == ranked
        await page.get_by_role("button", name="Lost").click()
        lost = {row.player_id: row.losses for row in season.standings()}
        assert await keys(page) == sorted(ranked, key=lambda player_id: -lost[player_id])
        await expect(page.get_by_role("columnheader", name="Lost")).to_have_attribute("aria-sort", "descending")
        await page.get_by_role("button", name="Lost").press("Enter")
        assert await keys(page) == sorted(ranked, key=lost.__getitem__)
        await page.get_by_role("button", name="Player", exact=True).click()
        assert (await keys(page))[:2] == ["P02", "P03"]
        assert (await keys(page))[-1] == "P01"
        await page.get_by_role("button", name="Rank").click()
        assert await keys(page) == ranked


async def test_names_are_searched_and_how_many_are_found_is_said(tmp_path: Path, visitor: Visitor) -> None:
    async with served(season_of(12, 30, names=["Zoë", "<b>Bob</b>"]), tmp_path) as url:
        page = await visitor.look(f"{url}table")
        await page.keyboard.press("/")
        await expect(page.get_by_label("Search players")).to_be_focused()
        await page.keyboard.type("zoe")
        assert await keys(page) == ["P01"]
        await expect(page.locator(".found")).to_have_text("1 of 12 players")
        await page.get_by_label("Search players").fill("<B>")
        assert await keys(page) == ["P02"]
        await page.get_by_label("Search players").fill("player 1")
        assert sorted(await keys(page)) == ["P10", "P11", "P12"]
        await page.get_by_label("Search players").fill("")
        assert len(await keys(page)) == 12


async def test_ones_own_row_is_remembered_found_and_always_in_sight(tmp_path: Path, visitor: Visitor) -> None:
    season = season_of(300, 600)
    own = season.standings()[250].player_id
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}table")
        await page.get_by_role("button", name="Find me").click()
        await expect(page.locator(".found")).to_contain_text("Which player are you?")
        await page.locator(f"#{own} .me").click()
        await expect(page.locator(f"#{own} .me")).to_have_attribute("aria-pressed", "true")
        await page.reload()
        await expect(page.locator("tr.mine")).to_have_attribute("data-key", own)
        await page.evaluate("window.scrollTo(0, 0)")
        await expect(page.locator("tr.mine th")).to_be_in_viewport()
        await page.get_by_label("Search players").fill("nobody")
        await page.get_by_role("button", name="Find me").click()
        assert await page.evaluate("window.scrollY") > 3000
        await expect(page.locator(f"#{own} th a")).to_be_focused()
        await expect(page.locator("thead th").first).to_be_in_viewport()
        await page.locator(f"#{own} .me").click()
        await expect(page.locator("tr.mine")).to_have_count(0)


async def test_the_question_who_one_is_stays_while_the_table_follows_the_league(
    tmp_path: Path, visitor: Visitor
) -> None:
    season = season_of(12, 0)
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}table")
        await expect(page.locator("#connection")).to_have_text("Live")
        await page.get_by_role("button", name="Find me").click()
        play_on(season, 66)
        await expect(page.locator("#P10 td.points")).to_have_text(
            str(next(row.points for row in season.standings() if row.player_id == "P10"))
        )
        await expect(page.locator(".found")).to_contain_text("Which player are you?")
        await page.locator("#P10 .me").click()
        await expect(page.locator(".found")).to_have_text("")


async def test_what_is_searched_and_sorted_stays_while_the_table_follows_the_league(
    tmp_path: Path, visitor: Visitor
) -> None:
    season = season_of(12, 0)
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}table")
        await expect(page.locator("#connection")).to_have_text("Live")
        await page.get_by_label("Search players").fill("player 1")
        await page.get_by_role("button", name="Lost").click()
        await page.locator("#P10 .me").click()
        await page.get_by_label("Search players").focus()
        play_on(season, 66)
        await expect(page.locator("#P10 td.points")).to_have_text(
            str(next(row.points for row in season.standings() if row.player_id == "P10"))
        )
        lost = {row.player_id: row.losses for row in season.standings()}
        found = await keys(page)
        assert sorted(found) == ["P01", "P10", "P11", "P12"]
        assert [lost[one] for one in found] == sorted((lost[one] for one in found), reverse=True)
        await expect(page.locator("tr.mine")).to_have_attribute("data-key", "P10")
        await expect(page.get_by_role("columnheader", name="Lost")).to_have_attribute("aria-sort", "descending")
        await expect(page.get_by_label("Search players")).to_be_focused()
        await expect(page.get_by_label("Search players")).to_have_value("player 1")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["wide", "phone"])
async def test_only_the_page_scrolls_and_the_head_stays(size: dict[str, int], tmp_path: Path, visitor: Visitor) -> None:
    async with served(season_of(60, 300), tmp_path) as url:
        page = await visitor.look(f"{url}table", viewport=size)
        boxes = await page.evaluate(
            "[...document.querySelectorAll('main *')].filter(one => one.scrollHeight > one.clientHeight + 1"
            " && ['auto', 'scroll'].includes(getComputedStyle(one).overflowY)).length"
        )
        assert boxes == 0
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        await page.evaluate("window.scrollTo(0, 1500)")
        assert await page.evaluate("document.querySelector('#table thead th').getBoundingClientRect().top") == 0
        await expect(page.locator(ROWS).first).not_to_be_in_viewport()


async def test_without_scripts_the_table_is_read_all_the_same(tmp_path: Path, visitor: Visitor) -> None:
    async with served(season_of(12, 30), tmp_path) as url:
        page = await visitor.look(f"{url}table", java_script_enabled=False)
        await expect(page.locator(ROWS)).to_have_count(12)
        await expect(page.locator(".tools")).to_be_hidden()
        await expect(page.locator(".me").first).to_be_hidden()
