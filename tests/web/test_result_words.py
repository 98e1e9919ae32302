"""What is said of results and times: the same on pages and in terminals."""

import pytest

from agent_league.clock import format_duration
from agent_league.model.result_words import (
    ABORTED,
    DREW,
    LOST,
    LOST_TECHNICALLY,
    RUNNING,
    SCHEDULED,
    TERMINATION_TEXTS,
    WON,
    WON_TECHNICALLY,
    ResultLabel,
    describe_ending,
    describe_fault,
    format_champions,
    format_count,
    label_result,
)
from agent_league.model.results import MatchResult, Outcome, StandingsRow, Termination

NAMES = {"P01": "Alpha", "P02": "Beta"}
VOID = dict.fromkeys(NAMES, Termination.VOID)
LATE = {"P01": Termination.NORMAL, "P02": Termination.MOVE_TIMEOUT}
BOTH = {"P01": Termination.DISCONNECTED, "P02": Termination.SUSPENDED}


def result(outcome: Outcome, winner: str | None, terminations: dict[str, Termination] | None = None) -> MatchResult:
    ends = terminations or dict.fromkeys(NAMES, Termination.NORMAL)
    return MatchResult("R1M1", 1, ("P01", "P02"), outcome, winner, {"fault": "no rules"}, ends)


@pytest.mark.parametrize(
    ("found", "sentence", "wrong", "signs"),
    [
        (result(Outcome.WIN, "P02"), "Beta beats Alpha", "", (LOST, WON)),
        (result(Outcome.DRAW, None), "Alpha and Beta draw", "", (DREW, DREW)),
        (
            result(Outcome.TECHNICAL_LOSS, "P01", LATE),
            "Alpha beats Beta: Beta didn't answer a question in time",
            "Beta didn't answer a question in time",
            (WON_TECHNICALLY, LOST_TECHNICALLY),
        ),
        (
            result(Outcome.TECHNICAL_LOSS, None, BOTH),
            "nobody wins: Alpha couldn't be reached; Beta was suspended",
            "Alpha couldn't be reached; Beta was suspended",
            (LOST_TECHNICALLY, LOST_TECHNICALLY),
        ),
        (
            result(Outcome.TECHNICAL_LOSS, None, VOID),
            "Alpha against Beta was aborted: no rules",
            "aborted: no rules",
            (ABORTED, ABORTED),
        ),
    ],
)
def test_a_result_has_one_sentence_and_a_sign_for_each_of_its_players(
    found: MatchResult, sentence: str, wrong: str, signs: tuple[ResultLabel, ResultLabel]
) -> None:
    assert describe_ending(found, NAMES) == sentence
    assert describe_fault(found, NAMES) == wrong
    assert tuple(label_result(found, player_id) for player_id in found.players) == signs
    assert all(sign.column in "WDL" for sign in signs)


def test_who_has_no_name_is_called_by_its_id() -> None:
    assert describe_ending(result(Outcome.WIN, "P01"), {}) == "P01 beats P02"


def test_a_match_without_a_result_is_played_or_to_come() -> None:
    assert (label_result(None, "P01", is_playing=True), label_result(None, "P01")) == (RUNNING, SCHEDULED)


def test_every_ending_has_its_words() -> None:
    assert set(TERMINATION_TEXTS) == set(Termination)


@pytest.mark.parametrize(("points", "words"), [(0, "0 points"), (1, "1 point"), (9, "9 points")])
def test_the_champion_is_told_with_its_points(points: int, words: str) -> None:
    rows = [StandingsRow(1, "P01", "Alpha", 3, 3, 0, 0, points, 1), StandingsRow(2, "P02", "Beta", 3, 0, 0, 3, 0, 2)]
    assert format_champions(rows) == f"Champion: Alpha (P01) with {words}"


def test_one_thing_is_not_told_as_many() -> None:
    assert [
        format_count(1, "match"),
        format_count(2, "match"),
        format_count(1, "referee"),
        format_count(0, "referee"),
    ] == [
        "1 match",
        "2 matches",
        "1 referee",
        "0 referees",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.0004, "0.4 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1 s"),
        (1.25, "1.2 s"),
        (5, "5 s"),
        (45.4, "45 s"),
        (59.7, "1 min"),
        (179, "3 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_length_of_time_is_told_as_people_say_it(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
