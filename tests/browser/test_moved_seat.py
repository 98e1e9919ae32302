"""A person plays in the browser while the league goes to another server: the same page goes on with the same seat."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_league.config.home import make_home
from agent_league.serve import shared_leagues
from tests.browser.test_seat import seated
from tests.browser.visitor import NO_PLAYWRIGHT, PATIENCE_MS, Visitor
from tests.conftest import BOUND
from tests.serve.stage import players, serving, until, write_league
from tests.storage.conftest import database, postgres

__all__ = ["database", "postgres"]

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_page_goes_on_with_its_seat_at_the_league_s_next_server(
    tmp_path: Path, database: str, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_leagues, "POLL_SECONDS", 0.05)
    homes = [tmp_path / name / "SHARED" for name in ("one", "two")]
    for home in homes:
        make_home(home)
    write_league(homes[0], "spring", game_type="tic_tac_toe", participants={"start_with": 2})
    visitor.is_cut_off = True
    async with asyncio.timeout(2 * BOUND), AsyncExitStack() as stack:
        owning = AsyncExitStack()
        stack.push_async_callback(owning.aclose)
        owner = await owning.enter_async_context(serving(homes[0], store=database))
        entry = await stack.enter_async_context(serving(homes[1], store=database))
        assert "spring" in owner.server.leagues
        page = await visitor.look(f"{entry.root}/leagues/spring/play")
        await seated(page, "Ada")
        await page.evaluate("window.isTheSame = true")
        await stack.enter_async_context(players(homes[1], f"{entry.root}/leagues/spring/mcp", ["Bob"]))
        cell, turn = page.locator("#part-now button[data-place]"), page.locator("#turn")
        await expect(cell.first).to_be_visible()
        async with page.expect_response(lambda answer: "/events" in answer.url and answer.ok, timeout=PATIENCE_MS):
            await owning.aclose()
        await until(lambda: "spring" in entry.server.leagues and entry.server.leagues["spring"].manager is not None)
        await expect(page.locator("#connection")).to_have_text("Live")
        over = page.get_by_role("heading", name="The league is over")
        await expect(over.or_(cell.first)).to_be_visible()
        while not await over.is_visible():
            asked = await turn.get_attribute("data-turn")
            await cell.first.click()
            await expect(page.locator(f"#turn[data-turn={asked}]")).to_have_count(0)
            await expect(over.or_(cell.first)).to_be_visible()
        assert await page.evaluate("window.isTheSame"), "nobody has loaded it again"
        (result,) = entry.manager("spring").state.results.values()
        assert result.outcome in ("WIN", "DRAW")
        assert not result.terminations
