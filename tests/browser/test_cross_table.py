"""The cross table in a browser: read without scrolling, its row and column lit, and a heat map of many players."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_league.model.looks import PlayerLook
from tests.browser.test_access import faults, list_scroll_boxes, overflow
from tests.browser.test_table import served
from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor
from tests.web.seasons import play_on, season_of

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")

ALIKE = (
    "The Extraordinarily Long Named Agent Of The First Team In Spring",
    "The Extraordinarily Long Named Agent Of The Second Team In Spring",
    "Fibonacci_the_unbroken_word_that_never_ends_1234567890",
)
"""Long names, two of which begin alike, and one is a single word."""
WIDE = {"width": 1400, "height": 900}


async def lit(page: "Page") -> list[str]:
    """The number of the column that is lit, and the rank of the row."""
    return await page.locator("thead th.lit").all_inner_texts() + await page.locator("tr.lit .rank").all_inner_texts()


@pytest.mark.parametrize(("players", "double"), [(30, False), (30, True), (60, False)])
async def test_a_table_is_read_without_scrolling_sideways(
    players: int, double: bool, tmp_path: Path, visitor: Visitor
) -> None:
    async with served(season_of(players, double=double), tmp_path) as url:
        page = await visitor.look(f"{url}cross-table", viewport=WIDE)
        last = page.locator("thead th").last
        await expect(last).to_be_in_viewport(ratio=1)
        await expect(last).to_have_text(str(players))
        name = page.locator("tbody th").first
        rank, player = await name.locator(".rank").bounding_box(), await name.locator("bdi").bounding_box()
        assert rank is not None
        assert player is not None
        assert abs(rank["y"] - player["y"]) < rank["height"] / 2, "a name stands beside its rank"
        box = page.locator(".cross")
        assert await box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
        assert await overflow(page) <= 0
        await page.evaluate("window.scrollTo(0, 600)")
        await expect(last).to_be_in_viewport(ratio=0.9)


@pytest.mark.parametrize(("players", "double", "width"), [(14, False, 390), (16, True, 390), (30, False, 700)])
async def test_columns_share_the_room_of_a_narrow_window(
    players: int, double: bool, width: int, tmp_path: Path, visitor: Visitor
) -> None:
    async with served(season_of(players, double=double, names=ALIKE), tmp_path) as url:
        page = await visitor.look(f"{url}cross-table", viewport={"width": width, "height": 844})
        await expect(page.locator("thead th").last).to_be_in_viewport(ratio=1)
        assert await list_scroll_boxes(page) == []
        assert await overflow(page) <= 0


async def test_row_and_column_are_lit_under_the_pointer_and_the_keyboard(tmp_path: Path, visitor: Visitor) -> None:
    async with served(season_of(8), tmp_path) as url:
        page = await visitor.look(f"{url}cross-table")
        cell = page.locator("tbody tr").nth(2).locator("td").nth(6)
        await cell.hover()
        assert await lit(page) == ["6", "3"]
        await page.mouse.move(1, 1)
        assert await lit(page) == []
        await cell.locator("a").focus()
        assert await lit(page) == ["6", "3"]
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowRight")
        assert await lit(page) == ["7", "4"]


async def test_a_heat_map_says_what_is_in_a_cell_and_leads_to_its_match(tmp_path: Path, visitor: Visitor) -> None:
    season = season_of(61, 1000, names=["<i>Ida</i>"], looks=[PlayerLook(sign="FX")] * 61)
    rows = season.standings()
    pair = {rows[1].player_id, rows[2].player_id}
    match_id = next(one.match_id for one in season.schedule.pairings if set(one.players) == pair)
    async with served(season, tmp_path) as url:
        page = await visitor.look(f"{url}cross-table", viewport=WIDE)
        heat = page.locator(".heat")
        assert await faults(page) == []
        await page.set_viewport_size({"width": 1400, "height": 900})
        await heat.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            await page.keyboard.press(key)
        await expect(page.locator(".readout")).to_contain_text(f"2 {rows[1].display_name}")
        await expect(page.locator(".readout")).to_contain_text(f"3 {rows[2].display_name} ({match_id})")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/matches/{match_id}")
        await page.go_back()
        diagonal = await page.locator(".diagonal").bounding_box()
        assert diagonal is not None
        side = diagonal["width"] / 61
        await page.mouse.move(diagonal["x"] + 1.5 * side, diagonal["y"] + 2.5 * side)
        await expect(page.locator(".readout")).to_contain_text(f"3 {rows[2].display_name}")
        await page.mouse.click(diagonal["x"] + 1.5 * side, diagonal["y"] + 2.5 * side)
        await page.wait_for_url(f"**/matches/{match_id}")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("", ".standings tbody th"),
        ("", ".matches .name"),
        ("table", "#table tbody th"),
        ("cross-table", ".cross tbody th"),
        ("schedule", ".pairings .one"),
        ("rounds/1", ".matches tbody td"),
        ("players", ".player-cards .who"),
        ("players/P05", ".meetings tbody th, .meetings tbody td"),
    ],
)
async def test_names_that_begin_alike_are_told_apart_on_a_phone(
    path: str, names: str, tmp_path: Path, visitor: Visitor
) -> None:
    async with served(season_of(14, 7 * 12 + 3, names=ALIKE), tmp_path) as url:
        page = await visitor.look(f"{url}{path}", viewport=PHONE)
        for word in ("First", "Second"):
            end = page.locator(names).locator("bdi span").filter(has_text=word).first
            await end.scroll_into_view_if_needed()
            name, seen = await end.evaluate(
                """end => { const room = end.closest("bdi").parentElement.getBoundingClientRect();
                const begin = document.createRange();
                begin.setStart(end.firstChild, 0);
                begin.setEnd(end.firstChild, 4);
                const box = begin.getBoundingClientRect();
                return [end.textContent, box.width > 0 && box.left >= room.left - 1 && box.right <= room.right + 1
                    && box.top >= room.top - 1 && box.bottom <= room.bottom + 1]; }"""
            )
            assert seen, f"{name!r} can be read"
        assert await overflow(page) <= 0
        if path != "cross-table":
            assert await list_scroll_boxes(page) == []


async def test_the_schedule_with_its_times_fits_a_phone(tmp_path: Path, visitor: Visitor) -> None:
    season = season_of(14, 0, names=ALIKE)
    async with served(season, tmp_path) as url:
        play_on(season, 7 * 4 + 3)
        page = await visitor.look(f"{url}schedule", viewport=PHONE)
        await expect(page.locator(".round-card time").first).to_be_visible()
        assert await overflow(page) <= 0
        assert await list_scroll_boxes(page) == []


@pytest.mark.parametrize("path", ["rounds/5", "referees", "protocol", "protocol/START_MATCH"])
async def test_tables_of_many_columns_fit_a_phone(path: str, tmp_path: Path, visitor: Visitor) -> None:
    async with served(season_of(14, 7 * 4 + 3, names=ALIKE), tmp_path) as url:
        page = await visitor.look(f"{url}{path}", viewport=PHONE)
        await expect(page.locator("tbody td").first).to_be_visible()
        assert await overflow(page) <= 0
        assert await list_scroll_boxes(page) == []
