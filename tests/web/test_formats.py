"""Brackets, groups, Swiss rounds and the stage of a league, on its pages."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.model.event_words import describe_event
from agent_league.model.events import Event, RoundCompleted
from agent_league.model.results import MatchResult, Outcome
from agent_league.web.live.sections import read_bracket, read_groups, read_progress
from agent_league.web.page import Page, PageNotFound
from agent_league.web.pages.agents import PLAYER_PAGE
from agent_league.web.pages.match import MATCH_PAGE
from agent_league.web.pages.overview import BRACKET_PAGE, GROUPS_PAGE, OVERVIEW_PAGE, ROUND_PAGE
from tests.harm import SCRIPT
from tests.web.browsing import shown, text_of
from tests.web.format_seasons import CUP, cup_season, formatted_season, knockout_season, swiss_season
from tests.web.seasons import reader_of, season_of


def test_a_bracket_shows_who_plays_now_and_who_has_advanced(tmp_path: Path) -> None:
    season = knockout_season(8, 2)
    reader = reader_of(season, tmp_path)
    ((part,),) = read_bracket(reader)["drawings"]
    first, second, third = (column["boxes"] for column in part["columns"])
    assert [column["title"] for column in part["columns"]] == ["Quarter-finals", "Semi-finals", "Final"]
    over = [box for box in first if all(one in season.results for one in box["match_ids"])]
    assert [box["state"] for box in first].count("playing") == len(first) - len(over)
    assert [(box["state"], box["match_ids"]) for box in second + third] == [("waiting", [])] * 3
    page = shown(BRACKET_PAGE, reader)
    assert len(page.all("g", "playing")) == len(page.all("g", "now")) == len(first) - len(over)
    assert "now: Player" in page.text
    assert "Quarter-finals: the winner of each match advances, the loser is out." in page.text
    assert len([one for one in page.all("li") if "being played" in one.text]) == len(first) - len(over)


LED = "somebody leads"
SWISS = {"format": "swiss", "settings": {"rounds": 2}}


def still(players: int) -> str:
    return f"{players} players are still in"


@pytest.mark.parametrize(
    ("scheduling", "players", "told"),
    [
        ({"format": "knockout"}, 8, [still(4), still(2), ""]),
        ({"format": "knockout"}, 6, [still(4), still(2), ""]),
        ({"format": "knockout", "settings": {"best_of": 3}}, 4, [still(4), still(4), still(2), still(2), still(2), ""]),
        ({"format": "knockout", "settings": {"third_place": True}}, 4, [still(2), ""]),
        ({"format": "double_elimination"}, 4, [still(4), still(3), still(2), still(2), ""]),
        (CUP, 8, ["", "", still(4), still(4), still(4), still(2), still(2), still(2), ""]),
        ({"format": "groups", "settings": {"group_size": 4}}, 8, ["", "", ""]),
        ({"stages": [{**SWISS, "advance": 4}, {"format": "knockout"}]}, 8, [LED, still(4), still(2), ""]),
        ({"stages": [{**SWISS, "advance": 4}, {"format": "round_robin"}]}, 8, [LED, still(4), LED, LED, LED]),
        (SWISS, 8, [LED, LED]),
        ({"format": "gauntlet"}, 4, [LED, LED, LED]),
        ({"format": "round_robin"}, 4, [LED, LED, LED]),
        ({"format": "round_robin", "play_off": True}, 3, [LED] * 9),
    ],
)
def test_after_a_round_it_is_said_who_leads_where_one_table_decides_and_else_how_many_are_still_in(
    scheduling: dict[str, Any], players: int, told: list[str]
) -> None:
    season = formatted_season(players, None, scheduling, started=False)
    said: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, RoundCompleted):
            text = describe_event(event, {}).text.removeprefix(f"Round {event.round_id} is complete")
            said.append(LED if text.endswith((" leads", " share the lead")) else text.removeprefix("; "))

    season.add_listener(hear)
    season.start_league()
    while season.rounds_completed < len(season.schedule.rounds):
        round_ = season.schedule.rounds[season.rounds_completed]
        season.begin_round(round_)
        for pairing in round_.pairings:
            season.assign_match(pairing.match_id, "REF01")
            won = MatchResult(pairing.match_id, round_.round_id, pairing.players, Outcome.WIN, pairing.player_a)
            season.record_result(won, "REF01")
        season.complete_round(round_.round_id)
    assert said == told


def test_the_way_of_the_champion_is_marked_and_all_matches_of_a_series_are_listed(tmp_path: Path) -> None:
    season = knockout_season(8, best_of=3, third_place=True)
    reader = reader_of(season, tmp_path)
    main, third = read_bracket(reader)["drawings"][0]
    champion = season.standings()[0]
    assert main["champion"] == champion.display_name
    assert [line["kind"] for line in main["lines"]] == ["decided"] * 4 + ["champion"] * 2, "the champion's on top"
    assert (third["title"], third["champion"]) == ("Third place", "")
    page = shown(BRACKET_PAGE, reader)
    linked = {one.attributes["href"] for details in page.all("details") for one in details.all("a")}
    assert {f"/matches/{pairing.match_id}" for pairing in season.schedule.pairings} <= linked
    assert f"Won by {champion.display_name}" in page.text


def test_byes_leave_a_gap_and_a_drawn_series_says_who_goes_on(tmp_path: Path) -> None:
    ((part,),) = read_bracket(reader_of(knockout_season(13), tmp_path))["drawings"]
    assert [len(column["boxes"]) for column in part["columns"]] == [5, 4, 2, 1]
    assert {slot["seed"] for box in part["columns"][1]["boxes"] for slot in box["slots"]} >= {1, 2, 3}
    ((part,),) = read_bracket(reader_of(knockout_season(64), tmp_path))["drawings"]
    notes = [box for column in part["columns"] for box in column["boxes"] if box["note"]]
    assert {box["note"] for box in notes} == {"drawn: higher seed"}
    for box in notes:
        seeds = {slot["has_advanced"]: slot["seed"] for slot in box["slots"]}
        assert seeds[True] < seeds[False]


def test_nobodys_name_becomes_markup_in_a_bracket(tmp_path: Path) -> None:
    season = formatted_season(4, 1, {"format": "knockout"}, names=[SCRIPT] * 1)
    text = text_of(BRACKET_PAGE, reader_of(season, tmp_path))
    assert "<script>" not in text
    assert text.count("&lt;script&gt;") >= 3


def test_a_double_elimination_has_two_brackets_and_says_how_many_are_where(tmp_path: Path) -> None:
    reader = reader_of(formatted_season(8, 6, {"format": "double_elimination"}), tmp_path)
    assert [part["title"] for part in read_bracket(reader)["drawings"][0]] == ["Winners' bracket", "Losers' bracket"]
    assert "who loses a second series is out; " in read_progress(reader)["stage"]


def test_lines_lead_from_the_grand_final_to_the_one_that_is_played_once_more(tmp_path: Path) -> None:
    reader = reader_of(formatted_season(8, 1, {"format": "double_elimination"}), tmp_path)
    winners, losers = read_bracket(reader)["drawings"][0]
    *_, final, again = (box for column in winners["columns"] for box in column["boxes"])
    assert [slot["source"] for slot in again["slots"]] == [final["number"]] * 2
    assert (final["note"], again["note"]) == ("", "if it is needed")
    behind = [line for line in winners["lines"] if line["path"].startswith(f"M{final['x'] + 170} ")]
    assert len(behind) == 2, "one for each of the two, and none through the box of the grand final"
    assert losers["columns"][1]["boxes"][0]["slots"][0]["short_label"] == "loser of round 2 match 2"


def test_groups_are_tables_with_those_who_would_go_on_marked_in_words(tmp_path: Path) -> None:
    reader = reader_of(cup_season(5), tmp_path)
    page = shown(GROUPS_PAGE, reader)
    assert [one.text for one in page.all("h2")] == ["Group A", "Group B"]
    rows = page.table("Table of group A")
    assert len(rows) == 4
    assert ["would go on" in row[1].text for row in rows] == [True, True, False, False]
    assert "The first 2 of each group go to the knockout; they are marked." in page.text
    assert "Stage 1 of 2, group stage. Round 2 of 3 in 2 groups of 4" in page.text
    assert read_groups(reader)["is_current"]
    assert not read_bracket(reader)["is_current"]
    assert "The bracket is drawn when its stage begins." in shown(BRACKET_PAGE, reader).text


def test_groups_that_are_over_say_who_goes_on_and_the_bracket_is_played(tmp_path: Path) -> None:
    reader = reader_of(cup_season(13), tmp_path)
    page = shown(GROUPS_PAGE, reader)
    marked = [row for name in "AB" for row in page.table(f"Table of group {name}") if "goes on" in row[1].text]
    players = {
        slot["player_id"]
        for box in read_bracket(reader)["drawings"][0][0]["columns"][0]["boxes"]
        for slot in box["slots"]
    }
    assert {row[1].one("a").attributes["href"].rpartition("/")[2] for row in marked} == players
    assert read_bracket(reader)["is_current"]
    assert not read_groups(reader)["is_current"]


def test_the_front_page_tells_the_stage_and_leads_to_groups_and_bracket(tmp_path: Path) -> None:
    page = shown(OVERVIEW_PAGE, reader_of(cup_season(13), tmp_path))
    stage = page.one("p", "stage")
    assert stage.text.startswith("Stage 2 of 2, knockout. Semi-finals, game 1 of 3: the winner of each best of 3")
    assert [one.attributes["href"] for one in stage.all("a")] == ["/groups", "/bracket"]
    assert "groups, then knockout" in page.text
    assert "Round 4: Knockout, semi-finals, game 1 of 3" in page.text
    figures = page.one("p", "who-plays").text
    assert "round 4" in figures
    assert "round 4 of" not in figures, "how many there will be depends on results"


def test_a_league_without_groups_and_bracket_has_no_such_page(tmp_path: Path) -> None:
    reader = reader_of(season_of(4, 1), tmp_path)
    assert not BRACKET_PAGE.is_offered(reader)
    assert not GROUPS_PAGE.is_offered(reader)
    for missing, what in ((BRACKET_PAGE, "bracket"), (GROUPS_PAGE, "groups")):
        with pytest.raises(PageNotFound, match=f"This league has no {what}: it is a round robin"):
            missing.read_data(reader, "")
    page = shown(OVERVIEW_PAGE, reader)
    assert page.one("p", "stage").text == "Round 1 of 3: everybody meets everybody."


@pytest.mark.parametrize("page", [BRACKET_PAGE, GROUPS_PAGE])
def test_before_the_start_the_pages_say_what_they_wait_for(page: Page, tmp_path: Path) -> None:
    season = formatted_season(8, None, CUP, started=False)
    assert "when the league starts" in shown(page, reader_of(season, tmp_path)).text


def test_a_swiss_round_shows_score_groups_floats_byes_and_reasons(tmp_path: Path) -> None:
    season = swiss_season(9, 9)
    reader = reader_of(season, tmp_path)
    round_ = season.schedule.rounds[2]
    page = shown(ROUND_PAGE, reader, "3")
    scores = [int(row.text.split()[0]) for row in page.all("tr", "score")]
    assert scores == sorted(set(scores), reverse=True)
    floating = [pairing for pairing in round_.pairings if "floated down" in pairing.reason]
    assert floating
    assert len([one for one in page.all("span", "chip") if "floats down" in one.text]) == len(floating)
    for pairing in round_.pairings:
        assert pairing.reason in page.text
    (bye,) = round_.byes
    assert f"{bye} has no opponent: odd number of players" in page.text
    assert "It gets the points of a win." in page.text
    assert page.one("h1").text == "Round 3 of 6"


def test_a_single_match_tells_its_reason_and_equal_reasons_are_told_once(tmp_path: Path) -> None:
    season = knockout_season(4)
    last = season.schedule.rounds[-1]
    assert last.pairings[0].reason in shown(ROUND_PAGE, reader_of(season, tmp_path), str(last.round_id)).text
    assert shown(ROUND_PAGE, reader_of(season_of(4), tmp_path), "1").text.count("everybody meets everybody") == 1


def test_a_players_page_says_why_it_meets_whom(tmp_path: Path) -> None:
    season = swiss_season(9, 9)
    reader = reader_of(season, tmp_path)
    (bye,) = season.schedule.rounds[0].byes
    lines = [one.text for one in shown(PLAYER_PAGE, reader, bye).one("ol", "reasons").all("li")]
    met = [pairing for pairing in season.schedule.pairings if bye in pairing.players]
    assert len(lines) == len(season.schedule.rounds)
    assert lines[-1] == f"Round 1 no opponent: {season.schedule.rounds[0].byes[bye]}"
    for line, pairing in zip(lines, reversed(met), strict=False):
        assert line.endswith(f": {pairing.reason}")
    assert "Whom it meets" not in shown(PLAYER_PAGE, reader_of(season_of(4), tmp_path), "P01").text
    assert met[0].reason in shown(MATCH_PAGE, reader, met[0].match_id).text


def test_pages_of_a_large_bracket_stay_within_bounds(tmp_path: Path) -> None:
    assert len(text_of(BRACKET_PAGE, reader_of(knockout_season(64), tmp_path))) < 160_000


@pytest.mark.parametrize("name", ["swiss", "groups"])
def test_a_play_off_is_named_and_is_no_round_of_the_format(name: str, tmp_path: Path) -> None:
    season = formatted_season(3, 4, {"format": name, "play_off": True})
    assert season.has_play_off
    reader = reader_of(season, tmp_path)
    stage = shown(OVERVIEW_PAGE, reader).one("p", "stage").text
    assert stage.startswith("Play-off for first place, game 2 of 2: it gives no points in the table.")
    assert "level in first place" in shown(ROUND_PAGE, reader, str(len(season.schedule.rounds))).text
    assert not read_groups(reader)["is_current"]
