"""`league evaluate` as a person uses it."""

import json
import signal
from pathlib import Path

from agent_league.lab import ExperimentResults
from agent_league.lab.evaluation.evaluator import PLAYER_LABEL
from tests.cli.command import league, running, until
from tests.cli.test_experiment import count_rows
from tests.conftest import free_ports


def test_a_strategy_is_evaluated_and_the_report_is_where_it_says(tmp_path: Path) -> None:
    done = league("evaluate", "random", "--games", 2, "--seed", 7, "--out", "here", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "mirror" in done.stdout
    assert "No skill can reach this mark" in done.stdout.replace("\n", " ")
    assert "always first: plays the first legal move (even)" in done.stdout.replace("\n", " ")
    assert "The report is in here" in done.stderr
    found = json.loads((tmp_path / "here" / "evaluation.json").read_text(encoding="utf-8"))
    assert [one["games"] for one in found["opponents"]] == [2, 2, 2, 2, 0]

    again = league("evaluate", "random", "--games", 2, "--out", "here", cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_its_games_are_an_experiment_that_can_be_played_again(tmp_path: Path) -> None:
    done = league("evaluate", "markov", "--game", "nim", "--games", 12, "--seed", 7, "--out", "here", cwd=tmp_path)
    assert "Beside it, its games as an experiment" in done.stderr, done.stderr
    found = json.loads((tmp_path / "here" / "evaluation.json").read_text(encoding="utf-8"))
    results = ExperimentResults(tmp_path / "here")
    rows = list(results.rows())
    for opponent in (one for one in found["opponents"] if one["games"]):
        own = [row for row in rows if opponent["opponent"] in (row.first, row.second)]
        assert [(row.first == PLAYER_LABEL) for row in own] == [game["seat"] == 0 for game in opponent["played"]]
        won = [row.winner == ("first" if row.first == PLAYER_LABEL else "second") for row in own]
        assert won == [game["ending"] == "win" for game in opponent["played"]]
        assert all(row.repeatable for row in own)
    assert len(rows) == 3 * 12
    assert results.summary.is_finished
    again = league("experiment", "here/experiment.toml", "--out", "again", "--games-csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert results.write_csv().read_bytes() == (tmp_path / "again" / "games.csv").read_bytes()
    ratings = results.summary.games[0].ratings
    assert ratings
    shown = ratings.table.to_json()["ratings"]
    assert [one["elo"] for one in found["ratings"]["ratings"]] == [one["elo"] for one in shown]
    refused = league("evaluate", "markov", "--games", 2, "--out", "again", cwd=tmp_path)
    assert "--out again: experiment.toml, games.sqlite, games.csv, report.md, report.html is there" in refused.stderr


def test_an_odd_number_of_games_is_made_even_and_said_so(tmp_path: Path) -> None:
    done = league("evaluate", "random", "--games", 1, "--out", "single", cwd=tmp_path)
    assert "2 games are played against each opponent, so that each seed has equally many on both" in done.stderr


def test_an_address_where_nobody_is_leaves_no_folder(tmp_path: Path) -> None:
    ports = free_ports(2)
    options = ("--wait", "0.1", "--manager-port", ports)
    done = league("evaluate", f"localhost:{ports + 1}", *options, "--out", "here", cwd=tmp_path)
    assert done.returncode == 2
    assert "start it first" in done.stderr
    assert not (tmp_path / "here").exists()


def test_a_criterion_that_fails_is_exit_code_1_and_json_is_all_that_is_printed(tmp_path: Path) -> None:
    done = league("evaluate", "random", "--game", "nim", "--games", 100, "--seed", 1, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)

    assert done.returncode == 1, done.stderr
    assert [one["verdict"] for one in found["criteria"]] == ["PASS", "PASS", "PASS", "FAIL", "not judged", "PASS"]
    assert len(list(tmp_path.glob("evaluations/random-*/evaluation.html"))) == 1


def test_what_is_no_player_is_exit_code_2_with_a_sentence(tmp_path: Path) -> None:
    done = league("evaluate", "nobody", cwd=tmp_path)

    assert done.returncode == 2
    assert "neither the address of a player" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_nothing_is_played(tmp_path: Path) -> None:
    done = league("evaluate", "random", "--games", 2, "--out", "/proc/here", cwd=tmp_path)

    assert done.returncode == 2
    assert "--out /proc/here: nothing can be written there" in done.stderr
    assert "games" not in done.stderr


def test_ctrl_c_leaves_a_report_of_what_there_was(tmp_path: Path) -> None:
    with running(["evaluate", "random", "--games", 400, "--out", "here"], cwd=tmp_path) as (process,):
        until(lambda: count_rows(tmp_path / "here"), "a row is written")
        process.signal(signal.SIGINT)
        assert process.ends() == 130
        assert "Interrupted: it tells of" in process.text
    found = json.loads((tmp_path / "here" / "evaluation.json").read_text(encoding="utf-8"))
    assert found["interrupted"] is True
    assert 0 < found["opponents"][0]["games"] < 400


def test_an_evaluation_that_could_not_begin_leaves_no_folder(tmp_path: Path) -> None:
    done = league("evaluate", f"http://localhost:{free_ports(1)}/mcp", "--wait", 0, cwd=tmp_path)
    assert done.returncode == 2
    assert "nobody listens there; start it first" in done.stderr
    assert list(tmp_path.iterdir()) == []
