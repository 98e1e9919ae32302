"""Reports: from what a referee says of a match to the result that the league records."""

import json
from typing import Any

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.reports import LONGEST_DETAILS, LONGEST_NOTE, MOST_NOTES, read_result, report_in
from agent_league.model.results import Outcome, Scoring, Termination
from agent_league.model.schedule import Pairing
from agent_league.protocol.v2.results import ReportedResult

PAIRING = Pairing("R1M1", 1, "P01", "P02")
WON = {"winner": "P01", "score": {"P01": 3, "P02": 0}}


def read(scoring: Scoring | None = None, **told: Any) -> Any:
    return read_result(PAIRING, ReportedResult.model_validate({"winner": None, **told}), scoring or Scoring())


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
    reported = report_in(reply)
    assert reported is not None
    assert (reported.winner, reported.score) == ("P01", {"P01": 3, "P02": 0})


@pytest.mark.parametrize(
    "reply",
    [None, 5, "P01", [WON], {}, result(None), result({"status": "ok"}), result({"result": "P01"}), result([WON])],
)
def test_a_reply_that_only_acknowledges_holds_none(reply: Any) -> None:
    assert report_in(reply) is None


@pytest.mark.parametrize(
    "told", [{"winner": 5}, {"winner": "P01", "score": [3, 0]}, {"winner": None, "status": "LOST"}]
)
def test_a_result_in_a_reply_that_can_not_be_read_is_refused_with_its_field(told: Any) -> None:
    with pytest.raises(Refusal) as caught:
        report_in(result(told))
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
    assert kept == {"P01": ("'choice' for 'parity_choice'",), "P02": ("x" * LONGEST_NOTE,) * MOST_NOTES}
    assert read(tolerated={"P01": []}).tolerated == {}


def test_details_are_kept_unless_they_are_far_too_long() -> None:
    assert read(details={"drawn_number": 8}).details == {"drawn_number": 8}
    (size,) = read(details={"x": "y" * LONGEST_DETAILS}).details.values()
    assert size > LONGEST_DETAILS


def test_no_token_that_a_referee_repeats_is_kept() -> None:
    token = "tok-p01-72c4a0b1c2d3e4f5"
    told = read(details={"choices": {"P01": {"auth_token": token, "said": [token]}}}, tolerated={"P01": [token]})
    assert token not in f"{told.details} {told.tolerated}"
    assert told.details["choices"]["P01"].keys() == {"auth_token", "said"}
