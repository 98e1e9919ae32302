"""The menu: five entries at most, each page within one of them, and the organiser's pages at the foot."""

from pathlib import Path

import pytest

from agent_league.web.pages import MENU, ORGANISER_SECTION, PAGES
from agent_league.web.rendering import FileSite, LiveSite, Site
from tests.web.browsing import Element, parsed, text_of
from tests.web.format_seasons import cup_season
from tests.web.seasons import reader_of, season_of

LEAGUES = {
    "waiting": lambda: season_of(4, started=False),
    "running": lambda: season_of(5, 4),
    "cup": lambda: cup_season(14),
}


def read_menu(page: Element) -> dict[str, str]:
    (found,) = (nav for nav in page.all("nav") if nav.attributes["aria-label"] == "Pages")
    return {link.text: link.attributes["href"] for link in found.all("a")}


@pytest.mark.parametrize("site", [LiveSite(), FileSite()])
@pytest.mark.parametrize("league", LEAGUES)
def test_the_menu_has_five_entries_whatever_the_league_has(league: str, site: Site, tmp_path: Path) -> None:
    reader = reader_of(LEAGUES[league](), tmp_path)
    page = parsed(text_of(PAGES[0], reader, site=site))
    assert tuple(read_menu(page)) == MENU


def find_current(page: Element) -> list[str]:
    return [link.text for link in page.all("a") if link.attributes.get("aria-current")]


@pytest.mark.parametrize(
    ("path", "key", "current"),
    [
        ("", "", ["Overview"]),
        ("bracket", "", ["Table", "Bracket"]),
        ("rounds/{key}", "1", ["Matches"]),
        ("matches/{key}", "R1M1", ["Matches"]),
        ("players/{key}", "P01", ["Players"]),
        ("protocol", "", ["Game", "Protocol"]),
        ("agents", "", ["Agents", ORGANISER_SECTION]),
        ("referees", "", ["Referees"]),
    ],
)
def test_a_page_says_where_it_belongs(path: str, key: str, current: list[str], tmp_path: Path) -> None:
    (found,) = (page for page in PAGES if page.path == path)
    page = parsed(text_of(found, reader_of(cup_season(14), tmp_path), key))
    assert [word for word in find_current(page) if word in (*MENU, *current)] == current


def test_every_page_belongs_to_a_section() -> None:
    assert {page.section for page in PAGES} == {*MENU, ORGANISER_SECTION}


def test_old_addresses_still_lead_to_their_pages() -> None:
    paths = {page.path for page in PAGES}
    old = "cross-table schedule players referees game play protocol bracket groups audit"
    assert {"", *old.split()} <= paths
