"""Reports: from what a referee says of a match to the result that the league records."""

import json
from typing import Any

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.launch.rulebook import make_result_decider
from agent_league.league.reports import (
    CONTRADICTED_RESULT,
    MAX_DETAILS_BYTES,
    MAX_DEVIATIONS,
    MISSING_RESULT,
    build_match_result,
    correct_by_details,
    find_report,
    parse_reported_result,
)
from agent_league.model.results import MatchResult, Outcome, Scoring, Termination
from agent_league.model.schedule import Pairing
from agent_league.protocol.v2.match import ReportedResult
from agent_league.text import MAX_SENTENCE, shorten

PAIRING = Pairing("R1M1", 1, "P01", "P02")
WON = {"winner": "P01", "score": {"P01": 3, "P02": 0}}


def read(scoring: Scoring | None = None, **told: Any) -> Any:
    return build_match_result(PAIRING, ReportedResult.model_validate({"winner": None, **told}), scoring or Scoring())


def test_results_in_which_nobody_failed_share_what_they_note() -> None:
    one, other = read(terminations={"P01": "sunstroke"}), read()
    assert one.terminations is other.terminations
    again = MatchResult.from_json(PAIRING, one.to_json())
    assert (again.terminations, again.tolerated) == ({}, {})
    assert {*map(id, (again.terminations, again.tolerated))} == {id(one.terminations)}


def result(message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": message, "id": 1}


@pytest.mark.parametrize(
    "reply",
    [
        result(WON),
        result({"status": "ok", "result": WON}),
        result({"message_type": "MATCH_RESULT_REPORT", "match_id": "R1M1", "result": WON}),
        result({"content": [{"type": "text", "text": json.dumps({"result": WON})}]}),
        result({"structuredContent": WON}),
        result({"status": "ok", "message": {"message_type": "MATCH_RESULT_REPORT", "result": WON}}),
        {"message_type": "MATCH_RESULT_REPORT", "result": WON},
        {"method": "report_match_result", "params": {"result": WON}},
        WON,
    ],
)
def test_a_result_is_found_wherever_the_reply_to_the_start_holds_it(reply: Any) -> None:
    report = find_report(reply)
    assert report is not None
    reported = parse_reported_result(report)
    assert reported is not None
    assert (reported.winner, reported.score) == ("P01", {"P01": 3, "P02": 0})


@pytest.mark.parametrize(
    "reply",
    [None, 5, "P01", [WON], {}, result(None), result({"status": "ok"}), result({"result": "P01"}), result([WON])],
)
def test_a_reply_that_only_acknowledges_holds_none(reply: Any) -> None:
    assert find_report(reply) is None


@pytest.mark.parametrize(
    "told", [{"winner": 5}, {"winner": "P01", "score": [3, 0]}, {"winner": None, "status": "LOST"}]
)
def test_a_result_in_a_reply_that_can_not_be_read_is_refused_with_its_field(told: Any) -> None:
    with pytest.raises(Refusal) as caught:
        parse_reported_result(find_report(result(told)) or {})
    assert caught.value.code is ErrorCode.INVALID_MESSAGE_FORMAT


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (WON, Outcome.WIN),
        ({**WON, "status": "WIN"}, Outcome.WIN),
        ({"winner": None}, Outcome.DRAW),
        ({"winner": None, "status": "DRAW"}, Outcome.DRAW),
        ({"winner": None, "score": {"P01": 1, "P02": 1}}, Outcome.DRAW),
        ({"winner": None, "score": {"P01": 0, "P02": 0}}, Outcome.TECHNICAL_LOSS),
        ({"winner": "P01", "status": "TECHNICAL_LOSS"}, Outcome.TECHNICAL_LOSS),
        ({"winner": None, "status": "TECHNICAL_LOSS"}, Outcome.TECHNICAL_LOSS),
    ],
)
def test_the_outcome_is_told_by_status_winner_or_score(told: dict[str, Any], outcome: Outcome) -> None:
    assert (read(**told).outcome, read(**told).winner) == (outcome, told["winner"])


def test_where_a_draw_gives_nothing_a_score_of_nothing_is_a_draw() -> None:
    assert read(Scoring(draw_points=0), score={"P01": 0, "P02": 0}).outcome is Outcome.DRAW


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"winner": "P03"}, "result.winner"),
        ({"winner": ""}, "result.winner"),
        ({"winner": "player:P01"}, "result.winner"),
        ({"winner": "P01", "status": "DRAW"}, "result.status"),
        ({"winner": None, "status": "WIN"}, "result.status"),
    ],
)
def test_a_result_that_contradicts_itself_or_the_match_is_refused(told: dict[str, Any], field: str) -> None:
    with pytest.raises(Refusal) as caught:
        read(**told)
    assert caught.value.context["field"] == field


def test_how_it_ended_is_kept_for_the_players_and_in_words_that_we_know() -> None:
    terminations = {"P01": "move_timeout", "P02": "struck by lightning", "P09": "void"}
    assert read(terminations=terminations).terminations == {"P01": Termination.MOVE_TIMEOUT}


def test_what_a_referee_put_up_with_is_kept_for_the_players_within_bounds() -> None:
    told = {"P01": ["'choice' for 'parity_choice'"], "P02": ["x" * 10_000] * 1000, "P09": ["of nobody"]}
    kept = read(tolerated=told).tolerated
    assert kept == {
        "P01": ("'choice' for 'parity_choice'",),
        "P02": (shorten("x" * 9999, MAX_SENTENCE),) * MAX_DEVIATIONS,
    }
    assert read(tolerated={"P01": []}).tolerated == {}


def test_details_are_kept_unless_they_are_far_too_long() -> None:
    assert read(details={"drawn_number": 8}).details == {"drawn_number": 8}
    (size,) = read(details={"x": "y" * MAX_DETAILS_BYTES}).details.values()
    assert size > MAX_DETAILS_BYTES


def test_no_token_that_a_referee_repeats_is_kept() -> None:
    token = "tok-p01-72c4a0b1c2d3e4f5"
    told = read(details={"choices": {"P01": {"auth_token": token, "said": [token]}}}, tolerated={"P01": [token]})
    assert token not in f"{told.details} {told.tolerated}"
    assert told.details["choices"]["P01"].keys() == {"auth_token", "said"}


DETAILS = {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}}
DRAWN = {"drawn_number": 8, "choices": {"P01": "even", "P02": "even"}}
RANGE = {"min_number": 1, "max_number": 10}


def settled(report: dict[str, Any], game_type: str = "even_odd") -> tuple[Any, tuple[str, ...]]:
    return correct_by_details(report, PAIRING.players, RANGE, make_result_decider(game_type))


@pytest.mark.parametrize(
    ("report", "winner", "noted"),
    [
        ({"result": {"details": DETAILS}}, "P01", MISSING_RESULT),
        ({"details": DETAILS}, "P01", MISSING_RESULT),
        ({"result": "P01 won", "details": DETAILS}, "P01", MISSING_RESULT),
        ({"result": {"winner": "P02", "score": {"P02": 3, "P01": 0}, "details": DETAILS}}, "P01", CONTRADICTED_RESULT),
        ({"result": {"winner": None, "details": DETAILS}}, "P01", CONTRADICTED_RESULT),
        ({"result": {"winner": "PLAYER_A", "details": DETAILS}}, "P01", CONTRADICTED_RESULT),
        ({"result": {"winner": "P01", "status": "DRAW", "details": DETAILS}}, "P01", CONTRADICTED_RESULT),
        ({"result": {"winner": "P01", "details": DRAWN}}, None, CONTRADICTED_RESULT),
        ({"result": {"winner": "DRAW", "details": DRAWN}}, None, CONTRADICTED_RESULT),
        ({"result": {"winner": None, "score": {"P01": 0, "P02": 0}, "details": DRAWN}}, None, CONTRADICTED_RESULT),
    ],
)
def test_a_missing_or_contradicting_result_is_booked_by_the_details_and_noted(
    report: dict[str, Any], winner: str | None, noted: str
) -> None:
    booked, notes = settled(report)
    assert notes == (noted,)
    result = build_match_result(PAIRING, ReportedResult.model_validate(booked["result"]), Scoring())
    assert (result.winner, result.outcome) == (winner, Outcome.WIN if winner else Outcome.DRAW)
    assert result.details == report.get("details", DETAILS if winner else DRAWN)


UNTOUCHED: list[dict[str, Any]] = [
    {**WON, "details": DETAILS},
    {**WON, "status": "WIN", "details": DETAILS},
    {"winner": None, "details": DRAWN},
    {"winner": None, "status": "DRAW", "score": {"P01": 1, "P02": 1}, "details": DRAWN},
    {"winner": "P02", "details": {**DETAILS, "drawn_number": 11}},
    {"winner": "P02", "details": {**DETAILS, "drawn_number": 0}},
    {"winner": "P02", "details": {**DETAILS, "drawn_number": "8"}},
    {"winner": "P02", "details": {**DETAILS, "drawn_number": True}},
    {"winner": "P02", "details": {**DETAILS, "drawn_number": None}},
    {"winner": "P02", "details": {"choices": DETAILS["choices"]}},
    {"winner": "P02", "details": {"drawn_number": 8}},
    {"winner": "P02", "details": {"drawn_number": 8, "choices": {"P01": "even"}}},
    {"winner": "P02", "details": {"drawn_number": 8, "choices": {"P01": "even", "P02": "Odd"}}},
    {"winner": "P02", "details": {"drawn_number": 8, "choices": {"P01": "even", "P03": "odd"}}},
    {"winner": "P02", "details": {"drawn_number": 8, "choices": ["even", "odd"]}},
    {"winner": "P02", "details": {"drawn_number": 8, "choices": {"P01": "even", "P02": ["odd"]}}},
    {"winner": "P02", "details": [8]},
    {"winner": "P02"},
    {"winner": "P02", "status": "TECHNICAL_LOSS", "details": DETAILS},
    {"winner": "P02", "reason": "P01 lost: technical loss", "details": DETAILS},
    {"winner": "P02", "reason": "P01 timed out", "details": DETAILS},
    {"winner": "P02", "termination": "FORFEIT", "details": DETAILS},
    {"winner": "P02", "terminations": {"P01": "move_timeout"}, "details": DETAILS},
    {"winner": "P02", "details": {**DETAILS, "status": "technical_loss"}},
]


@pytest.mark.parametrize("told", UNTOUCHED)
def test_otherwise_a_report_stays_as_it_came(told: dict[str, Any]) -> None:
    report = {"message_type": "MATCH_RESULT_REPORT", "match_id": "R1M1", "result": told}
    assert settled(report) == (report, ())


def test_the_details_of_another_game_decide_nothing() -> None:
    report = {"result": {"winner": "P02", "details": DETAILS}}
    assert settled(report)[1] == (CONTRADICTED_RESULT,)
    assert settled(report, "odds_and_evens") == (report, ())


def test_a_reply_whose_details_alone_tell_the_result_holds_a_report() -> None:
    assert find_report(result({"status": "completed", "result": {"details": DETAILS}})) == {
        "result": {"details": DETAILS}
    }
    assert parse_reported_result({"result": {"details": DETAILS}}) is None
