"""The organiser's panel: what of it stands in the page, and what its script finds there."""

import re
from pathlib import Path

import pytest

from agent_league.web.league_reader import LeagueReader
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.pages.overview import AGENTS_PAGE
from agent_league.web.rendering import FileSite, LiveSite, Site
from tests.web.seasons import reader_of, season_of

STATIC = Path(__file__).parents[2] / "src" / "agent_league" / "web" / "static"


def shown(reader: LeagueReader, site: Site | None = None) -> str:
    site = site or LiveSite()
    return render_page(AGENTS_PAGE, read_page_data(AGENTS_PAGE, "", reader, site), site)


def attributes(page: str, opening: str) -> dict[str, str]:
    """Of the first element that begins like this."""
    tag = page[page.index(opening) :].partition(">")[0]
    return dict(re.findall(r'([\w-]+)="([^"]*)"', tag))


def test_the_panel_stands_in_the_page_of_a_server_and_not_in_a_file(tmp_path: Path) -> None:
    reader = reader_of(season_of(3, 1), tmp_path)
    live = shown(reader)
    assert attributes(live, '<details id="admin"')["data-league"] == "league_of_tests"
    assert attributes(live, '<input id="admin-token"')["type"] == "password"
    assert "admin.js" in live
    assert "admin" not in shown(reader, FileSite())


def test_the_script_finds_every_part_that_it_asks_for(tmp_path: Path) -> None:
    script = (STATIC / "admin.js").read_text(encoding="utf-8")
    asked = {f"admin-{name}" for name in re.findall(r'part\("([a-z-]+)"\)', script)}
    asked |= set(re.findall(r'getElementById\("([a-z-]+)"\)', script))
    page = shown(reader_of(season_of(3, 1), tmp_path))
    assert {"admin-token-form", "admin-said", "league-state"} <= asked
    assert {name for name in asked if f'id="{name}"' not in page} == set()


@pytest.mark.parametrize(
    ("started", "change", "expected"),
    [
        (False, "", {"data-phase": "REGISTRATION", "data-open": "true", "data-paused": "false", "data-start": ""}),
        (False, "closed", {"data-phase": "REGISTRATION", "data-open": "false"}),
        (True, "", {"data-phase": "RUNNING", "data-open": "false", "data-paused": "false"}),
        (True, "paused", {"data-phase": "RUNNING", "data-paused": "true"}),
    ],
)
def test_the_script_is_told_how_the_league_stands(
    tmp_path: Path, *, started: bool, change: str, expected: dict[str, str]
) -> None:
    season = season_of(3, 1, started=started)
    if change == "closed":
        season.set_registration_open(is_open=False)
    elif change == "paused":
        season.set_paused(is_paused=True)
    told = attributes(shown(reader_of(season, tmp_path)), '<div id="league-state"')
    assert told.items() >= expected.items()


def test_the_script_is_told_which_players_there_are_and_which_are_suspended(tmp_path: Path) -> None:
    season = season_of(3, 1)
    season.bar_player("P02")
    page = shown(reader_of(season, tmp_path))
    rows = re.findall(r'<tr data-key="(\w+)" data-role="(\w+)" data-state="(\w+)">', page)
    players = {key: state for key, role, state in rows if role == "player"}
    assert players == {"P01": "ACTIVE", "P02": "SUSPENDED", "P03": "ACTIVE"}
    assert len(rows) == len(players) + 2
