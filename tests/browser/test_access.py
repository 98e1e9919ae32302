"""Pages for everybody: axe finds no serious fault, in both themes, wide and narrow; the keyboard is enough."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.browser.stage import Hold, League, league_at
from tests.browser.visitor import DESKTOP, NO_PLAYWRIGHT, PHONE, Visitor

if TYPE_CHECKING:
    from playwright.async_api import Page, ViewportSize

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")

PAGES = (
    "",
    "table",
    "cross-table",
    "schedule",
    "rounds/1",
    "matches/R1M1",
    "matches/R2M2",
    "players",
    "players/P01",
    "agents",
    "referees",
    "game",
    "play",
    "protocol",
    "protocol/CHOOSE_PARITY_CALL",
)
GRAVE = ("serious", "critical")
MOST_TABS = 60
Theme = Literal["light", "dark"]
LOOKS: tuple[tuple[Theme, "ViewportSize", list[str]], ...] = (
    ("light", DESKTOP, []),
    ("dark", DESKTOP, ["color-contrast"]),
    ("dark", PHONE, ["color-contrast", "scrollable-region-focusable"]),
)
"""Themes and widths, and the rules to which they make a difference: all for the first."""


async def faults(page: "Page") -> list[str]:
    """What axe finds grave, in both themes and at both widths."""
    await page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = []
    for theme, size, rules in LOOKS:
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=theme)
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
        said: dict[str, Any] = await page.evaluate("options => axe.run(document, options)", options)
        found += [
            f"{theme} {size['width']}: {one['id']} at {node['target']}: {node['failureSummary']}"
            for one in said["violations"]
            if one["impact"] in GRAVE
            for node in one["nodes"]
        ]
    return found


async def overflow(page: "Page") -> int:
    """How far the page is wider than its window."""
    return int(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


async def list_scroll_boxes(page: "Page") -> list[str]:
    """What has to be scrolled by itself within the page; code may."""
    found: list[str] = await page.locator("main :not(pre)").evaluate_all(
        """all => all.filter(one => {
            const { overflowX, overflowY } = getComputedStyle(one), can = how => how === "auto" || how === "scroll";
            return (can(overflowX) && one.scrollWidth > one.clientWidth + 1)
                || (can(overflowY) && one.scrollHeight > one.clientHeight + 1);
        }).map(one => `${one.tagName} ${one.className}`)"""
    )
    return found


@pytest.mark.parametrize("path", PAGES)
async def test_axe_finds_no_grave_fault(path: str, finished: League, visitor: Visitor) -> None:
    page = await visitor.look(finished.url + path)
    assert await faults(page) == []
    assert await overflow(page) <= 0


async def test_axe_finds_no_grave_fault_where_there_is_nothing(finished: League, visitor: Visitor) -> None:
    visitor.is_cut_off = True  # a browser complains about the 404
    page = await visitor.look(f"{finished.url}matches/R9M9")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert await faults(page) == []


async def test_axe_finds_no_grave_fault_before_and_during_a_league(tmp_path: Path, visitor: Visitor) -> None:
    hold = Hold()
    async with league_at(tmp_path / "SHARED", players=2, awaited=3, strategy=hold) as league:
        await league.start_manager()
        page = await visitor.look(league.url)
        assert await faults(page) == []
        organiser = await visitor.look(f"{league.url}agents")
        await organiser.get_by_text("Organiser", exact=True).click()
        await organiser.get_by_label("Admin token").fill(league.admin_token)
        await organiser.get_by_role("button", name="Use this token").click()
        await league.start_agents()
        seat = await visitor.look(f"{league.url}play")
        assert await faults(seat) == []
        await seat.get_by_label("Your name").fill("Ada")
        await seat.get_by_role("button", name="Take a seat").click()
        await expect(page.get_by_role("heading", name="Round 1")).to_be_visible()
        hold.let(2)
        await expect(seat.locator("#part-now button[data-place]").first).to_be_visible()
        for shown in (page, seat, organiser):
            assert await faults(shown) == []
            assert await overflow(shown) <= 0
        hold.open()


async def tab_to(page: "Page", selector: str) -> None:
    """Goes on with the Tab key until it is there."""
    for _ in range(MOST_TABS):
        await page.keyboard.press("Tab")
        if await page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"{MOST_TABS} times Tab didn't lead to {selector}")


async def test_the_first_stop_of_the_keyboard_leads_to_the_content(finished: League, visitor: Visitor) -> None:
    page = await visitor.look(finished.url)
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.getElementById('content').contains(document.activeElement)")


async def test_a_match_is_found_and_stepped_through_with_the_keyboard_alone(finished: League, visitor: Visitor) -> None:
    page = await visitor.look(f"{finished.url}schedule")
    await tab_to(page, "a[href='/rounds/2']")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/rounds/2")
    await tab_to(page, "a[href^='/matches/']")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/matches/*")
    await tab_to(page, "#game .controls button")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Home")
    await expect(page.locator(".step:visible")).to_have_attribute("data-step", "0")
    await tab_to(page, ".message summary")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message details[open] pre")).to_be_visible()


async def test_the_focus_stays_where_it_is_while_the_page_follows_the_league(tmp_path: Path, visitor: Visitor) -> None:
    hold = Hold()
    async with league_at(tmp_path / "SHARED", players=4, strategy=hold) as league:
        await league.start_manager()
        page = await visitor.look(league.url)
        await league.start_agents()
        await expect(page.get_by_role("heading", name="Round 1")).to_be_visible()
        link = page.locator("[data-live=standings]").get_by_role("link").last
        name = await link.inner_text()
        await link.focus()
        hold.open()
        await expect(page.get_by_role("heading", name="Final table")).to_be_visible()
        assert await page.evaluate("document.activeElement.innerText") == name
