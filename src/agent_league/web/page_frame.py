"""A page within its frame: title, menu, content. The same for a server and for files."""

from functools import lru_cache
from html import escape

from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told
from agent_league.web.pages import PAGES
from agent_league.web.rendering import readable, render
from agent_league.web.site import Site

MARK = "<!-- sentence -->"
PARENTS = {"rounds": "schedule", "matches": "schedule"}
"""Under which page of the menu others stand, where their own address doesn't say it."""


def read_page(page: Page, key: str, reader: Reader, site: Site) -> Told:
    """What a page is to tell, as the season stands now; raises NoSuchThing."""
    return {**_frame(page.path, page.title, reader.title, site), **page.read(reader, key)}


def write_page(page: Page, told: Told, site: Site) -> str:
    """The whole text of a page; raises NoSuchThing."""
    return render(page.template, site, page.work(told))


def write_notice(title: str, sentence: str, reader: Reader, site: Site) -> str:
    """A page that says one thing, where another was asked for: cheap, as somebody may ask for any number of them."""
    before, after = _around(title, reader.title, site)
    return f"{before}{escape(readable(sentence))}{after}"


@lru_cache(maxsize=32)
def _around(title: str, league_title: str, site: Site) -> tuple[str, str]:
    """What stands before and after the sentence of a notice."""
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
