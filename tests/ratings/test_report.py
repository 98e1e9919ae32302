"""The report on ratings: what it tests, and in which words it tells what it found."""

import json
import os
import subprocess
import sys
from itertools import pairwise

from agent_league.ratings.numpy_import import THREADS_VARIABLE
from agent_league.ratings.report import RatingReport, make_rating_report
from agent_league.ratings.results import ResultTable, find_connected_groups
from agent_league.ratings.tables import RATING_COLUMNS, ResultRow, list_rating_rows


def report_on(*rows: ResultRow, names: tuple[str, ...] = ("P01", "P02", "P03")) -> RatingReport:
    return make_rating_report(ResultTable.from_rows(rows, names))


def test_results_that_go_in_circles_are_not_called_luck_though_points_are_even() -> None:
    beats = [("P01", "P02"), ("P02", "P03"), ("P03", "P01")]
    report = report_on(*(ResultRow(one, other, 1.0, count=30) for one, other in beats))
    sentences = report.describe({"P01": "Rock"})
    assert sentences[0].startswith("The results go in circles: Rock beats P02 (30 of 30)")
    assert not any("coin" in sentence for sentence in sentences)
    assert report.luck
    assert report.luck.is_luck


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
