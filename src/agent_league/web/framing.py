"""A page within its frame: title, menu, content. The same for a server and for files."""

from agent_league.web.page import Page, Told
from agent_league.web.pages import PAGES
from agent_league.web.reader import Reader
from agent_league.web.rendering import render
from agent_league.web.site import Site


def read_page(page: Page, key: str, reader: Reader, site: Site) -> Told:
    """What a page is to tell, as the season stands now; raises NoSuchThing."""
    return {
        "page_title": page.title,
        "league_title": reader.title,
        "menu": [(other.path, other.title) for other in PAGES if other.title and (site.is_live or other.is_exported)],
        "here": page.path,
        **page.read(reader, key),
    }


def write_page(page: Page, told: Told, site: Site) -> str:
    """The whole text of a page; raises NoSuchThing."""
    return render(page.template, site, page.work(told))
