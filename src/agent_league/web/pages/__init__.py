"""The pages: one table of all of them, and how one is rendered inside its frame of title and menu.

The live site and exported files use the same pages; a new one needs a line here and a template.
"""

import asyncio
from dataclasses import dataclass
from functools import lru_cache

from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.pages.agents import PLAYER_PAGE, PLAYERS_PAGE, REFEREES_PAGE
from agent_league.web.pages.audit import AUDIT_PAGE
from agent_league.web.pages.cross_table import CROSS_TABLE_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import (
    AGENTS_PAGE,
    BRACKET_PAGE,
    GROUPS_PAGE,
    OVERVIEW_PAGE,
    ROUND_PAGE,
    SCHEDULE_PAGE,
)
from agent_league.web.pages.rules import GAME_PAGE, MESSAGE_PAGE, PLAY_PAGE, PROTOCOL_PAGE
from agent_league.web.pages.table import TABLE_PAGE
from agent_league.web.rendering import Site, mark_code, render

PAGES: tuple[Page, ...] = (
    OVERVIEW_PAGE,
    TABLE_PAGE,
    GROUPS_PAGE,
    BRACKET_PAGE,
    CROSS_TABLE_PAGE,
    SCHEDULE_PAGE,
    ROUND_PAGE,
    MATCH_PAGE,
    PLAYERS_PAGE,
    PLAYER_PAGE,
    AGENTS_PAGE,
    REFEREES_PAGE,
    AUDIT_PAGE,
    GAME_PAGE,
    PLAY_PAGE,
    PROTOCOL_PAGE,
    MESSAGE_PAGE,
)


Menu = tuple[tuple[str, str], ...]
"""The path and the title of each entry."""
MENU = ("Overview", "Table", "Matches", "Players", "Game")
"""The sections in the menu; each entry leads to the first page of its section that the league has."""
ORGANISER_SECTION = "For organisers"
"""The section of those who run the league, which is at the foot of each page."""
SENTENCE_MARK = "<!-- sentence -->"


@dataclass(frozen=True, slots=True)
class SiteMap:
    """The pages of a league by their sections, each with those that are listed there."""

    sections: tuple[tuple[str, Menu], ...]

    def build_frame(self, section: str, here: str | None) -> PageData:
        """Build what the frame of every page shows: menu, the other pages of the section, and the foot."""
        pages = dict(self.sections)
        tabs = pages.get(section, ())
        return {
            "menu": tuple((pages[name][0][0], name) for name in MENU if name in pages),
            "foot": tuple((path, name) for name, ((path, _), *_) in self.sections if name not in MENU),
            "here": here,
            "within": tabs[0][0] if tabs else None,
            "section": section,
            "tabs": tabs if len(tabs) > 1 else (),
        }


def read_page_data(page: Page, key: str, reader: LeagueReader, site: Site) -> PageData:
    """Read the data of a page and its frame from the league's current state; raises PageNotFound."""
    frame = _list_pages(reader, site).build_frame(page.section, page.path)
    told = page.read_data(reader, key)
    names = {"ends": reader.telling_ends, "looks": reader.looks}
    return {"page_title": page.title, "league_title": reader.title, **names, **frame, **told}


def render_page(page: Page, told: PageData, site: Site) -> str:
    """Render a page from its data, completing that first; raises PageNotFound."""
    return render(page.template, site, page.complete_data(told))


async def render_saved_page(page: Page, told: PageData, reader: LeagueReader, site: Site) -> str:
    """Render a page in a thread, once all that it shows is in the store; raises PageNotFound and RequestRejected."""
    await reader.wait_until_saved()
    return await asyncio.to_thread(render_page, page, told, site)


def render_notice(title: str, sentence: str, reader: LeagueReader, site: Site) -> str:
    """Render a page with one sentence, such as an error. Cheap, as anybody can request any number of missing pages."""
    before, after = _split_notice(title, reader.title, site, _list_pages(reader, site))
    return f"{before}{mark_code(sentence)}{after}"


@lru_cache(maxsize=32)
def _split_notice(title: str, league_title: str, site: Site, pages: SiteMap) -> tuple[str, str]:
    """Render a notice once and return the text before and after its sentence."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    frame = {"page_title": title, "league_title": league_title, **pages.build_frame("", None)}
    told = {**frame, "sentence": Markup(SENTENCE_MARK)}  # noqa: S704 - our own word
    before, _, after = render("notice.html", site, told).partition(SENTENCE_MARK)
    return before, after


def _list_pages(reader: LeagueReader, site: Site) -> SiteMap:
    listed: dict[str, list[tuple[str, str]]] = {}
    for page in PAGES:
        if page.title and (site.is_live or page.is_exported) and page.is_offered(reader):
            listed.setdefault(page.section, []).append((page.path, page.title))
    return SiteMap(tuple((section, tuple(pages)) for section, pages in listed.items()))
