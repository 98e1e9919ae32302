"""A person takes a seat in the browser and plays, with the time that is left in view."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.stage import league_at
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def seated(page: "Page", name: str) -> None:
    """Takes a seat under this name."""
    await page.get_by_label("Your name").fill(name)
    await page.get_by_role("button", name="Take a seat").click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()


async def click_to_the_end(page: "Page") -> int:
    """Clicks the first move of every turn until the league is over; returns how many turns there were."""
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
    return moves


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe"])
async def test_a_person_finishes_a_match_against_the_clock(game: str, tmp_path: Path, visitor: Visitor) -> None:
    async with league_at(tmp_path / "SHARED", game=game, players=1, awaited=2, move_seconds=30) as league:
        await league.start_manager()
        await league.start_agents()
        page = await visitor.look(f"{league.url}play")
        await seated(page, "<i>Ada</i>")
        seconds = page.locator("#seconds")
        await expect(seconds).to_have_text(re.compile(r"^\d+$"))
        left = int(await seconds.inner_text())
        assert 0 < left <= 30
        await expect(page.locator("#countdown-bar")).to_be_visible()
        await expect(seconds).not_to_have_text(str(left))
        assert int(await seconds.inner_text()) < left
        moves = await click_to_the_end(page)
        await league.over()
        assert moves >= (1 if game == "even_odd" else 2)
        await expect(page.locator("#part-last .chip")).to_have_text(re.compile("^[WDL]$"))
        (own,) = [row for row in league.standings() if row.display_name == "<i>Ada</i>"]
        assert own.played == 1
        await expect(page.locator("#part-table tr.own td").last).to_have_text(str(own.points))


async def test_a_seat_comes_back_by_itself_when_the_manager_does(tmp_path: Path, visitor: Visitor) -> None:
    async with league_at(tmp_path / "SHARED", game="tic_tac_toe", players=1, awaited=2, move_seconds=300) as league:
        await league.start_manager()
        page = await visitor.look(f"{league.url}play")
        await seated(page, "Ada")
        await page.evaluate("window.isTheSame = true")
        line, now = page.locator("#connection"), page.locator("#part-now")
        await expect(now).to_contain_text("The league starts with 1 more player and 1 more referee")
        visitor.is_cut_off = True
        await league.stop("manager")
        await expect(line).to_contain_text("Not connected")
        await expect(now).to_contain_text("The league manager has stopped")
        await league.start_manager()
        await expect(line).to_have_text("Live")
        await expect(now).to_contain_text("You have a seat")
        await league.start_agents()
        cell = page.locator("#part-now button[data-place]").first
        await expect(cell).to_be_visible()
        await league.stop("manager")
        await expect(now).to_contain_text("The league manager has stopped")
        await league.start_manager()
        await expect(line).to_have_text("Live")
        await page.route("**/move", lambda route: route.abort())
        await cell.click()
        await expect(page.locator("#seat-problem")).to_contain_text("may not be in")
        await page.unroute("**/move")
        await cell.click()
        await expect(page.locator("#part-news")).to_contain_text("you play")
        assert await page.evaluate("window.isTheSame")


async def test_code_in_a_refusal_is_shown_as_code_and_nothing_in_it_as_a_tag(tmp_path: Path, visitor: Visitor) -> None:
    refusal = {"text": "<i>Ada</i> is taken; `league play <b>` is another way"}
    async with league_at(tmp_path / "SHARED", game="tic_tac_toe", players=1, awaited=2) as league:
        await league.start_manager()
        page = await visitor.look(f"{league.url}play")
        visitor.is_cut_off = True  # a browser complains about the 409
        await page.route("**/play", lambda route: route.fulfill(status=409, json=refusal))
        await page.locator("#seat-name").fill("Ada")
        await page.locator("#seat-button").click()
        problem = page.locator("#seat-problem")
        await expect(problem).to_have_text("<i>Ada</i> is taken; league play <b> is another way")
        assert await problem.locator("*").all_inner_texts() == ["league play <b>"]


async def test_a_move_on_a_broken_line_is_not_sent_and_one_that_nobody_answers_is_given_up(
    tmp_path: Path, visitor: Visitor
) -> None:
    async with league_at(tmp_path / "SHARED", game="tic_tac_toe", players=1, awaited=2, move_seconds=300) as league:
        await league.start_manager()
        await league.start_agents()
        page = await visitor.look(f"{league.url}play")
        await page.clock.install()
        await seated(page, "Ada")
        cell, problem = page.locator("#part-now button[data-place]").first, page.locator("#seat-problem")
        await expect(cell).to_be_visible()
        await page.route("**/move", lambda _: None)
        await cell.click()
        await expect(cell).to_have_class(re.compile("chosen"))
        await page.clock.fast_forward(9_000)
        await expect(problem).to_contain_text("may not be in")
        visitor.is_cut_off = True
        await page.context.set_offline(True)
        await expect(page.locator("#connection")).to_contain_text("Not connected")
        await cell.click()
        await expect(problem).to_contain_text("can't be sent")
        await page.unroute("**/move")
        await page.context.set_offline(False)
        await expect(page.locator("#connection")).to_have_text("Live")
        await cell.click()
        await expect(page.locator("#part-news")).to_contain_text("you play")
