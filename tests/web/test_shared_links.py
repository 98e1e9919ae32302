"""What others show of a shared link: title, a sentence and a picture, of what a visitor may see and of no more."""

import re
import struct
from html import unescape
from pathlib import Path

import pytest

from agent_league.league.state import LeagueState
from agent_league.league.visibility import VISITOR
from agent_league.web.page import Page
from agent_league.web.pages import PAGES, render_notice
from agent_league.web.pages.agents import PLAYER_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import OVERVIEW_PAGE
from agent_league.web.pages.table import TABLE_PAGE
from agent_league.web.rendering import FileSite, LiveSite, load_assets
from tests.harm import QUOTED, SCRIPT
from tests.web.browsing import text_of
from tests.web.seasons import reader_of, season_of

SITE = LiveSite(origin="https://league.example.org")


def read_tags(page: str) -> dict[str, str]:
    """The properties that networks read, by name."""
    return {name: unescape(said) for name, said in re.findall(r'<meta property="og:([\w:]+)" content="([^"]*)">', page)}


@pytest.mark.parametrize(
    ("season", "sentence"),
    [
        (season_of(3, started=False), "Even/Odd, round robin, 3 players. Registration is open."),
        (season_of(4, 3), "Even/Odd, round robin, 4 players. 3 of 6 matches played."),
        (season_of(4), "Even/Odd, round robin, 4 players. Won by "),
    ],
)
def test_a_link_to_a_league_says_how_it_stands(season: LeagueState, sentence: str, tmp_path: Path) -> None:
    tags = read_tags(text_of(OVERVIEW_PAGE, reader_of(season, tmp_path), site=SITE))
    assert tags["title"] == "Spring league"
    assert tags["description"].startswith(sentence)
    assert tags["image"].startswith("https://league.example.org/static/card.png?")


@pytest.mark.parametrize(
    ("page", "key", "title", "sentence"),
    [
        (TABLE_PAGE, "", "Table", r"1\. Player 1, \d points; \d\. .*\."),
        (PLAYER_PAGE, "P01", "Player 1", r"Rank \d of 4 with \d points?: \d won, \d drawn, \d lost\."),
        (MATCH_PAGE, "R1M1", "Player 1 against Player 2, R1M1", r"Player \d beats Player \d\..*|.* draw\..*"),
        (MATCH_PAGE, "R3M2", "Player 3 against Player 2, R3M2", r"To come, in round 3\."),
    ],
)
def test_a_link_to_a_page_says_what_is_on_it(page: Page, key: str, title: str, sentence: str, tmp_path: Path) -> None:
    tags = read_tags(text_of(page, reader_of(season_of(4, 3), tmp_path), key, SITE))
    assert tags["title"] == f"{title} · Spring league"
    assert re.fullmatch(sentence, tags["description"]), tags["description"]


def test_a_link_to_a_player_that_waits_says_so(tmp_path: Path) -> None:
    tags = read_tags(text_of(PLAYER_PAGE, reader_of(season_of(3, started=False), tmp_path), "P01", SITE))
    assert tags["description"] == "It has not played yet."


def test_the_picture_has_the_size_that_is_told() -> None:
    picture = load_assets()["card.png"].plain
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)


def test_a_site_that_knows_no_address_of_its_own_names_no_picture(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 3), tmp_path)
    for site in (LiveSite(), FileSite()):
        assert "image" not in read_tags(text_of(OVERVIEW_PAGE, reader, site=site))


def test_a_name_that_means_harm_stays_inside_its_tag(tmp_path: Path) -> None:
    reader = reader_of(season_of(2, names=[SCRIPT, QUOTED]), tmp_path)
    tags = read_tags(text_of(PLAYER_PAGE, reader, "P01", SITE))
    assert tags["title"] == f"{SCRIPT} · Spring league"
    wanted = "site_name type title description image image:width image:height image:alt"
    assert [*tags] == wanted.split()


def test_names_that_are_hidden_are_not_in_what_others_show(tmp_path: Path) -> None:
    season = season_of(4, names=[f"Secret {number}" for number in range(4)])
    season.config = season.config.model_copy(update={"visibility": "pseudonyms"})
    reader = reader_of(season, tmp_path).seen_by(VISITOR)
    for page in PAGES:
        for key in list(page.list_keys(reader))[:1]:
            if page.is_offered(reader):
                assert "Secret" not in repr(read_tags(text_of(page, reader, key, SITE)))


def test_a_notice_tells_nothing_of_its_league_but_the_title(tmp_path: Path) -> None:
    tags = read_tags(render_notice("Not found", "There is no such match.", reader_of(season_of(4), tmp_path), SITE))
    assert tags["title"] == "Not found · Spring league"
    assert "Won by" not in tags["description"]
