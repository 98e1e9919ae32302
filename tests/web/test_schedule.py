"""The schedule and its rounds."""

from pathlib import Path

import pytest

from agent_league.web.page import PageNotFound
from agent_league.web.pages.overview import ROUND_PAGE, SCHEDULE_PAGE
from tests.web.browsing import NOTHING, shown, text_of
from tests.web.seasons import reader_of, season_of


def test_each_round_tells_its_state_and_what_became_of_its_matches(tmp_path: Path) -> None:
    season = season_of(6, 7)
    rows = shown(SCHEDULE_PAGE, reader_of(season, tmp_path)).table("Rounds")
    states = [row[1].text for row in rows]
    assert states == ["finished", "finished", "being played", "to come", "to come"]
    assert [int(row[3].text) for row in rows] == [3, 3, 1, 0, 0]
    assert [row[0].one("a").attributes["href"] for row in rows] == [f"/rounds/{number}" for number in range(1, 6)]
    of_outcomes = [sum(int(cell.text.replace(NOTHING, "0")) for cell in row[4:8]) for row in rows]
    assert of_outcomes == [3, 3, 1, 0, 0]


def test_before_the_start_it_shows_who_is_registered_and_what_is_missing(tmp_path: Path) -> None:
    season = season_of(3, names=["Ada"], referees=0, started=False)
    page = shown(SCHEDULE_PAGE, reader_of(season, tmp_path))
    assert [one.one("a").text for one in page.one("ol").all("li")] == ["Ada", "Player 2", "Player 3"]
    assert "can't start yet: no referee is registered" in page.text
    assert "3 rounds and 3 matches" in page.text
    assert len(page.table("Rounds")) == 3


def test_nobody_registered_is_said_in_words(tmp_path: Path) -> None:
    page = shown(SCHEDULE_PAGE, reader_of(season_of(0, referees=0, started=False), tmp_path))
    assert "Nobody is registered yet" in page.text
    assert not page.all("table")


def test_a_round_has_its_matches_with_players_results_and_referees(tmp_path: Path) -> None:
    season = season_of(6, 7)
    rows = shown(ROUND_PAGE, reader_of(season, tmp_path), "3").table("Matches of round 3")
    pairings = season.schedule.rounds[2].pairings
    assert [row[0].one("a").attributes["href"] for row in rows] == [f"/matches/{one.match_id}" for one in pairings]
    for row, pairing in zip(rows, pairings, strict=True):
        assert [cell.one("span", "id").text for cell in row[1:3]] == list(pairing.players)
        assert row[4].text == season.assigned_referees[pairing.match_id]
    assert [row[3].text for row in rows[1:]] == ["being played", "being played"]
    assert rows[0][3].text != "being played"


def test_who_sits_out_in_a_round_is_named(tmp_path: Path) -> None:
    season = season_of(5)
    seated = {player_id for pairing in season.schedule.rounds[0].pairings for player_id in pairing.players}
    (idle,) = season.roster.players().keys() - seated
    text = shown(ROUND_PAGE, reader_of(season, tmp_path), "1").text
    assert f"Player {int(idle[1:])} {idle} has no opponent: odd number of players" in text


def test_a_round_before_the_start_leads_to_no_match(tmp_path: Path) -> None:
    page = shown(ROUND_PAGE, reader_of(season_of(4, started=False), tmp_path), "1")
    assert not [link for link in page.all("a") if link.attributes["href"].startswith("/matches")]
    assert "has not started" in page.text


@pytest.mark.parametrize("key", ["0", "4", "01", "x", "-1", "²"])
def test_a_round_that_isnt_there_is_told_with_those_that_are(key: str, tmp_path: Path) -> None:
    with pytest.raises(PageNotFound, match="there are rounds 1 to 3"):
        ROUND_PAGE.read_data(reader_of(season_of(4), tmp_path), key)


def test_a_hundred_players_stay_within_bounds(tmp_path: Path) -> None:
    reader = reader_of(season_of(100), tmp_path)
    assert len(text_of(SCHEDULE_PAGE, reader)) < 70_000
    assert len(text_of(ROUND_PAGE, reader, "50")) < 40_000
