"""The pages of a class in a real browser: index, my agent, organiser, ladder; followed, answered and for everybody."""

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from agent_league.config.home import make_home
from tests.browser.class_stage import CLASS_NAMES, COMING, PRACTICE, ClassStage, class_stage
from tests.browser.test_access import faults, overflow
from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor
from tests.serve.stage import players, until

if TYPE_CHECKING:
    from playwright.async_api import Page

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def term(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClassStage]:
    home = tmp_path_factory.mktemp("class") / "SHARED"
    make_home(home)
    async with class_stage(home) as stage:
        manager = stage.stage.manager(PRACTICE)
        await until(
            lambda: manager.state.ladder is not None and len(manager.state.ladder.players) == 1 + len(CLASS_NAMES)
        )
        yield stage


async def sign_in(visitor: Visitor, term: ClassStage, **how: object) -> "Page":
    """The organiser's page of the league to come, by a link and its button."""
    page = await visitor.look(term.invite("Ada", COMING), **how)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Organiser", exact=True)).to_be_visible()
    return page


async def test_the_index_counts_down_by_itself_and_follows_the_leagues(term: ClassStage, visitor: Visitor) -> None:
    page = await visitor.look(term.root)
    await page.clock.install()
    await page.reload()
    autumn = page.locator("li.league", has_text="Autumn League")
    closes = autumn.locator("p.next span[data-until]")
    await expect(closes).to_have_text(re.compile(r"\(in 3 days 1[12] h\)"))
    await page.clock.fast_forward("48:00:00")
    await expect(closes).to_have_text(re.compile(r"\(in 3[56] h \d+ min\)"))
    await page.clock.fast_forward("36:00:00")
    await expect(closes).to_have_text("(now)")
    await expect(page.locator("li.league", has_text="Spring Cup")).to_contain_text("Won by")
    await page.clock.resume()
    key = term.keys["Ada"]
    async with players(term.stage.server.settings.home, f"{term.league(COMING)}/join/{key}/mcp", ["Newcomer"]):
        await expect(autumn).to_contain_text("1 player")


async def test_a_match_is_asked_for_and_the_other_team_is_told_and_accepts(term: ClassStage, visitor: Visitor) -> None:
    ada, bo = await visitor.look(term.own_page("Ada")), await visitor.look(term.own_page("Bo"), viewport=PHONE)
    manager = term.stage.manager(PRACTICE)
    ids = {one.agent.display_name.split()[-1]: one.agent_id for one in manager.state.roster}
    await ada.get_by_label("Against").select_option(ids["Bo"])
    await ada.get_by_role("button", name="Ask").click()
    await expect(ada.locator("#said")).to_contain_text(f"waits until {ids['Bo']} accepts it")
    await expect(ada.locator(".requests")).to_contain_text("not answered yet")
    await expect(bo.locator(".asked")).to_contain_text("Agent Ada")
    await bo.get_by_role("button", name="Decline").click()
    await expect(bo.locator("#said")).to_contain_text("is declined")
    await expect(bo.locator(".asked")).to_have_count(0)
    await expect(ada.locator(".requests")).to_have_count(0)
    await ada.get_by_label("Against").select_option(ids["Bo"])
    await ada.get_by_role("button", name="Ask").click()
    await bo.get_by_role("button", name="Accept").click()
    await expect(bo.locator("#said")).to_contain_text("as soon as both are free")
    pair = {ids["Ada"], ids["Bo"]}
    await until(lambda: any(set(result.players) == pair for result in manager.state.results.values()))
    for page in (ada, bo):
        await expect(page.locator("table", has_text="Against")).to_contain_text("Agent")
        assert await faults(page) == []
        assert await overflow(page) <= 0


async def test_times_are_changed_from_a_phone_and_the_page_follows(term: ClassStage, visitor: Visitor) -> None:
    page = await sign_in(visitor, term, viewport=PHONE)
    await page.get_by_text("Change the times", exact=True).first.click()
    await page.get_by_label("Rounds", exact=True).fill("every now and then")
    await page.locator("#times-reason").fill("the room is taken")
    await page.locator("#change-times").get_by_role("button", name="Change the times").click()
    await expect(page.locator(".notice.refused")).to_contain_text("Rounds: Input should be a time of day")
    await expect(page.get_by_label("Rounds", exact=True)).to_have_value("every now and then")
    await page.get_by_label("Rounds", exact=True).fill("tue 19:00")
    await page.locator("#change-times").get_by_role("button", name="Change the times").click()
    await expect(page.locator(".notice").first).to_contain_text("rounds: tue 19:00")
    assert term.stage.manager(COMING).state.config.times.rounds == ("tue 19:00",)
    await expect(page.locator("[data-live=organiser]")).to_contain_text("the room is taken")
    await page.get_by_text("Change the times", exact=True).first.click()
    await page.get_by_label("Holidays", exact=True).fill("2099-12-24")
    key = term.keys["Bo"]
    async with players(term.stage.server.settings.home, f"{term.league(COMING)}/join/{key}/mcp", ["Newcomer"]):
        await expect(page.locator("table.ready")).to_contain_text("Newcomer")
    await expect(page.get_by_label("Holidays", exact=True)).to_have_value("2099-12-24")
    assert await faults(page) == []
    assert await overflow(page) <= 0


async def test_grades_are_looked_at_and_an_export_of_canvas_is_filled(term: ClassStage, visitor: Visitor) -> None:
    page = await sign_in(visitor, term)
    await page.get_by_role("link", name="Grades", exact=True).click()
    await expect(page.get_by_role("heading", name="The sheet")).to_be_visible()
    assert await faults(page) == []
    assert await overflow(page) <= 0
    export = "Student,ID,SIS User ID,SIS Login ID,Section\nAda Student,1,s1001,ada,A\n"
    await page.get_by_label("The gradebook").set_input_files(
        {"name": "export.csv", "mimeType": "text/csv", "buffer": export.encode()}
    )
    await page.get_by_role("button", name="Fill it").click()
    await expect(page.locator(".notice")).to_contain_text("The gradebook is filled")
    async with page.expect_download() as filled:
        await page.get_by_role("link", name="grades-canvas.csv").click()
    download = await filled.value
    assert download.suggested_filename == f"{COMING}-grades-canvas.csv"
    text = (await download.path()).read_text()
    assert [line.split(",")[2] for line in text.splitlines()] == ['"SIS User ID"', '"s1001"']


async def test_a_phone_shows_grades_and_the_ratings_of_a_ladder(term: ClassStage, visitor: Visitor) -> None:
    page = await sign_in(visitor, term, viewport=PHONE)
    await page.get_by_role("link", name="Grades", exact=True).click()
    grade = page.locator("td[data-label=Grade]").first
    box = await grade.bounding_box()
    assert box
    assert box["x"] + box["width"] <= PHONE["width"]
    own = await visitor.look(term.own_page(CLASS_NAMES[0]), viewport=PHONE)
    table = own.locator("table.ranked")
    await expect(table.get_by_role("columnheader")).to_have_text(["Rank", "Player", "Elo", "Played"])
    assert await overflow(own) <= 0


async def test_axe_finds_no_grave_fault_on_index_and_ladder(term: ClassStage, visitor: Visitor) -> None:
    for address in (term.root, f"{term.league(PRACTICE)}/", f"{term.root}/archive"):
        page = await visitor.look(address)
        assert await faults(page) == []
        assert await overflow(page) <= 0
