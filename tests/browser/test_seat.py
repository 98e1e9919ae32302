"""A person takes a seat in the browser and plays, with the time that is left in view."""

import re
from pathlib import Path

import pytest

from tests.browser.stage import league_at
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe"])
async def test_a_person_finishes_a_match_against_the_clock(game: str, tmp_path: Path, visitor: Visitor) -> None:
    async with league_at(tmp_path / "SHARED", game=game, players=1, awaited=2, move_seconds=30) as league:
        await league.start_manager()
        await league.start_agents()
        page = await visitor.look(f"{league.url}play")
        await page.get_by_label("Your name").fill("<i>Ada</i>")
        await page.get_by_role("button", name="Take a seat").click()
        await expect(page.get_by_role("heading", name="<i>Ada</i>")).to_be_visible()
        seconds = page.locator("#seconds")
        await expect(seconds).to_have_text(re.compile(r"^\d+$"))
        left = int(await seconds.inner_text())
        assert 0 < left <= 30
        await expect(page.locator("#countdown-bar")).to_be_visible()
        await expect(seconds).not_to_have_text(str(left))
        assert int(await seconds.inner_text()) < left
        over = page.get_by_role("heading", name="The league is over")
        move = page.locator("#part-now button[data-place]:not(.chosen)")
        moves = 0
        await expect(over.or_(move.first)).to_be_visible()
        while not await over.is_visible():
            turn = await page.locator("#turn").get_attribute("data-turn")
            await move.first.click()
            moves += 1
            await expect(page.locator(f"#turn[data-turn={turn}]")).to_have_count(0)
            await expect(over.or_(move.first)).to_be_visible()
        await league.over()
        assert moves >= (1 if game == "even_odd" else 2)
        await expect(page.locator("#part-last .chip")).to_have_text(re.compile("^[WDL]$"))
        (own,) = [row for row in league.standings() if row.display_name == "<i>Ada</i>"]
        assert own.played == 1
        await expect(page.locator("#part-table tr.own td").last).to_have_text(str(own.points))
