"""What models used is added up from a match's transcript, and read from reports, whoever wrote them."""

from typing import Any

import pytest

from agent_league.model.model_usage import MAX_COUNT, ModelUsage, add_usage, read_usage
from agent_league.model.results import MatchResult, Outcome
from agent_league.model.schedule import Pairing
from agent_league.model.tables import tabulate_model_usage
from agent_league.referee.model_usage import summarise_model_usage

USAGE: dict[str, Any] = {
    "model": "small",
    "input_tokens": 100,
    "output_tokens": 10,
    "cost_usd": 0.5,
    "latency_ms": 900,
    "attempts": 1,
    "fallback": None,
}


def answered(player_id: str = "P01", usage: Any = USAGE, **fields: Any) -> dict[str, Any]:
    message = {"move_data": 4, "usage": usage}
    return {"direction": "received", "player_id": player_id, "latency_ms": 1000.0, "message": message, **fields}


def failed(code: str, message: Any = None) -> dict[str, Any]:
    return {"direction": "failed", "player_id": "P01", "latency_ms": 5.0, "error_code": code, "message": message}


def test_answers_are_added_up_with_what_the_referee_refused() -> None:
    entries = [
        {"direction": "sent", "player_id": "P01", "message": {"usage": USAGE}},
        failed("E001"),
        answered(),
        failed("E010", {"move_data": 99, "usage": USAGE}),
        answered(usage={**USAGE, "illegal_answers": 2, "late_answers": 1, "fallback": "why", "cost_usd": None}),
        answered("P02", usage=None),
    ]
    assert summarise_model_usage(entries) == {
        "P01": ModelUsage(
            model="small",
            moves=2,
            input_tokens=300,
            output_tokens=30,
            cost_usd=1.0,
            unpriced_moves=1,
            latency_ms=2000.0,
            illegal_answers=3,
            late_answers=2,
            fallback_moves=1,
        )
    }


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("field", ["input_tokens", "illegal_answers", "cost_usd"])
def test_a_sum_of_absurd_numbers_is_still_read(field: str, times: int) -> None:
    absurd = {**USAGE, field: 1.7e308 if field == "cost_usd" else MAX_COUNT}
    entries = [answered(), *[answered(usage=absurd)] * times, failed("E010", {"move_data": 99, "usage": absurd})]
    [used] = summarise_model_usage(entries).values()
    assert (getattr(used, field), used.moves) == (MAX_COUNT, 1 + times)
    assert read_usage({"P01": used.to_json()}, ["P01"]) == {"P01": used}
    assert used.add(used).moves == 2 * used.moves


@pytest.mark.parametrize(
    "usage",
    [
        *(5, "much", [USAGE], {}, {**USAGE, "input_tokens": -1}, {**USAGE, "input_tokens": 2**60}),
        *({**USAGE, "cost_usd": float("inf")}, {**USAGE, "cost_usd": float("nan")}, {**USAGE, "model": "x" * 999}),
    ],
)
def test_a_usage_of_another_form_counts_for_nothing(usage: Any) -> None:
    assert summarise_model_usage([answered(usage=usage), failed("E001")]) == {}


@pytest.mark.parametrize(
    "told",
    [
        *(None, 5, [], {"P01": 5}, {"P01": {}}, {"P01": {"model": 5}}, {"P01": {"model": "m", "moves": -1}}),
        *({"P01": {"model": "m", "moves": True}}, {"P01": {"model": "m", "cost_usd": "1"}}, {"P09": {"model": "m"}}),
        *({"P01": {"model": "m", "cost_usd": float("nan")}}, {"P01": {"model": "m", "moves": float("inf")}}),
    ],
)
def test_a_report_of_another_form_is_read_as_none(told: Any) -> None:
    assert read_usage(told, ("P01", "P02")) == {}


def test_a_result_keeps_what_was_used() -> None:
    used = {"P01": ModelUsage(model="m\x1b", moves=2, cost_usd=0.25)}
    result = MatchResult(
        "R1M1", 1, ("P01", "P02"), Outcome.DRAW, None, usage=read_usage({"P01": used["P01"].to_json()}, ("P01", "P02"))
    )
    again = MatchResult.from_json(Pairing("R1M1", 1, "P01", "P02"), result.to_json())
    assert again.usage == result.usage == {"P01": ModelUsage(model="m\\x1b", moves=2, cost_usd=0.25)}
    plain = MatchResult("R1M1", 1, ("P01", "P02"), Outcome.DRAW, None)
    assert "usage" not in plain.to_json()


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (ModelUsage("m", cost_usd=0.01234), "$0.0123"),
        (ModelUsage("m", cost_usd=0.01234, unpriced_moves=1), "at least $0.0123"),
        (ModelUsage("m", unpriced_moves=1), "not known"),
        (ModelUsage("m"), "$0"),
    ],
)
def test_a_cost_that_isnt_known_of_every_move_says_so(usage: ModelUsage, text: str) -> None:
    assert usage.cost_text == text


def test_the_table_has_a_row_for_each_player() -> None:
    total = add_usage([("P01", ModelUsage("m", moves=2, latency_ms=500.0)), ("P01", ModelUsage("m", moves=2))])
    (row,) = tabulate_model_usage(total).rows
    assert row == ("P01", "m", 4, 0, "$0", "125 ms", 0, 0, 0)
