"""Reports of matches: from whom they are taken, and what they change."""

import json
from typing import Any

import pytest

from agent_league.model.events import MatchFinished
from agent_league.storage.paths import DataPaths
from agent_league.text import shorten
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, within
from tests.league.scripted_referee import ScriptedReferee

P01_WINS = {"winner": "P01", "score": {"P01": 3, "P02": 0}, "details": {"drawn_number": 8}, "status": "WIN"}
P02_WINS = {"winner": "P02", "score": {"P01": 0, "P02": 3}, "status": "WIN"}
DRAW = {"winner": None, "score": {"P01": 1, "P02": 1}}
OK = {"status": "ok"}


async def running(office: Office) -> tuple[ScriptedReferee, ScriptedReferee]:
    """A league of four whose first round is under way: R1M1 (P01, P02) with REF01, R1M2 with REF02."""
    await office.seat_players(4)
    first = await office.seat_referee(auto_report=False)
    second = await office.seat_referee(auto_report=False)
    assert await office.start() == OK
    assert [order["match_id"] for order in await within(first.wait_for_calls("start_match"))] == ["R1M1"]
    assert [order["match_id"] for order in await within(second.wait_for_calls("start_match"))] == ["R1M2"]
    return first, second


def points(office: Office) -> dict[str, int]:
    return {row.player_id: row.points for row in office.manager.state.standings() if row.played}


def finished(office: Office) -> list[str]:
    return [event.result.match_id for event in office.events if isinstance(event, MatchFinished)]


async def test_a_report_of_the_matchs_referee_is_taken(office: OfficeMaker) -> None:
    here = office()
    referee, _ = await running(here)
    assert await referee.report("R1M1", P01_WINS) == OK
    assert points(here) == {"P01": 3, "P02": 0}


CHOSEN = {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}}


@pytest.mark.parametrize("told", [{"details": CHOSEN}, {**P02_WINS, "details": CHOSEN}])
async def test_a_report_is_booked_by_its_details_where_its_result_is_missing_or_contradicts_them(
    office: OfficeMaker, told: dict[str, Any]
) -> None:
    here = office()
    referee, _ = await running(here)
    for _ in range(2):
        assert await referee.report("R1M1", told) == OK
    assert points(here) == {"P01": 3, "P02": 0}
    member = here.manager.state.roster.get("REF01")
    assert member is not None
    assert [note for note in member.protocol_profile.deviations if "booked by" in note]
    log = DataPaths(here.home).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert "R1M1" in [line["match_id"] for line in lines if line["event_type"] == "result_by_details"]


@pytest.mark.parametrize(("told", "code"), [({"details": CHOSEN}, "E003"), ({**P02_WINS, "details": CHOSEN}, None)])
async def test_a_strict_manager_takes_a_report_at_its_word(
    office: OfficeMaker, told: dict[str, Any], code: str | None
) -> None:
    here = office({"tolerance.strict": True})
    referee, _ = await running(here)
    assert (await referee.report("R1M1", told)).get("error_code") == code
    assert points(here) == ({} if code else {"P01": 0, "P02": 3})


async def test_a_report_that_comes_twice_is_acknowledged_and_changes_nothing(office: OfficeMaker) -> None:
    here = office()
    referee, _ = await running(here)
    assert await referee.report("R1M1", P01_WINS) == OK
    assert await referee.report("R1M1", P01_WINS) == OK
    assert points(here) == {"P01": 3, "P02": 0}
    assert finished(here) == ["R1M1"]


@pytest.mark.parametrize("other", [P02_WINS, DRAW, {**P01_WINS, "status": "TECHNICAL_LOSS"}])
async def test_a_different_result_for_a_finished_match_is_refused_with_e002_and_logged(
    office: OfficeMaker, other: dict[str, Any]
) -> None:
    here = office()
    referee, _ = await running(here)
    await referee.report("R1M1", P01_WINS)
    answer = await referee.report("R1M1", other)
    assert answer["error_code"] == "E002"
    assert answer["context"]["match_id"] == "R1M1"
    assert points(here) == {"P01": 3, "P02": 0}
    log = DataPaths(here.home).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["match_id"] for line in lines if line["event_type"] == "report_refused"] == ["R1M1"]


async def test_a_report_of_another_referee_changes_nothing(office: OfficeMaker) -> None:
    here = office()
    first, second = await running(here)
    answer = await second.report("R1M1", P02_WINS)
    assert answer["error_code"] == "E007"
    assert "REF02" in answer["message"]
    assert points(here) == {}
    assert await first.report("R1M1", P01_WINS) == OK


async def test_a_match_that_was_not_given_out_yet_cannot_be_reported(office: OfficeMaker) -> None:
    here = office()
    referee, _ = await running(here)
    assert (await referee.report("R2M1", {**P01_WINS, "winner": "P03"}))["error_code"] == "E007"
    assert points(here) == {}


@pytest.mark.parametrize("match_id", ["R9M9", "", "r1m1", "x" * 5000])
async def test_a_report_of_an_unknown_match_is_refused_with_e007(office: OfficeMaker, match_id: str) -> None:
    referee, _ = await running(office())
    answer = await referee.report(match_id, P01_WINS)
    assert answer["error_code"] == "E007"
    assert answer["context"]["match_id"] == shorten(match_id)


@pytest.mark.parametrize("winner", ["P03", "P99", "REF01", "", "p01", "P01 "])
async def test_a_winner_who_did_not_play_is_refused_with_e002(office: OfficeMaker, winner: str) -> None:
    here = office()
    referee, _ = await running(here)
    answer = await referee.report("R1M1", {**P01_WINS, "winner": winner})
    assert answer["error_code"] == "E002"
    context = answer["context"]
    assert (context["field"], context["expected"]) == ("result.winner", ["P01", "P02"])
    assert points(here) == {}


@pytest.mark.parametrize(
    "result", [{**P01_WINS, "status": "DRAW"}, {**DRAW, "status": "WIN"}, {**P01_WINS, "status": "WON"}]
)
async def test_a_result_that_contradicts_itself_is_refused_with_e002(
    office: OfficeMaker, result: dict[str, Any]
) -> None:
    here = office()
    referee, _ = await running(here)
    assert (await referee.report("R1M1", result))["error_code"] == "E002"
    assert points(here) == {}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"winner": "P02", "score": {"P01": 0, "P02": 3}}, {"P01": 0, "P02": 3}),
        ({"winner": None, "score": {"P01": 1, "P02": 1}}, {"P01": 1, "P02": 1}),
        ({"winner": "P02", "score": {}, "status": "TECHNICAL_LOSS"}, {"P01": 0, "P02": 3}),
        ({"winner": None, "score": {}, "status": "TECHNICAL_LOSS"}, {"P01": 0, "P02": 0}),
        ({"winner": "P02", "score": {"P01": 1000, "P02": -1000}}, {"P01": 0, "P02": 3}),
    ],
)
async def test_the_league_gives_the_points_whatever_score_is_claimed(
    office: OfficeMaker, result: dict[str, Any], expected: dict[str, int]
) -> None:
    here = office()
    referee, _ = await running(here)
    assert await referee.report("R1M1", result) == OK
    assert points(here) == expected


async def test_a_technical_loss_is_worth_what_the_league_file_says(office: OfficeMaker) -> None:
    here = office({"scoring.technical_loss_points": -2, "scoring.win_points": 5})
    referee, _ = await running(here)
    await referee.report("R1M1", {**P01_WINS, "status": "TECHNICAL_LOSS"})
    assert points(here) == {"P01": 5, "P02": -2}


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({}, "E003"),
        ({"score": {}}, "E003"),
        ({"winner": 1, "score": {}}, "E002"),
        ({"winner": "P01", "score": {"P01": "three"}}, "E002"),
        ({**P01_WINS, "terminations": {"P01": 5}}, "E002"),
    ],
)
async def test_a_report_with_wrong_or_missing_fields_is_refused(
    office: OfficeMaker, result: dict[str, Any], code: str
) -> None:
    here = office()
    referee, _ = await running(here)
    assert (await referee.report("R1M1", result))["error_code"] == code
    assert points(here) == {}


async def test_terminations_are_kept_for_the_two_players_and_known_endings_only(office: OfficeMaker) -> None:
    here = office()
    referee, _ = await running(here)
    endings = {"P01": "normal", "P02": "move_timeout", "P03": "declined"}
    await referee.report("R1M1", {**P01_WINS, "status": "TECHNICAL_LOSS", "terminations": endings})
    kept = here.manager.state.results["R1M1"].terminations
    assert {player: str(how) for player, how in kept.items()} == {"P01": "normal", "P02": "move_timeout"}


async def test_a_referees_count_of_failures_is_taken_for_the_two_players_only(office: OfficeMaker) -> None:
    here = office()
    referee, _ = await running(here)
    await referee.report("R1M1", {**P01_WINS, "failures_in_a_row": {"P02": 4, "P03": 4, "P01": -7}})
    failures = {member.agent_id: member.breaker.failures for member in here.manager.state.roster}
    assert (failures["P01"], failures["P02"], failures["P03"]) == (0, 4, 0)


async def test_a_report_is_still_acknowledged_after_the_end(office: OfficeMaker) -> None:
    here = office()
    await here.play(2)
    referee = here.referees[0]
    assert await referee.report("R1M1", P01_WINS) == OK
    assert (await referee.report("R1M1", P02_WINS))["error_code"] == "E002"
