"""The lists of players and of referees."""

from pathlib import Path

from agent_league.agent.metrics import AgentMetrics
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.web.league_reader import LeagueHistory, LeagueReader
from agent_league.web.pages.agents import PLAYER_PAGE, PLAYERS_PAGE, REFEREES_PAGE
from agent_league.web.pages.overview import SCHEDULE_PAGE
from tests.web.browsing import NOTHING, shown, text_of
from tests.web.seasons import reader_of, season_of


def test_players_stand_in_the_order_of_the_standings(tmp_path: Path) -> None:
    season = season_of(9)
    rows = shown(PLAYERS_PAGE, reader_of(season, tmp_path)).table("Players in the order")
    for row, standing in zip(rows, season.standings(), strict=True):
        assert row[1].one("span", "id").text == standing.player_id
        numbers = [standing.points, standing.played, standing.wins, standing.draws, standing.losses]
        assert [int(cell.text) for cell in row[2:7]] == numbers
        technical = season.standings_table.get_tally(standing.player_id).technical_losses
        assert row[7].text == (str(technical) if technical else NOTHING)


def test_a_player_in_trouble_shows_it(tmp_path: Path) -> None:
    season = season_of(4, 2)
    season.note_deviations("P02", ["camelCase in player_meta", "no timestamp"])
    for _ in range(2):
        season.record_call_outcome("P03", ok=False)
    season.suspend_agent("P04", "silent")
    rows = {
        row[1].one("span", "id").text: row for row in shown(PLAYERS_PAGE, reader_of(season, tmp_path)).table("Players")
    }
    assert rows["P02"][11].text == "2 things"
    assert "2 failed in a row" in rows["P03"][8].text
    assert rows["P04"][8].text == "suspended"
    assert rows["P01"][11].text == "nothing"


def test_a_match_that_was_broken_off_counts_for_nobody(tmp_path: Path) -> None:
    season = season_of(2, 0)
    players = season.schedule.pairings[0].players
    void = dict.fromkeys(players, Termination.VOID)
    season.record_result(MatchResult("R1M1", 1, players, Outcome.TECHNICAL_LOSS, None, terminations=void), "REF01")
    rows = shown(PLAYERS_PAGE, reader_of(season, tmp_path)).table("Players")
    assert [row[7].text for row in rows] == ["\u2013", "\u2013"]
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
    rows = {row[1].one("span", "id").text: row for row in shown(PLAYERS_PAGE, reader).table("Players")}
    assert (rows["P02"][9].text, rows["P01"][9].text) == ("12 ms", NOTHING)


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
    assert len(text_of(PLAYERS_PAGE, reader_of(season_of(100), tmp_path))) < 80_000
