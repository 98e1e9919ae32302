"""`league experiment`."""

import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE, environment, league, until
from tests.conftest import BOUND

STRATEGIES = ["random", "first_legal", "last_legal", "biased", "markov", "frequency", "mirror", "alternating"]
MANY = """
name = "eight of them"
games = ["even_odd", "odds_and_evens", "nim", { game = "prisoners_dilemma", parameters = { repeat = 5 } }]
players = ["random", "first_legal", "last_legal", "biased", "markov", "frequency", "mirror", "alternating"]
seeds = 20
"""


def write_file(folder: Path, players: list[str], games: str = '"even_odd"', seeds: int = 3) -> Path:
    path = folder / "many.toml"
    listed = ", ".join(f'"{player}"' for player in players)
    path.write_text(f"games = [{games}]\nplayers = [{listed}]\nseeds = {seeds}\n")
    return path


def count_rows(folder: Path) -> int:
    try:
        database = sqlite3.connect(f"file:{folder / 'games.sqlite'}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return 0
    try:
        return int(database.execute("SELECT COUNT(*) FROM game_rows").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


def test_a_folder_is_chosen_and_told_and_the_command_goes_on_there(tmp_path: Path) -> None:
    path = write_file(tmp_path, ["random", "biased"])
    done = league("experiment", path.name, "--games-csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Everything is written to experiments/many." in done.stderr
    folder = tmp_path / "experiments" / "many"
    names = {"experiment.toml", "games.sqlite", "games.csv", "report.md", "report.html", "pairs.csv", "cost.svg"}
    assert names <= {path.name for path in folder.iterdir()}
    first = (folder / "games.csv").read_bytes()
    again = league("experiment", path.name, "--games-csv", cwd=tmp_path)
    assert again.returncode == 0
    assert "All games were there from an earlier run: nothing was left to play." in again.stderr
    assert "earlier run" not in done.stderr
    assert (folder / "games.csv").read_bytes() == first
    path.write_text(path.read_text().replace("seeds = 3", "seeds = 4"))
    refused = league("experiment", path.name, cwd=tmp_path)
    assert refused.returncode == 2
    assert (
        "holds another experiment, 'experiment'. What differs: seeds. Name another folder with --out" in refused.stderr
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("none.toml",), "none.toml: there is no such file"),
        (("many.toml", "--shard", "4/3"), "--shard: expected I/N with I from 1 to N, such as 1/3; found '4/3'"),
        (("many.toml", "--on", "dask"), "league: --on: expected processes, ray or ray=ADDRESS; found 'dask'"),
        (("many.toml", "other.toml"), "expected one file, found 2"),
        (("merge", "one"), "expected the folders of all shards and --out DIR"),
        (("merge", "one", "--out", "o"), "one holds no experiment"),
        (("merge", "one", "--out", "o", "--jobs", "2"), "merge plays nothing"),
    ],
)
def test_what_is_wrong_with_the_command_is_named(tmp_path: Path, options: tuple[str, ...], problem: str) -> None:
    write_file(tmp_path, ["random", "biased"])
    done = league("experiment", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (tmp_path / "experiments").exists()


@pytest.mark.parametrize("players", [8, 30])
@pytest.mark.parametrize("command", ["experiment", "simulate"])
def test_tables_fit_eighty_columns(tmp_path: Path, players: int, command: str) -> None:
    names = [STRATEGIES[place % 8] for place in range(players)]
    narrow = environment(COLUMNS="80")
    if command == "experiment":
        path = write_file(tmp_path, names, '"even_odd", "nim"', seeds=2)
        done = league("experiment", path, "--out", tmp_path / "out", cwd=tmp_path, env=narrow)
    else:
        done = league("simulate", "--strategy", ",".join(names), "--games", "4", cwd=tmp_path, env=narrow)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line[:1] in "┏┃┡│└"]
    assert max(map(len, lines)) <= 80
    assert "…" not in done.stdout
    for name in {*names, f"random #{players // 8}"} - {"random #1"}:
        assert f"│ {name}" in done.stdout
    assert ("Points in percent against number" in done.stdout) == (players == 8)


def test_long_names_are_told_apart_in_every_table(tmp_path: Path) -> None:
    names = [f"a rather long name of player number {place:02}" for place in range(30)]
    players = ", ".join(f'{{ player = "random", name = "{name}" }}' for name in names)
    (tmp_path / "many.toml").write_text(f'games = ["even_odd"]\nplayers = [{players}]\nseeds = 2\n')
    done = league("experiment", "many.toml", "--out", "out", cwd=tmp_path, env=environment(COLUMNS="80"))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "a rather long name" in line and line[0] == "│"]
    assert len(lines) == 2 * 30
    assert max(map(len, lines)) <= 80
    for table, column in ((lines[:30], 2), (lines[30:], 1)):
        shown = [line.split("│")[column].strip() for line in table]
        assert sorted(name[-2:] for name in shown) == [f"{place:02}" for place in range(30)]


def test_shards_of_several_machines_are_merged(tmp_path: Path) -> None:
    path = write_file(tmp_path, ["random", "biased", "markov"], seeds=5)
    assert league("experiment", path, "--out", "whole", "--games-csv", cwd=tmp_path).returncode == 0
    for shard in ("1/2", "2/2"):
        done = league("experiment", path, "--out", f"s{shard[0]}", "--shard", shard, cwd=tmp_path)
        assert f"Shard {shard} is finished" in done.stderr
    assert league("experiment", "merge", "s2", "s1", "--out", "merged", "--games-csv", cwd=tmp_path).returncode == 0
    assert (tmp_path / "merged" / "games.csv").read_bytes() == (tmp_path / "whole" / "games.csv").read_bytes()


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    command = [*LEAGUE, "experiment", "eight.toml", "--out", "out", "--games-csv", *options]
    return subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "eight.toml").write_text(MANY.replace("seeds = 20", "seeds = 100000"))
    process = start(tmp_path, "--jobs", "2")
    until(lambda: count_rows(tmp_path / "out") > 100, "some games are written")
    other = league("experiment", "eight.toml", "--out", "out", cwd=tmp_path)
    assert other.returncode == 2
    assert f"another experiment is being written there, by process {process.pid}" in other.stderr
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=BOUND)
    assert process.returncode == 130
    assert (
        "Interrupted: what is finished is in out. To go on: league experiment eight.toml --out out --jobs 2 --games-csv"
        in said
    )
    assert count_rows(tmp_path / "out") > 100
