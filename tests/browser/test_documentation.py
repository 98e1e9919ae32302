"""The documentation site in a browser, opened as files: it can be searched, and fits a phone in both themes."""

from pathlib import Path

import pytest

from tests.browser.visitor import NO_PLAYWRIGHT, PHONE, Visitor
from tools.site import build_site

expect = pytest.importorskip("playwright.async_api", reason=NO_PLAYWRIGHT).expect
pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.fixture(scope="module")
def front_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("built") / "site"
    build_site(folder)
    return Path(folder, "index.html").as_uri()


async def test_the_site_is_searched_without_a_server(visitor: Visitor, front_page: str) -> None:
    page = await visitor.look(front_page)
    await page.get_by_role("button", name="Search").first.click()
    await page.locator("dialog input").first.fill("roster")
    await page.locator("dialog a", has_text="sign-up addresses").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("A class")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_site_fits_a_phone(visitor: Visitor, front_page: str, scheme: str) -> None:
    for name in ("index", "class", "games", "reference"):
        address = front_page.replace("index.html", f"{name}.html")
        page = await visitor.look(address, viewport=PHONE, color_scheme=scheme)
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
