"""A match on its page: stepped through with buttons and keys, and its messages one click away."""

import json
import re

import pytest

from tests.browser.stage import League
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.fixture
def leagues(finished: League, boards: dict[str, League]) -> dict[str, League]:
    return {"even_odd": finished, **boards}


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe", "connect_four"])
async def test_a_match_is_stepped_through_with_buttons_and_keys(
    game: str, leagues: dict[str, League], visitor: Visitor
) -> None:
    page = await visitor.look(f"{leagues[game].url}matches/{leagues[game].whole_match}")
    steps = page.locator(".step")
    last = await steps.count() - 1
    assert last >= 2

    async def at(number: int) -> None:
        await expect(page.locator(".step:visible")).to_have_attribute("data-step", str(number))

    await at(last)
    await page.get_by_role("button", name="First step").click()
    await at(0)
    await expect(page.get_by_role("button", name="Previous step")).to_be_disabled()
    await page.get_by_role("button", name="Next step").click()
    await at(1)
    await page.get_by_role("button", name="Last step").click()
    await at(last)
    await page.locator("#game .played .window").focus()
    for number in reversed(range(last)):
        await page.keyboard.press("ArrowLeft")
        await at(number)
    await page.keyboard.press("ArrowRight")
    await at(1)
    await page.keyboard.press("End")
    await at(last)
    await page.keyboard.press("Home")
    await at(0)


async def test_each_step_of_a_board_shows_one_more_move(boards: dict[str, League], visitor: Visitor) -> None:
    page = await visitor.look(f"{boards['tic_tac_toe'].url}matches/R1M1")
    told = await page.locator(".step svg").evaluate_all(
        "boards => boards.map(board => board.getAttribute('aria-label'))"
    )
    assert len(told) >= 6
    assert [len(re.findall(r"\b[XO]\b", board)) for board in told] == list(range(len(told)))


async def test_the_json_of_every_message_is_one_click_away(finished: League, visitor: Visitor) -> None:
    page = await visitor.look(f"{finished.url}matches/R1M1")
    messages = page.locator("li.message")
    assert await messages.count() > 4
    first = messages.first.locator("details")
    await expect(first.locator("pre")).to_be_hidden()
    await first.locator("summary").click()
    await expect(first.locator("pre")).to_be_visible()
    said = json.loads(await first.locator("pre").inner_text())
    assert said["message_type"] == "GAME_INVITATION"
    assert not re.search(r"tok-\w+-\w{8}", await page.content())


async def test_a_step_can_be_linked_to(boards: dict[str, League], visitor: Visitor) -> None:
    page = await visitor.look(f"{boards['connect_four'].url}matches/R1M1#step=2")
    await expect(page.locator(".step:visible")).to_have_attribute("data-step", "2")
