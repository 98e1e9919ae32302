"""How a player has answered, from the transcripts of its matches."""

from typing import Any

import pytest

from agent_league.model.results import MatchResult, Outcome
from agent_league.text import MAX_WORD
from agent_league.web.player.statistics import MOST_MATCHES, AnswerStatistics, FiledMatch, summarise_answers


def entry(direction: str, method: str = "make_move", **more: Any) -> dict[str, Any]:
    return {"at": "2025-01-15T10:30:00.000Z", "direction": direction, "player_id": "P01", "method": method, **more}


def match(number: int, *entries: dict[str, Any]) -> FiledMatch:
    result = MatchResult(f"R{number}M1", number, ("P01", "P02"), Outcome.WIN, "P01")
    return FiledMatch(result, {"transcript": list(entries)})


ASKED = entry("sent", attempt=1)
LATE = entry("failed", error_code="E001", latency_ms=4000)


def test_times_are_those_of_moves_that_came_and_not_of_invitations() -> None:
    joined = entry("received", "handle_game_invitation", latency_ms=900)
    answered = [entry("received", latency_ms=time) for time in (10, 30, 20)]
    found = summarise_answers("P01", [match(1, joined, ASKED, answered[0]), match(2, *answered[1:])])
    assert (found.median_ms, found.slowest_ms, found.slowest_in) == (20, 30, "R2M1")


def test_a_failure_that_cost_no_match_is_told_with_its_match_and_the_second_try() -> None:
    again = entry("sent", attempt=2)
    told = entry("sent", "notify_game_error", attempt=1)
    found = summarise_answers(
        "P01", [match(1, ASKED, LATE, told, again, entry("received", latency_ms=5)), match(2, LATE)]
    )
    assert (found.asked, found.again) == (2, 1)
    (trouble,) = found.troubles
    assert (trouble.code, trouble.words, trouble.times) == ("E001", "no answer in time", 2)
    assert trouble.matches == ("R2M1", "R1M1")


def test_the_most_frequent_comes_first_and_the_opponents_is_none_of_it() -> None:
    other = entry("failed", error_code="E010", player_id="P02")
    refused = entry("failed", error_code="E010")
    late = [match(number, LATE) for number in range(2, 40)]
    found = summarise_answers("P01", [match(1, refused, other), *late])
    assert [(trouble.code, trouble.times) for trouble in found.troubles] == [("E001", 38), ("E010", 1)]
    assert len(found.troubles[0].matches) == MOST_MATCHES


@pytest.mark.parametrize(
    "junk",
    [
        {"latency_ms": "soon"},
        {"latency_ms": -5},
        {"latency_ms": True},
        {"attempt": []},
        {"method": 7},
        {"error_code": {"deep": ["x"] * 100}},
        {"player_id": None},
    ],
)
@pytest.mark.parametrize("direction", ["sent", "received", "failed", "drawn"])
def test_whatever_a_file_says_is_taken_as_far_as_it_goes(direction: str, junk: dict[str, Any]) -> None:
    found = summarise_answers("P01", [match(1, entry(direction) | junk)])
    assert all(len(trouble.code) <= MAX_WORD for trouble in found.troubles)
    assert not found.slowest_ms


def test_without_files_nothing_is_known() -> None:
    nothing = AnswerStatistics(asked=0, again=0, median_ms=None, slowest_ms=None, slowest_in="", troubles=())
    assert summarise_answers("P01", [FiledMatch(match(1).result, None)]) == nothing
