"""The lists of players and of referees."""

from pathlib import Path

import pytest

from agent_league.agent.metrics import AgentMetrics
from agent_league.league.state import LeagueState
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.web.league_reader import LeagueHistory, LeagueReader
from agent_league.web.live.sections import read_agents
from agent_league.web.organiser.page import read_organiser_data
from agent_league.web.pages.agents import PLAYER_PAGE, PLAYERS_PAGE, REFEREES_PAGE
from agent_league.web.pages.overview import AGENTS_PAGE, SCHEDULE_PAGE
from tests.web.browsing import NOTHING, Element, shown, text_of
from tests.web.seasons import reader_of, season_of


def cards_of(season: LeagueState, home: Path) -> dict[str, Element]:
    """The cards of the players by their ids, in the order of the page."""
    cards = shown(PLAYERS_PAGE, reader_of(season, home)).one("ol", "player-cards").all("li")
    return {card.attributes["id"]: card for card in cards}


def test_players_stand_in_the_order_of_the_standings(tmp_path: Path) -> None:
    season = season_of(9)
    cards = cards_of(season, tmp_path)
    assert list(cards) == [row.player_id for row in season.standings()]
    for row in season.standings():
        text = cards[row.player_id].text
        assert f"Rank {row.shared_rank}. {row.points} points {row.wins}-{row.draws}-{row.losses}" in text
        technical = season.standings_table.get_tally(row.player_id).technical_losses
        assert ("technically" in text) == bool(technical)
        assert "version 1.0.0" in text


def test_figures_of_operators_are_on_the_agents_page_alone(tmp_path: Path) -> None:
    season = season_of(4, 2)
    season.note_deviations("P02", ["camelCase in player_meta", "no timestamp"])
    for _ in range(2):
        season.record_call_outcome("P03", ok=False)
    season.suspend_agent("P04", "silent")
    cards = cards_of(season, tmp_path)
    assert "suspended" in cards["P04"].text
    for player_id in ("P01", "P02", "P03"):
        assert not cards[player_id].all("span", "chip")
    for page, key in ((PLAYERS_PAGE, ""), (PLAYER_PAGE, "P03")):
        assert "atency" not in text_of(page, reader_of(season, tmp_path), key)
    rows = {row["agent_id"]: row for row in read_agents(reader_of(season, tmp_path))["rows"]}
    assert (rows["P02"]["tolerated"], rows["P01"]["tolerated"]) == (2, 0)
    assert rows["P03"]["failures"] == 2
    links = shown(AGENTS_PAGE, reader_of(season, tmp_path)).all("a")
    assert [link.text for link in links if link.attributes["href"] == "/players/P02#tolerated"] == ["2 things"]


def test_a_match_that_was_broken_off_counts_for_nobody(tmp_path: Path) -> None:
    season = season_of(2, 0)
    players = season.schedule.pairings[0].players
    void = dict.fromkeys(players, Termination.VOID)
    season.record_result(MatchResult("R1M1", 1, players, Outcome.TECHNICAL_LOSS, None, terminations=void), "REF01")
    assert all("technically" not in card.text for card in cards_of(season, tmp_path).values())
    told = [reader_of(season, tmp_path).queries.get_player(player_id)["technical_losses"] for player_id in players]
    assert told == [0, 0]
    assert "1 aborted, which counts for nobody" in shown(PLAYER_PAGE, reader_of(season, tmp_path), "P01").text
    (round_,) = shown(SCHEDULE_PAGE, reader_of(season, tmp_path)).table("Rounds")
    referee, *_ = shown(REFEREES_PAGE, reader_of(season, tmp_path)).table("Referees")
    assert [cell.text for cell in (*round_[6:8], *referee[5:7])] == ["\u2013", "1", "\u2013", "1"]


def test_how_fast_an_agent_answers_comes_from_the_managers_meter(tmp_path: Path) -> None:
    season, meter = season_of(3, 1), AgentMetrics()
    endpoint = season.roster.players()["P02"].endpoint
    meter.record_made_call(endpoint, "notify_round", "ok", 0.0123, answered=True)
    reader = LeagueReader(season, tmp_path, LeagueHistory(season), meter=meter)
    rows = {row["agent_id"]: row["latency_ms"] for row in read_agents(reader)["rows"]}
    assert (rows["P02"], rows["P01"]) == (12, None)


@pytest.mark.parametrize("is_alone", [True, False])
def test_others_than_this_machine_see_no_figures_of_operators(is_alone: bool, tmp_path: Path) -> None:
    season, meter = season_of(3, 1), AgentMetrics()
    object.__setattr__(season.roster.rules, "is_loopback_only", is_alone)
    meter.record_made_call(season.roster.players()["P02"].endpoint, "notify_round", "ok", 0.0123, answered=True)
    reader = LeagueReader(season, tmp_path, LeagueHistory(season), meter=meter)
    told = read_agents(reader)
    assert told["has_figures"] is is_alone
    assert all(("latency_ms" in row, "failures" in row) == (is_alone, is_alone) for row in told["rows"])
    for page in (AGENTS_PAGE, REFEREES_PAGE):
        assert ("Latency" in text_of(page, reader)) is is_alone
    (row,) = [one for one in read_organiser_data(reader, [])["agents"] if one["agent_id"] == "P02"]
    assert row["latency_ms"] == pytest.approx(12.3)


def test_addresses_of_agents_are_shown_nowhere(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 3), tmp_path)
    for page in (PLAYERS_PAGE, REFEREES_PAGE):
        assert "localhost:8" not in text_of(page, reader)


def test_referees_tell_what_they_did_and_what_they_have_in_hand(tmp_path: Path) -> None:
    season = season_of(12, 40)
    rows = shown(REFEREES_PAGE, reader_of(season, tmp_path)).table("Referees")
    assert [row[0].one("span", "id").text for row in rows] == ["REF01", "REF02"]
    for row in rows:
        own = {
            match_id
            for match_id, referee in season.assigned_referees.items()
            if referee == row[0].one("span", "id").text
        }
        assert int(row[2].text) == len(own & season.results.keys())
        assert {link.text for link in row[3].all("a")} == own - season.results.keys()
        assert row[4].text == "2"
    technical = sum(result.outcome == "TECHNICAL_LOSS" for result in season.results.values())
    assert sum(int(row[5].text.replace(NOTHING, "0")) for row in rows) == technical > 0


def test_matches_that_wait_for_a_referee_are_counted(tmp_path: Path) -> None:
    page = shown(REFEREES_PAGE, reader_of(season_of(12, 0, referees=1), tmp_path))
    assert "4 matches of this round wait for a referee" in page.text


def test_nobody_registered_is_said_in_words(tmp_path: Path) -> None:
    reader = reader_of(season_of(0, referees=0, started=False), tmp_path)
    assert "Nobody is registered yet" in shown(PLAYERS_PAGE, reader).text
    assert "No referee is registered yet" in shown(REFEREES_PAGE, reader).text


def test_a_hundred_players_stay_within_bounds(tmp_path: Path) -> None:
    assert len(text_of(PLAYERS_PAGE, reader_of(season_of(100), tmp_path))) < 100_000
