"""Reports of commands in a browser: whole at any width, and in the colours of the page they are part of."""

from pathlib import Path

import pytest

from agent_league.lab.evaluation.report import render_html
from tests.browser.test_access import overflow
from tests.browser.visitor import DESKTOP, NO_PLAYWRIGHT, PHONE, Visitor
from tests.lab.test_report import evaluation, games, opponent

pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT)
pytestmark = pytest.mark.asyncio(loop_scope="package")

CUT = """charts => charts.flatMap(chart => { const room = chart.closest("figure").getBoundingClientRect();
    return [...chart.querySelectorAll("text")].filter(one => { const box = one.getBoundingClientRect();
        return box.left < room.left || box.right > room.right; }).map(one => one.textContent); })"""


async def test_no_chart_of_a_report_is_cut_and_its_ground_is_the_cards(tmp_path: Path, visitor: Visitor) -> None:
    page_file = tmp_path / "evaluation.html"
    against = [opponent(name, games(24, 9, 7)) for name in ("random", "always first", "mirror")]
    page_file.write_text(render_html(evaluation(*against)), encoding="utf-8")
    page = await visitor.look(page_file.as_uri(), color_scheme="dark")
    for size in (DESKTOP, PHONE):
        await page.set_viewport_size(size)
        assert await overflow(page) <= 0
        assert await page.locator("figure svg").evaluate_all(CUT) == []
        assert await page.locator("figure .paper").first.evaluate("one => getComputedStyle(one).fill") == "none"
