"""One browser for all tests of a worker, and leagues that several of them look at. What is missing is said."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.browser.stage import NAMES, League, played
from tests.browser.visitor import NO_PLAYWRIGHT, PATIENCE_MS, Visitor
from tests.harm import IMAGE

if TYPE_CHECKING:
    from playwright.async_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> "AsyncIterator[Browser]":
    playwright = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("the pages are tested in Chromium: apt-get install chromium")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=found, args=["--disable-dev-shm-usage"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="package")
async def visitor(browser: "Browser") -> AsyncIterator[Visitor]:
    """Whoever looks; in the end nothing may have gone wrong."""
    visitor = Visitor(browser)
    yield visitor
    await visitor.close()
    assert visitor.faults == []


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def finished(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[League]:
    """A league of even_odd that is over, whose players have names that mean harm; one answered with harm, too."""
    home = tmp_path_factory.mktemp("even_odd") / "SHARED"
    async with played(home, names=NAMES, players=3, guest=("Mallory <b>", IMAGE)) as league:
        yield league


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def boards(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, League]]:
    """Leagues of two players on boards, by the game."""
    async with AsyncExitStack() as leagues:
        yield {
            game: await leagues.enter_async_context(
                played(tmp_path_factory.mktemp(game) / "SHARED", game=game, players=2)
            )
            for game in ("tic_tac_toe", "connect_four")
        }
