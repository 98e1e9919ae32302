"""The schedule and its rounds."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_league.clock import format_utc
from agent_league.league.agenda import RoundCount
from agent_league.model.result_words import label_result
from agent_league.model.time_plan import RoundTime, TimePlan
from agent_league.web.page import PageNotFound
from agent_league.web.pages.overview import ROUND_PAGE, SCHEDULE_PAGE
from tests.web.browsing import NOTHING, shown, text_of
from tests.web.seasons import play_on, reader_of, season_of


def test_each_round_tells_its_state_and_what_became_of_its_matches(tmp_path: Path) -> None:
    season = season_of(6, 7)
    rows = shown(SCHEDULE_PAGE, reader_of(season, tmp_path)).table("Rounds")
    states = [row[1].text for row in rows]
    assert states == ["finished", "finished", "being played", "to come", "to come"]
    assert [int(row[3].text) for row in rows] == [3, 3, 1, 0, 0]
    assert [row[0].one("a").attributes["href"] for row in rows] == [f"/rounds/{number}" for number in range(1, 6)]
    of_outcomes = [sum(int(cell.text.replace(NOTHING, "0")) for cell in row[4:8]) for row in rows]
    assert of_outcomes == [3, 3, 1, 0, 0]


def test_all_pairings_are_seen_at_a_glance_and_lead_to_their_matches(tmp_path: Path) -> None:
    season = season_of(6, 7)
    cards = shown(SCHEDULE_PAGE, reader_of(season, tmp_path)).all("section", "round-card")
    assert [card.one("h2").one("a").attributes["href"] for card in cards] == [f"/rounds/{one}" for one in range(1, 6)]
    names = {row.player_id: row.display_name for row in season.standings()}
    scores = {"W": "1:0", "D": "½:½", "L": "0:1"}
    for card, round_ in zip(cards, season.schedule.rounds, strict=True):
        for line, pairing in zip(card.one("ol").all("a"), round_.pairings, strict=True):
            assert line.attributes["href"] == f"/matches/{pairing.match_id}"
            assert [line.one("span", kind).text for kind in ("one", "other")] == [names[one] for one in pairing.players]
            result = season.results.get(pairing.match_id)
            sign = label_result(result, pairing.player_a, is_playing=pairing.match_id in season.assigned_referees)
            assert line.one("span", "score").text == scores.get(sign.column, sign.letter)
            winners = [
                line.one("span", kind).text for kind in ("one", "other") if "winner" in line.one("span", kind).kinds
            ]
            assert winners == ([names[result.winner]] if result and result.winner else [])


def test_of_a_large_league_the_rounds_around_now_are_shown(tmp_path: Path) -> None:
    page = shown(SCHEDULE_PAGE, reader_of(season_of(40, 20 * 10 + 3), tmp_path))
    cards = [card.one("h2").one("a").text for card in page.all("section", "round-card")]
    assert cards == ["Round 10", "Round 11", "Round 12"]
    assert len(page.table("Rounds")) == 39
    whole = shown(SCHEDULE_PAGE, reader_of(season_of(30, 20), tmp_path))
    assert len(whole.all("section", "round-card")) == 29


def test_when_a_round_began_is_told_with_a_time_that_a_script_can_read(tmp_path: Path) -> None:
    season = season_of(4, 0)
    reader = reader_of(season, tmp_path)
    play_on(season, 3)
    page = shown(SCHEDULE_PAGE, reader)
    begun = {number: began for number, (began, _) in reader.history.round_times.items() if began}
    assert 2 in begun
    card = page.all("section", "round-card")[1]
    assert card.one("time").attributes["datetime"] == format_utc(begun[2])
    assert card.one("time").text.endswith(" UTC")
    assert not page.all("section", "round-card")[2].all("time")


def test_rounds_to_come_have_the_times_of_the_plan(tmp_path: Path) -> None:
    start = datetime(2030, 1, 7, 18, 0, tzinfo=UTC)
    told = SCHEDULE_PAGE.read_data(reader_of(season_of(4, 0), tmp_path), "")
    plan = TimePlan(round_times=(RoundTime(frozenset({0}), 18 * 60),))
    timed = SCHEDULE_PAGE.complete_data({**told, "time_plan": plan, "round_count": RoundCount(start)})
    assert [round_["when"] for round_ in timed["rounds"]] == [
        {"word": "planned", "at": format_utc(start + timedelta(weeks=week))} for week in range(3)
    ]


def test_before_the_start_it_shows_who_is_registered_and_what_is_missing(tmp_path: Path) -> None:
    season = season_of(3, names=["Ada"], referees=0, started=False)
    page = shown(SCHEDULE_PAGE, reader_of(season, tmp_path))
    assert [one.one("a").text for one in page.one("ol", "names").all("li")] == ["Ada", "Player 2", "Player 3"]
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
    assert len(text_of(SCHEDULE_PAGE, reader)) < 110_000
    assert len(text_of(ROUND_PAGE, reader, "50")) < 70_000
