"""A match on its page: stepped through with buttons and keys, and its messages one click away."""

import json
import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.browser.stage import League
from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor

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


async def test_times_are_those_of_the_reader_with_the_zone_and_utc_without_scripts(
    finished: League, visitor: Visitor
) -> None:
    address = f"{finished.url}matches/{finished.whole_match}"
    for scripted in (True, False):
        page = await visitor.look(address, timezone_id="Asia/Kolkata", locale="en-GB", java_script_enabled=scripted)
        time = page.locator(".facts time")
        moment = datetime.fromisoformat(str(await time.get_attribute("datetime")))
        shown = await time.inner_text()
        if scripted:
            assert f"{moment.astimezone(ZoneInfo('Asia/Kolkata')):%H:%M:%S}" in shown
            assert re.search(r"GMT\+5:30|IST", shown)
        else:
            assert shown == f"{moment:%Y-%m-%d %H:%M:%S} UTC"


async def test_clocks_follow_the_steps(boards: dict[str, League], visitor: Visitor) -> None:
    page = await visitor.look(f"{boards['tic_tac_toe'].url}matches/R1M1")
    clocks = page.locator("[data-clock]")
    ended = await clocks.all_inner_texts()
    await page.get_by_role("button", name="First step").click()
    await expect(clocks.first).to_have_text("0 s")
    await expect(clocks.last).to_have_text("0 s")
    await page.get_by_role("button", name="Last step").click()
    await expect(clocks.first).to_have_text(ended[0])
    assert ended[0] != "0 s"


async def test_on_a_phone_the_board_comes_first_and_is_in_sight(boards: dict[str, League], visitor: Visitor) -> None:
    page = await visitor.look(f"{boards['connect_four'].url}matches/R1M1", viewport=PHONE)
    board = page.locator(".step:visible svg.board")
    await expect(board).to_be_in_viewport(ratio=1)
    places = [await one.bounding_box() for one in (board, page.locator(".moves"), page.locator(".head"))]
    tops = [place["y"] for place in places if place]
    assert len(tops) == 3
    assert tops == sorted(tops)


async def test_one_match_leads_to_the_next_and_back(finished: League, visitor: Visitor) -> None:
    page = await visitor.look(f"{finished.url}matches/R1M1")
    await expect(page.locator("a[rel=prev]")).to_have_count(0)
    await page.locator("a[rel=next]").click()
    await page.wait_for_url("**/matches/R1M2")
    await page.locator("a[rel=prev]").press("Enter")
    await page.wait_for_url("**/matches/R1M1")
