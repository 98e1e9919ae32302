"""The exported site, opened from a folder: no server, and yet every page, every step and no complaint."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.browser.crawling import crawl
from tests.browser.stage import NAMES, League
from tests.browser.visitor import NO_PLAYWRIGHT, Visitor
from tests.cli.command import league as command

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def site(finished: League, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    folder = tmp_path_factory.mktemp("exported") / "site"
    done = await asyncio.to_thread(command, "export", "--html", folder, "--home", finished.home)
    assert done.returncode == 0, done.stderr
    yield folder


async def test_every_page_of_the_site_opens_from_a_folder_and_shows_names_literally(
    site: Path, visitor: Visitor
) -> None:
    texts = await crawl(await visitor.look((site / "index.html").as_uri()))
    told = {Path(path).relative_to(site).as_posix(): text for path, text in texts.items()}
    assert len([path for path in told if path.startswith("matches/")]) == 6
    for path in ("index.html", "players.html", "cross-table.html"):
        assert [name for name in NAMES if name not in told[path]] == [], path


async def test_a_match_of_the_site_is_stepped_through(finished: League, site: Path, visitor: Visitor) -> None:
    page = await visitor.look((site / "matches" / f"{finished.whole_match}.html").as_uri())
    await page.get_by_role("button", name="First step").click()
    await expect(page.locator(".step:visible")).to_have_attribute("data-step", "0")
    await page.keyboard.press("ArrowRight")
    await expect(page.locator(".step:visible")).to_have_attribute("data-step", "1")


async def test_the_table_of_the_site_is_the_store_s(finished: League, site: Path, visitor: Visitor) -> None:
    page = await visitor.look((site / "index.html").as_uri())
    points = await page.locator("[data-live=standings] td.points").all_inner_texts()
    assert points == [str(row.points) for row in finished.standings()]
