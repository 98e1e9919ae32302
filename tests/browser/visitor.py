"""Somebody who looks at pages in a real browser: whatever goes wrong there is a fault, and a test ends without any."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import BOUND

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, ViewportSize

PATIENCE_MS = BOUND * 1000
"""For a busy machine; nothing waits so long where all is well."""
NO_PLAYWRIGHT = "the pages are tested in a browser through playwright, which `./league test` installs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP: "ViewportSize" = {"width": 1280, "height": 900}
PHONE: "ViewportSize" = {"width": 390, "height": 844}


@asynccontextmanager
async def open_browser() -> "AsyncIterator[Browser]":
    """Chromium, in the event loop of whoever asks; the test is skipped where it can't be had."""
    playwright = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("the pages are tested in Chromium: apt-get install chromium")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=found, args=["--disable-dev-shm-usage"])
        yield browser
        await browser.close()


class Visitor:
    """Opens pages, each in a context of its own, and keeps what went wrong on them."""

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.faults: list[str] = []
        self.is_cut_off = False
        """While the manager is away on purpose, a browser complains about it, and that is no fault."""

    async def look(self, address: str, **how: Any) -> "Page":
        """A page, loaded; `how` are the options of its context."""
        context = await self._browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **how})
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        origin = urlsplit(address)[:2]
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self._check(request, origin))
        await page.goto(address)
        return page

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()
        self._contexts.clear()

    def _hear(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning") and not self.is_cut_off:
            self.faults.append(f"{message.location.get('url')}: {message.text}")

    async def _refuse(self, dialog: "Dialog") -> None:
        self.faults.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    def _check(self, request: "Request", origin: tuple[str, ...]) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and parts[:2] != origin:
            self.faults.append(f"a request to {request.url}")


async def texts(page: "Page", selector: str) -> list[str]:
    """The text of each element, with blanks as a reader has them."""
    return [" ".join(text.split()) for text in await page.locator(selector).all_inner_texts()]
