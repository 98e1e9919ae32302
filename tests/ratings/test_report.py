"""The report on ratings: what it tests, and in which words it tells what it found."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from agent_league.ratings.bradley_terry import fit_ratings
from agent_league.ratings.numpy_import import THREADS_VARIABLE
from agent_league.ratings.rating_words import format_group
from agent_league.ratings.report import RatingReport, make_rating_report
from agent_league.ratings.results import ResultTable, count_loops, find_connected_groups
from agent_league.ratings.tables import RATING_COLUMNS, ResultRow, list_rating_rows


def report_on(*rows: ResultRow, names: tuple[str, ...] = ("P01", "P02", "P03")) -> RatingReport:
    return make_rating_report(ResultTable.from_rows(rows, names))


def test_results_that_go_in_circles_are_not_called_luck_though_points_are_even() -> None:
    beats = [("P01", "P02"), ("P02", "P03"), ("P03", "P01")]
    report = report_on(*(ResultRow(one, other, 1.0, count=30) for one, other in beats))
    sentences = report.describe({"P01": "Rock"})
    assert sentences[0].startswith("The results go in circles: Rock beats P02 (30 of 30)")
    assert not any("coin" in sentence for sentence in sentences)
    assert report.luck is None
    assert report.to_json()["luck"] is None


def test_luck_is_not_claimed_where_one_number_does_not_describe_the_results() -> None:
    """Rock, paper and scissors that each win most of the time, so few matches that no link of the circle is sure."""
    beats = [("P01", "P02"), ("P02", "P03"), ("P03", "P01")]
    report = report_on(*(ResultRow(*pair, score, count) for pair in beats for score, count in ((1.0, 6), (0.0, 1))))
    assert report.transitivity
    assert not report.transitivity.is_described_by_ratings
    assert not report.transitivity.goes_in_circles
    assert report.to_json()["luck"] is None
    assert not any("coin" in sentence for sentence in report.describe())
    even = report_on(*(ResultRow(*pair, score, 3) for pair in beats for score in (0.0, 1.0)))
    assert even.luck
    assert even.luck.is_luck


def test_a_test_of_circles_needs_a_loop_and_pairings_that_do_not_follow_results() -> None:
    names = ("P01", "P02", "P03", "P04")
    tree = [ResultRow("P01", "P02", 1.0, 9), ResultRow("P03", "P04", 1.0, 9), ResultRow("P01", "P03", 0.0, 9)]
    assert report_on(*tree, names=names).transitivity is None
    assert report_on(*tree, ResultRow("P02", "P04", 1.0, is_technical=True), names=names).transitivity is None
    loop = [*tree, ResultRow("P02", "P04", 1.0, 9)]
    assert report_on(*loop, names=names).transitivity is not None
    results = ResultTable.from_rows(loop, names)
    assert make_rating_report(results, is_paired_by_results=True).transitivity is None
    assert [count_loops(ResultTable.from_rows(rows, names)) for rows in ([], tree, loop, loop * 2)] == [0, 0, 1, 1]


WINS = ((1.0, 13), (0.0, 7))


def test_players_who_never_met_are_compared_in_nothing() -> None:
    """Each group by itself has the same ratings, intervals and ties; its last player has no next one."""
    strong = [ResultRow(*pair, score, count) for pair in (("A1", "A2"), ("A2", "A3")) for score, count in WINS]
    weak = [
        ResultRow("B1", "B2", 1.0, 60),
        ResultRow("B1", "B2", 0.0, 20),
        ResultRow("B1", "B2", 1.0, is_technical=True),
    ]
    rows = [replace(row, game="x") for row in strong] + [replace(row, game="y") for row in weak]
    report = report_on(*rows, names=("B1", "A1", "B2", "A2", "A3", "C1"))
    table = report.table
    assert [rating.player_id for rating in table.ratings] == ["A1", "A2", "A3", "B1", "B2", "C1"]
    assert [rating.likelihood_above_next is None for rating in table.ratings] == [False, False, True, False, True, True]
    assert [rating.games_to_separate is None for rating in table.ratings][2::2] == [True, True]
    groups = [rating.tied_group for rating in table.ratings]
    assert len({*groups[:3]} & {*groups[3:5]}) == 0
    assert sum(rating.elo for rating in table.ratings[:3]) == pytest.approx(0, abs=1e-6)
    for name in ("A1", "B1"):
        alone = [row for row in rows if row.player_a[0] == name[0]]
        own = fit_ratings(ResultTable.from_rows(alone), prior_elo=1e5).by_player()[name]
        found = fit_ratings(ResultTable.from_rows(rows), prior_elo=1e5).by_player()[name]
        assert (found.elo, found.low) == pytest.approx((own.elo, own.low), rel=0.02)
    told = " ".join(report.describe())
    assert "Compare ratings only within a group." in told
    assert not any(word in told for word in ("better than", "best rating", "tied", "separate"))


def test_who_has_no_game_yet_does_not_keep_the_others_from_being_compared() -> None:
    report = report_on(ResultRow("P01", "P02", 1.0, 30), ResultRow("P01", "P02", 0.0, 5))
    assert "P01 is significantly better than all others." in report.describe()
    assert [format_group(rating) for rating in report.table.ratings] == ["A", "B", ""]


def test_technical_losses_are_counted_and_what_they_change_is_told() -> None:
    report = report_on(
        ResultRow("P01", "P02", 1.0, count=6),
        ResultRow("P01", "P02", 0.0, count=4),
        ResultRow("P03", "P01", 0.5, count=10),
        ResultRow("P02", "P01", 1.0, count=9, is_technical=True),
    )
    assert report.technical_losses == 9
    assert report.describe({"P01": "Ann", "P02": "Bob"})[-1] == (
        "Without the 9 matches that a technical loss decided, Ann has the best rating instead of Bob."
    )
    few = report_on(ResultRow("P01", "P02", 1.0, count=9), ResultRow("P01", "P02", 0.0, is_technical=True))
    assert "P01 still has the best rating; the rating of P0" in few.describe()[-1]
    rows = list_rating_rows(json.loads(json.dumps(report.to_json())), {"P01": "Ann"})
    assert [set(row) for row in rows] == [set(RATING_COLUMNS)] * 3
    ann = next(row for row in rows if row["display_name"] == "Ann")
    assert ann["elo"] < 0 < ann["elo_without_technical_losses"]


def test_players_who_never_met_are_told_by_group() -> None:
    names = ("P01", "P02", "P03", "P04", "P05")
    report = report_on(ResultRow("P02", "P01", 1.0), ResultRow("P04", "P03", 1.0), names=names)
    assert report.groups == (("P01", "P02"), ("P03", "P04"), ("P05",))
    assert (
        "These never met, not even through common opponents: Ann and P02; P03 and P04; P05."
        " Compare ratings only within a group."
    ) in report.describe({"P01": "Ann"})
    assert report.to_json()["unconnected_groups"] == [["P01", "P02"], ["P03", "P04"], ["P05"]]
    assert not report_on(ResultRow("P01", "P02", 1.0), names=("P01", "P02")).to_json()["unconnected_groups"]


def test_a_chain_of_opponents_links_its_ends() -> None:
    names = [f"P{number:03}" for number in range(200)]
    rows = [ResultRow(one, other, 1.0) for one, other in pairwise(names)]
    assert find_connected_groups(ResultTable.from_rows(reversed(rows), names)) == (tuple(names),)
    cut = [row for row in rows if row.player_a != "P050"]
    assert [len(group) for group in find_connected_groups(ResultTable.from_rows(cut, names))] == [149, 51]


def test_without_results_there_is_nothing_to_say() -> None:
    report = report_on()
    assert (report.transitivity, report.luck, report.rank_error) == (None, None, None)
    assert not any("tied" in sentence or "luck" in sentence for sentence in report.describe())


def test_numpy_starts_no_threads_of_its_own() -> None:
    script = (
        "import os, pathlib; from agent_league.ratings.numpy_import import import_numpy; import_numpy(); import numpy;"
        "tasks = pathlib.Path('/proc/self/task');"
        f"print(len(list(tasks.iterdir())) if tasks.exists() else 1, '{THREADS_VARIABLE}' in os.environ)"
    )
    env = {name: value for name, value in os.environ.items() if name != THREADS_VARIABLE}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]
