"""The overview: what it shows of a league before, while and after it is played."""

import re
from datetime import timedelta
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

from agent_league.agent.metrics import AgentMetrics
from agent_league.model.agents import Role
from agent_league.model.event_words import describe_event
from agent_league.model.events import LeagueCompleted, RoundCompleted
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.web.agents import describe_age
from agent_league.web.league_reader import JoinInstructions, LeagueHistory, LeagueReader
from agent_league.web.live.sections import (
    SHOWN_NEWS,
    read_agents,
    read_feed,
    read_progress,
    read_round,
    read_standings,
)
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import AGENTS_PAGE, OVERVIEW_PAGE
from agent_league.web.pages.rules import GAME_PAGE
from agent_league.web.rendering import FileSite, LiveSite, Site
from tests.harm import BIDI, ESCAPE, IMAGE, SCRIPT, TEMPLATE
from tests.web.browsing import parsed, text_of
from tests.web.seasons import NOW, SteppedClock, play_on, reader_of, season_of

LIVE = LiveSite()


def shown(reader: LeagueReader, site: Site = LIVE) -> str:
    return render_page(OVERVIEW_PAGE, read_page_data(OVERVIEW_PAGE, "", reader, site), site)


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_before_the_start_it_says_who_is_awaited_and_how_to_join(tmp_path: Path) -> None:
    season = season_of(3, referees=1, started=False)
    invitation = JoinInstructions("http://localhost:8000/mcp", 4, 2)
    text = words(shown(LeagueReader(season, tmp_path, LeagueHistory(season), invitation=invitation)))
    assert "Registration open" in text
    assert "once 4 players and 2 referees are in; 3 and 1 are." in text
    assert "league player --manager http://localhost:8000" in text
    assert "register_player at http://localhost:8000/mcp" in text
    assert "league referee --manager http://localhost:8000" in text
    assert "Players so far Player 1 Player 2 Player 3" in text


@pytest.mark.parametrize(
    ("players", "sentence"),
    [(1, "It can't start yet: 1 player is registered"), (2, "it starts when the organiser says so")],
)
def test_a_league_that_waits_for_its_organiser_says_what_is_missing(
    tmp_path: Path, players: int, sentence: str
) -> None:
    season = season_of(players, started=False)
    reader = LeagueReader(
        season, tmp_path, LeagueHistory(season), invitation=JoinInstructions("http://localhost:8000/mcp")
    )
    assert sentence in words(shown(reader))


def test_nobody_is_asked_to_join_where_registration_is_closed(tmp_path: Path) -> None:
    season = season_of(3, started=False)
    season.set_registration_open(is_open=False)
    reader = LeagueReader(
        season, tmp_path, LeagueHistory(season), invitation=JoinInstructions("http://localhost:8000/mcp", 4, 2)
    )
    assert "Registration closed" in shown(reader)
    assert "How to join" not in shown(reader)


def test_a_running_league_shows_how_far_it_is(tmp_path: Path) -> None:
    reader = reader_of(season_of(6, 7), tmp_path)
    page = shown(reader)
    assert '<progress max="15" value="7"' in page
    assert "7 of 15 matches round 3 of 5" in words(page)
    season = reader.state
    season.set_paused(is_paused=True)
    assert "Paused" in words(shown(reader))


@pytest.mark.parametrize(
    ("game_type", "title"),
    [("tic_tac_toe", "Tic-Tac-Toe"), ("even_odd", "Even/Odd"), ("nobodys_game", "Nobodys game")],
)
def test_a_game_is_called_by_its_title_on_every_page(game_type: str, title: str, tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 2, game_type=game_type), tmp_path)
    assert parsed(shown(reader)).one("p", "kind").text == f"{title} \u00b7 round robin"
    assert parsed(text_of(GAME_PAGE, reader)).one("h1").text == title
    assert title in parsed(text_of(MATCH_PAGE, reader, "R2M1")).text


def test_who_has_not_called_since_the_server_started_is_said_so() -> None:
    assert describe_age(NOW - timedelta(seconds=12), NOW) == "12 s ago"
    assert describe_age(None, NOW) == "not since the server started"


def test_a_league_without_a_referee_says_that_it_waits(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 2), tmp_path)
    assert "no referee: waiting" not in words(shown(reader))
    for member in reader.state.roster.list_members(Role.REFEREE):
        reader.state.suspend_agent(member.agent_id, "no sign of life")
    assert "no referee: waiting" in words(shown(reader))
    reader.join_instructions = JoinInstructions("http://localhost:8000/mcp")
    assert "league referee --manager http://localhost:8000 starts one." in words(shown(reader))
    assert any("no referee: waiting" in item["text"] for item in read_feed(reader)["items"])
    reader.state.reactivate_agent("REF01")
    assert read_progress(reader)["waits_for_referee"] is False


def test_a_league_that_is_over_shows_its_champion(tmp_path: Path) -> None:
    season = season_of(4)
    text = words(shown(reader_of(season, tmp_path)))
    first = season.standings()[0]
    assert f"Champion {first.display_name} {first.points} points" in text
    assert "Final table" in text


@pytest.mark.parametrize(("seconds", "told"), [(0, "under 1 s"), (0.42, "420 ms"), (1.6, "1.6 s"), (75, "1 min")])
def test_a_league_that_is_over_says_how_long_it_took_however_short(seconds: float, told: str, tmp_path: Path) -> None:
    season, clock = season_of(4, started=False), SteppedClock()
    reader = LeagueReader(season, tmp_path, LeagueHistory(season, clock))
    season.start_league()
    assert "took" not in words(shown(reader))
    clock.wait(seconds)
    play_on(season, 6)
    assert f"took {told} Champion" in words(shown(reader))


def test_where_every_match_was_broken_off_there_is_no_champion(tmp_path: Path) -> None:
    season = season_of(2, 0)
    players = season.schedule.pairings[0].players
    void = dict.fromkeys(players, Termination.VOID)
    season.record_result(MatchResult("R1M1", 1, players, Outcome.TECHNICAL_LOSS, None, terminations=void), "REF01")
    season.complete_round(1)
    season.complete_league()
    reader = reader_of(season, tmp_path)
    assert "There is no champion: every match was aborted." in shown(reader)
    assert "R1M1 void" in words(shown(reader))
    assert "technical" not in words(shown(reader))
    over = RoundCompleted(1, tuple(season.standings()), is_last=True)
    assert describe_event(over, {}).text == "Round 1 is complete"
    end = LeagueCompleted("league", 1, 1, over.standings, broken_off={"R1M1": "nobody reported it"})
    assert describe_event(end, {}).text == "The league is over; there is no champion"


def test_the_table_tells_who_has_moved_since_the_last_round(tmp_path: Path) -> None:
    season = season_of(30, 200)
    chronicle = LeagueHistory(season)
    rows = read_standings(LeagueReader(season, tmp_path, chronicle))["rows"]
    before = chronicle.ranks_by_round[season.rounds_completed - 1]
    assert [row["player_id"] for row in rows] == [row.player_id for row in season.standings()]
    assert [row["moved"] for row in rows] == [before[row["player_id"]].rank - row["shared_rank"] for row in rows]
    assert any(row["moved"] > 0 for row in rows), "or this test shows nothing"


def test_form_is_told_in_letters(tmp_path: Path) -> None:
    for row in read_standings(reader_of(season_of(6, 7), tmp_path))["rows"]:
        letters = [one["letter"][0] for one in row["form"]]
        assert [letters.count(letter) for letter in "WDL"] == [row["wins"], row["draws"], row["losses"]]


def test_a_result_has_the_same_letters_in_form_and_round_as_on_other_pages(tmp_path: Path) -> None:
    season = season_of(4, 0)
    first, second = season.schedule.rounds[0].pairings
    late = {first.player_a: Termination.NORMAL, first.player_b: Termination.MOVE_TIMEOUT}
    lost = MatchResult("R1M1", 1, first.players, Outcome.TECHNICAL_LOSS, first.player_a, terminations=late)
    void = dict.fromkeys(second.players, Termination.VOID)
    broken = MatchResult("R1M2", 1, second.players, Outcome.TECHNICAL_LOSS, None, terminations=void)
    for result in (lost, broken):
        season.record_result(result, season.assigned_referees[result.match_id])
    wanted = {first.player_a: "Wt", first.player_b: "Lt", second.player_a: "X", second.player_b: "X"}
    reader = reader_of(season, tmp_path)
    rows = read_standings(reader)["rows"]
    assert {row["player_id"]: row["form"][0]["letter"] for row in rows} == wanted
    sides = [side for match in read_round(reader)["matches"] for side in match["players"]]
    assert {side["player_id"]: side["letter"] for side in sides} == wanted
    assert shown(reader).count(">Lt<") == 2


def test_movement_is_told_in_words_too(tmp_path: Path) -> None:
    rows = {row["player_id"]: row["moved"] for row in read_standings(reader_of(season_of(20, 90), tmp_path))["rows"]}
    assert {moved > 0 for moved in rows.values() if moved} == {True, False}, "or this test shows nothing"
    page = shown(reader_of(season_of(20, 90), tmp_path)).partition('class="standings"')[2]
    for player_id, moved in rows.items():
        row = page.partition(f'<tr data-key="{player_id}">')[2].partition("</tr>")[0]
        wanted = f"up {moved}" if moved > 0 else f"down {-moved}" if moved < 0 else "same place"
        assert wanted in words(row)


def test_matches_of_the_round_stand_in_their_states(tmp_path: Path) -> None:
    season = season_of(16, 2, referees=1)
    matches = read_round(reader_of(season, tmp_path))["matches"]
    assert [match["state"] for match in matches] == ["finished"] * 2 + ["playing"] * 2 + ["waiting"] * 4
    page = shown(reader_of(season, tmp_path))
    assert page.count('class="playing"') == 2
    assert page.count('class="waiting"') == 4


def test_a_technical_loss_names_who_failed_and_how(tmp_path: Path) -> None:
    season = season_of(2, 0)
    first, second = season.schedule.pairings[0].players
    how = {first: Termination.NORMAL, second: Termination.MOVE_TIMEOUT}
    season.record_result(
        MatchResult("R1M1", 1, (first, second), Outcome.TECHNICAL_LOSS, first, terminations=how), "REF01"
    )
    text = words(shown(reader_of(season, tmp_path)))
    assert "Player 2 didn't answer a question in time" in text
    assert "technical" in text


def test_the_feed_has_the_newest_first_and_not_everything(tmp_path: Path) -> None:
    reader = reader_of(season_of(30, 0), tmp_path)
    play_on(reader.state, 200)
    items = read_feed(reader)["items"]
    assert len(items) == SHOWN_NEWS
    assert [item["number"] for item in items] == sorted((item["number"] for item in items), reverse=True)
    assert items[0]["label"] == list(reader.state.results)[-1]


def test_agents_are_shown_with_state_latency_and_failures_and_never_with_their_address(tmp_path: Path) -> None:
    season, meter = season_of(3, 0), AgentMetrics()
    reader = LeagueReader(season, tmp_path, LeagueHistory(season), meter=meter)
    meter.record_made_call(season.roster.players()["P01"].endpoint, "notify_round", "ok", 0.01234, answered=True)
    season.record_call_outcome("P02", ok=False)
    season.suspend_agent("P03", "3 failures in a row")
    rows = {row["agent_id"]: row for row in read_agents(reader)["rows"]}
    assert rows["P01"]["latency_ms"] == 12
    assert rows["P02"]["latency_ms"] is None
    assert (rows["P01"]["failures"], rows["P02"]["failures"]) == (0, 1)
    assert rows["P03"]["state"] == "SUSPENDED"
    assert rows["REF01"]["in_hand"] == 1
    page = text_of(AGENTS_PAGE, reader)
    assert "12 ms" in page
    assert "12 ms" not in shown(reader), "an operator's figures are not the contest"
    assert ":8101" not in page + shown(reader), "where a player is to be called is nobody's business but the league's"


def test_agents_in_trouble_come_first_then_referees_then_players_by_id(tmp_path: Path) -> None:
    season = season_of(12, 0)
    season.record_call_outcome("P11", ok=False)
    season.bar_player("P03")
    rows = read_agents(reader_of(season, tmp_path))["rows"]
    assert [row["agent_id"] for row in rows[:6]] == ["P03", "P11", "REF01", "REF02", "P01", "P02"]


def test_agents_of_a_finished_league_are_finished_and_not_shut_down(tmp_path: Path) -> None:
    season = season_of(3, 0)
    reader = reader_of(season, tmp_path)
    play_on(season, 3)
    page = text_of(AGENTS_PAGE, reader)
    assert page.count(">finished<") == 5
    assert ">shutdown<" not in page


def test_whom_the_organiser_suspended_is_so_after_the_end_too(tmp_path: Path) -> None:
    season = season_of(3, 0)
    reader = reader_of(season, tmp_path)
    season.bar_player("P02")
    assert [item["text"] for item in read_feed(reader)["items"][:1]] == ["is suspended: by the organiser"]
    play_on(season, 3)
    assert next(row for row in read_agents(reader)["rows"] if row["agent_id"] == "P02")["state"] == "SHUTDOWN"
    assert ">suspended by the organiser<" in text_of(AGENTS_PAGE, reader)
    table = shown(reader).partition('class="standings"')[2].partition("</table>")[0]
    assert table.count(">suspended<") == 1


@pytest.mark.parametrize("site", [LIVE, FileSite()])
def test_before_the_start_it_shows_who_is_in_once(site: Site, tmp_path: Path) -> None:
    page = shown(reader_of(season_of(3, started=False), tmp_path), site)
    assert page.count('data-key="P01"') == 1
    assert page.partition('class="entrants"')[2].partition("</ul>")[0].count('class="avatar') == 3


def test_after_a_restart_the_round_is_the_one_that_was_played(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 3), tmp_path)
    reader.state.current_round = reader.state.rounds_completed  # as a season that was just restored has it
    assert read_progress(reader)["round"] == 2
    assert (read_round(reader)["round_id"], read_round(reader)["status"]) == (2, "RUNNING")
    whole = reader_of(season_of(4), tmp_path)
    assert (whole.current_round, whole.round_status(3)) == (3, "COMPLETED")


def test_a_name_that_is_written_leftward_takes_no_number_along(tmp_path: Path) -> None:
    name = "\u05e9\u05dc\u05d5\u05dd 7"
    page = shown(reader_of(season_of(2, names=[name, name + "7"]), tmp_path))
    naked = re.sub(r"<bdi>[^<]*</bdi>|\w+=\"[^\"]*\"", "", page)
    assert "\u05e9" in page
    assert "\u05e9" not in naked


@pytest.mark.parametrize("phase", ["registration", "running", "over"])
def test_names_do_no_harm_wherever_they_stand(tmp_path: Path, phase: str) -> None:
    names = [SCRIPT, IMAGE, TEMPLATE, BIDI, ESCAPE]
    season = season_of(5, None if phase == "over" else 3, names=names, started=phase != "registration")
    page = shown(reader_of(season, tmp_path))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"<script(?! src=)|<img|\u202e|\x1b", page)
    assert TEMPLATE in page
    assert "\\u202egnp.exe" in page


def test_an_exported_overview_has_nothing_that_only_a_server_can_do(tmp_path: Path) -> None:
    page = shown(reader_of(season_of(4), tmp_path), FileSite())
    for word in ("<script", "connection", "/events", "latency", 'href="/', 'src="/'):
        assert word not in page.lower()
    assert 'href="players/P01.html"' in page


def test_nothing_on_it_needs_what_the_policy_forbids(tmp_path: Path) -> None:
    page = shown(reader_of(season_of(8, 9), tmp_path))
    assert not re.search(r"\sstyle=|\son\w+=|<script(?! src=)|<style", page)


@pytest.mark.parametrize(("played", "is_started"), [(0, False), (3, True), (None, True)])
def test_what_programs_get_is_plain_data(tmp_path: Path, played: int | None, is_started: bool) -> None:
    progress = read_progress(reader_of(season_of(4, played, started=is_started), tmp_path))
    assert {type(value) for value in progress.values()} <= {str, int, bool, dict, list, type(None)}


def test_headings_are_in_order_and_ids_are_given_once(tmp_path: Path) -> None:
    page = shown(reader_of(season_of(4, 3), tmp_path))
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
