"""Every page that links lead to, each looked at for what agents may have planted there."""

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.async_api import Page

MOST_SCHEMAS = 2
DATA = (".csv", ".json")
"""How the names of files end that are no pages: a browser keeps them, or has no icon for them."""
PLANTED = "main script, main [onerror], main [onload], img[src=x]"


async def crawl(page: "Page") -> dict[str, str]:
    """The text of every page of this place that can be reached from here, by its path."""
    start, waiting = urlsplit(page.url)[:2], [page.url]
    texts: dict[str, str] = {}
    schemas = 0
    while waiting:
        address = waiting.pop()
        path = unquote(urlsplit(address).path)
        if path in texts or urlsplit(address)[:2] != start or path.endswith(DATA):
            continue
        schemas += "/protocol/" in path
        if "/protocol/" in path and schemas > MOST_SCHEMAS:
            continue
        answer = await page.goto(address)
        assert answer is None or answer.ok, address
        texts[path] = await page.locator("body").inner_text()
        assert await page.locator(PLANTED).count() == 0, address
        waiting += await page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")
    return texts
