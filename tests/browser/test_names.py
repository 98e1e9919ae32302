"""Names, answers and reasons that agents made up to do harm are shown as they are, on every page, and do none."""

import re

import pytest

from tests.browser.crawling import crawl
from tests.browser.stage import NAMES, League
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor
from tests.harm import IMAGE

pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT)
pytestmark = pytest.mark.asyncio(loop_scope="package")

PEOPLE = re.compile(r"/(cross-table|players)?$")
"""Pages that name everybody."""


async def test_what_means_harm_is_shown_literally_on_every_page(finished: League, visitor: Visitor) -> None:
    texts = await crawl(await visitor.look(finished.url))
    matches = [text for path, text in texts.items() if path.startswith("/matches/")]
    assert len(matches) == 6
    assert len([path for path in texts if path.startswith("/players/")]) == 4
    for path, text in texts.items():
        if PEOPLE.search(path):
            assert [name for name in NAMES if name not in text] == [], path
    assert sum(f'"{IMAGE}"' in text for text in matches) == 3  # what the guest answered in each of its matches
