"""Renders a page inside its frame of title and menu, both for the live site and for exported files."""

from functools import lru_cache
from html import escape

from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told
from agent_league.web.pages import PAGES
from agent_league.web.rendering import readable, render
from agent_league.web.site import Site

MARK = "<!-- sentence -->"
PARENTS = {"rounds": "schedule", "matches": "schedule"}
"""Menu entry to highlight for pages whose path doesn't begin with it."""


def read_page(page: Page, key: str, reader: Reader, site: Site) -> Told:
    """Read the data of a page and its frame from the league's current state; raises PageNotFound."""
    return {**_frame(page.path, page.title, reader.title, site), **page.read(reader, key)}


def write_page(page: Page, told: Told, site: Site) -> str:
    """Render a page from its data, completing that first; raises PageNotFound."""
    return render(page.template, site, page.work(told))


def write_notice(title: str, sentence: str, reader: Reader, site: Site) -> str:
    """Render a page with one sentence, such as an error. Cheap, as anybody can request any number of missing pages."""
    before, after = _around(title, reader.title, site)
    return f"{before}{escape(readable(sentence))}{after}"


@lru_cache(maxsize=32)
def _around(title: str, league_title: str, site: Site) -> tuple[str, str]:
    """Render a notice once and return the text before and after its sentence."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    told = {**_frame(None, title, league_title, site), "sentence": Markup(MARK)}  # noqa: S704 - our own word
    before, _, after = render("notice.html", site, told).partition(MARK)
    return before, after


def _frame(here: str | None, title: str, league_title: str, site: Site) -> Told:
    first = (here or "").partition("/")[0]
    return {
        "page_title": title,
        "league_title": league_title,
        "menu": [(other.path, other.title) for other in PAGES if other.title and (site.is_live or other.is_exported)],
        "here": here,
        "within": PARENTS.get(first, first) or None,
    }
