"""One browser for all tests of a worker, and leagues that several of them look at. What is missing is said."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.browser.stage import NAMES, League, played
from tests.browser.visitor import Visitor, open_browser
from tests.harm import IMAGE

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> "AsyncIterator[Browser]":
    async with open_browser() as browser:
        yield browser


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
