"""The organiser's panel: with the admin token a person starts, pauses, resumes and suspends from the page."""

import re
from pathlib import Path

import pytest

from agent_league.model.events import MatchFinished
from agent_league.model.results import Termination
from tests.browser.stage import Hold, league_at
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_league_is_started_paused_resumed_and_rid_of_a_player_from_the_page(
    tmp_path: Path, visitor: Visitor
) -> None:
    hold = Hold()
    async with league_at(tmp_path / "SHARED", players=3, awaited=0, strategy=hold) as league:
        await league.start_manager()
        await league.start_agents()
        page = await visitor.look(f"{league.url}agents")
        said, state = page.locator("#admin-said"), page.locator("#league-state")
        await page.get_by_text("Organiser", exact=True).click()
        await page.get_by_label("Admin token").fill("tok-admin-of-somebody-else")
        await page.get_by_role("button", name="Use this token").click()
        await page.get_by_role("button", name="Close registration").click()
        await expect(said).to_contain_text("This is not the admin token of this league.")
        await expect(state).to_have_attribute("data-open", "true")

        await page.get_by_label("Admin token").fill(league.admin_token)
        await page.get_by_role("button", name="Use this token").click()
        await page.get_by_role("button", name="Close registration").click()
        await expect(state).to_have_attribute("data-open", "false")
        await page.get_by_role("button", name="Start the league").click()
        await page.get_by_role("button", name="Start it").click()
        await expect(page.get_by_role("heading", name="Round 1")).to_be_visible()

        await page.get_by_role("button", name="Pause the league").click()
        await expect(state).to_have_attribute("data-paused", "true")
        hold.let(2)
        await expect(page.locator("[data-live=progress]")).to_contain_text(re.compile(r"1\s+of 3 matches"))
        await expect(page.locator("[data-live=round] li.playing")).to_have_count(0)
        await page.get_by_role("button", name="Resume the league").click()
        await expect(page.get_by_role("heading", name="Round 2")).to_be_visible()

        await page.get_by_label("Player", exact=True).select_option("P01")
        await page.get_by_role("button", name="Suspend", exact=True).click()
        await page.get_by_role("button", name="Suspend it").click()
        await expect(page.locator("[data-live=agents] tr[data-key=P01]")).to_contain_text("suspended by the organiser")
        hold.open()
        await league.over()
        await expect(state).to_have_attribute("data-phase", "COMPLETED")
        results = [event.result for event in league.events if isinstance(event, MatchFinished)]
        lost = [result for result in results if result.terminations.get("P01") is Termination.SUSPENDED]
        assert lost
        assert all(result.winner not in (None, "P01") for result in lost)
        assert await page.context.cookies() == []
