"""The page of the whole table."""

from pathlib import Path

from agent_league.web.pages.table import TABLE_PAGE
from agent_league.web.rendering import FileSite
from tests.web.browsing import Element, cells, parsed, shown, text_of
from tests.web.seasons import reader_of, season_of


def rows(page: Element) -> list[list[Element]]:
    return [[*cells(row)] for row in page.one("tbody").all("tr")]


def test_every_player_has_its_row_in_the_order_of_the_standings(tmp_path: Path) -> None:
    season = season_of(30, 200)
    found = rows(shown(TABLE_PAGE, reader_of(season, tmp_path)))
    heads = [
        head.attributes.get("data-sort")
        for head in cells(shown(TABLE_PAGE, reader_of(season, tmp_path)).one("thead").one("tr"))
    ]
    assert [row[1].one("a").attributes["href"] for row in found] == [
        f"/players/{row.player_id}" for row in season.standings()
    ]
    for key in ("played", "wins", "draws", "losses", "points"):
        told = [int(row[heads.index(key)].text) for row in found]
        assert told == [getattr(row, key) for row in season.standings()]


def test_no_part_of_it_scrolls_by_itself(tmp_path: Path) -> None:
    page = shown(TABLE_PAGE, reader_of(season_of(30), tmp_path))
    assert not [one for one in page.all("div") + page.all("section") if {"scroll", "tall"} & set(one.kinds)]


def test_before_the_start_it_has_who_is_registered(tmp_path: Path) -> None:
    page = shown(TABLE_PAGE, reader_of(season_of(3, names=["Ada"], started=False), tmp_path))
    assert [row[0].one("a").text for row in rows(page)] == ["Ada", "Player 2", "Player 3"]
    assert page.one("h1").text == "Players so far"
    nobody = shown(TABLE_PAGE, reader_of(season_of(0, referees=0, started=False), tmp_path))
    assert "Nobody has registered yet" in nobody.text


def test_an_exported_table_follows_nothing(tmp_path: Path) -> None:
    page = parsed(text_of(TABLE_PAGE, reader_of(season_of(4), tmp_path), site=FileSite()))
    scripts = [script.attributes["src"] for script in page.all("script")]
    assert scripts == ["static/table.js"]
    assert page.one("h1").text == "Final table"


def test_three_hundred_players_stay_within_bounds(tmp_path: Path) -> None:
    assert len(text_of(TABLE_PAGE, reader_of(season_of(300, 3000), tmp_path))) < 900_000
