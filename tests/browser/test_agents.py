"""The page of the agents in a browser: names keep their words whole, on whatever screen."""

from pathlib import Path

import pytest

from agent_league.model.names import MAX_NAME_LENGTH
from agent_league.web.app import WebApp
from tests.browser.visitor import DESKTOP, NO_PLAYWRIGHT, PHONE, Visitor
from tests.web.seasons import reader_of, season_of
from tests.web.serving import visiting

pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT)
pytestmark = pytest.mark.asyncio(loop_scope="package")

TABLET_WIDTH = 768
BROKEN_WORDS = """names => names.flatMap(name => {
    const text = name.firstChild, range = document.createRange();
    return [...text.data.matchAll(/\\S+/g)].filter(word => {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
    }).map(word => word[0]);
})"""


@pytest.mark.parametrize("width", [PHONE["width"], TABLET_WIDTH, DESKTOP["width"]])
async def test_names_of_agents_break_between_words_and_the_page_is_as_wide_as_the_screen(
    width: int, tmp_path: Path, visitor: Visitor
) -> None:
    endless = "W" * MAX_NAME_LENGTH
    season = season_of(4, 2, names=["Ann", "Team Blue of the Evening Class", "Negotiator", endless])
    season.bar_player("P02")  # the longest words for a state
    async with visiting(WebApp(reader_of(season, tmp_path))) as reached:
        page = await visitor.look(f"{reached.base}/agents", viewport={"width": width, "height": PHONE["height"]})
        names = page.locator(".agents tbody th bdi")
        assert await names.count() == 6, "four players and two referees"
        assert set(await names.evaluate_all(BROKEN_WORDS)) <= {endless}
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
