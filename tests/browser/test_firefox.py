"""The pages in Firefox: the same as in Chromium, in both themes and at both widths."""

from importlib.resources import files
from pathlib import Path

import pytest

from tests.browser.firefox import THEMES, Firefox, Theme, open_firefox
from tests.browser.stage import League
from tests.browser.visitor import DESKTOP, PHONE

pytest.importorskip("axe_playwright_python", reason="axe judges the pages; `./league test` installs it")
pytestmark = pytest.mark.asyncio(loop_scope="package")

PAGES = ("", "table", "cross-table", "schedule", "matches/R1M1", "players", "players/P01", "agents", "game", "play")
TAB, ENTER = "\ue004", "\ue007"
FIND_FAULTS = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => one.id + ": " + one.nodes.map((node) => node.target.join(" ")).join(", ")))"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


async def find_faults(firefox: Firefox) -> list[str]:
    await firefox.load_script((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found: list[str] = await firefox.run(FIND_FAULTS)
    return found


@pytest.mark.parametrize("theme", THEMES)
async def test_every_page_is_as_it_should_be_in_firefox(theme: Theme, finished: League, tmp_path: Path) -> None:
    async with open_firefox(tmp_path / "profile", theme) as firefox:
        for size in (DESKTOP, PHONE):
            for path in PAGES:
                await firefox.look(finished.url + path, size["width"], size["height"])
                assert await firefox.run("matchMedia('(prefers-color-scheme: dark)').matches") is (theme == "dark")
                assert await find_faults(firefox) == [], (path, size)
                assert await firefox.run(OVERFLOW) <= 0, (path, size)
        assert firefox.faults == []


async def test_the_overview_is_live_in_firefox_and_the_keyboard_is_enough(finished: League, tmp_path: Path) -> None:
    async with open_firefox(tmp_path / "profile", "light") as firefox:
        await firefox.look(finished.url, **DESKTOP)
        is_live = "new Promise((done) => { const look = () => document.getElementById('connection')"
        is_live += ".dataset.state === 'live' ? done(true) : requestAnimationFrame(look); look(); })"
        assert await firefox.run(is_live)
        await firefox.press(TAB)
        assert await firefox.run("document.activeElement.textContent") == "Skip to the content"
        await firefox.press(ENTER, TAB)
        assert await firefox.run("document.getElementById('content').contains(document.activeElement)")
        assert await firefox.run("document.querySelectorAll('.podium .step').length") == 3
        assert firefox.faults == []
