"""The pages: one table of all of them, and how one is rendered inside its frame of title and menu.

The live site and exported files use the same pages; a new one needs a line here and a template.
"""

from functools import lru_cache
from html import escape

from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.pages.agents import PLAYER_PAGE, PLAYERS_PAGE, REFEREES_PAGE
from agent_league.web.pages.audit import AUDIT_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import (
    BRACKET_PAGE,
    CROSS_TABLE_PAGE,
    GROUPS_PAGE,
    OVERVIEW_PAGE,
    ROUND_PAGE,
    SCHEDULE_PAGE,
)
from agent_league.web.pages.rules import GAME_PAGE, MESSAGE_PAGE, PLAY_PAGE, PROTOCOL_PAGE
from agent_league.web.rendering import Site, render, show_hidden_characters

PAGES: tuple[Page, ...] = (
    OVERVIEW_PAGE,
    GROUPS_PAGE,
    BRACKET_PAGE,
    CROSS_TABLE_PAGE,
    SCHEDULE_PAGE,
    ROUND_PAGE,
    MATCH_PAGE,
    PLAYERS_PAGE,
    PLAYER_PAGE,
    REFEREES_PAGE,
    AUDIT_PAGE,
    GAME_PAGE,
    PLAY_PAGE,
    PROTOCOL_PAGE,
    MESSAGE_PAGE,
)


Menu = tuple[tuple[str, str], ...]
"""The path and the title of each entry."""
SENTENCE_MARK = "<!-- sentence -->"
MENU_PARENTS = {"rounds": "schedule", "matches": "schedule"}
"""Menu entry to highlight for pages whose path doesn't begin with it."""


def read_page_data(page: Page, key: str, reader: LeagueReader, site: Site) -> PageData:
    """Read the data of a page and its frame from the league's current state; raises PageNotFound."""
    frame = _build_frame(page.path, page.title, reader.title, _list_menu(reader, site))
    return {**frame, **page.read_data(reader, key)}


def render_page(page: Page, told: PageData, site: Site) -> str:
    """Render a page from its data, completing that first; raises PageNotFound."""
    return render(page.template, site, page.complete_data(told))


def render_notice(title: str, sentence: str, reader: LeagueReader, site: Site) -> str:
    """Render a page with one sentence, such as an error. Cheap, as anybody can request any number of missing pages."""
    before, after = _split_notice(title, reader.title, site, _list_menu(reader, site))
    return f"{before}{escape(show_hidden_characters(sentence))}{after}"


@lru_cache(maxsize=32)
def _split_notice(title: str, league_title: str, site: Site, menu: Menu) -> tuple[str, str]:
    """Render a notice once and return the text before and after its sentence."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates

    told = {**_build_frame(None, title, league_title, menu), "sentence": Markup(SENTENCE_MARK)}  # noqa: S704 - our own word
    before, _, after = render("notice.html", site, told).partition(SENTENCE_MARK)
    return before, after


def _list_menu(reader: LeagueReader, site: Site) -> Menu:
    offered = (page for page in PAGES if page.title and (site.is_live or page.is_exported) and page.is_offered(reader))
    return tuple((page.path, page.title) for page in offered)


def _build_frame(here: str | None, title: str, league_title: str, menu: Menu) -> PageData:
    first = (here or "").partition("/")[0]
    return {
        "page_title": title,
        "league_title": league_title,
        "menu": menu,
        "here": here,
        "within": MENU_PARENTS.get(first, first) or None,
    }
