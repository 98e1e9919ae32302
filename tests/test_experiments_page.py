"""docs/experiments.md is true: its file, its commands and its program run as they stand."""

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agent_league.lab.experiment.experiment_file import ExperimentFile
from agent_league.lab.experiment.row_store import DATABASE_NAME
from tests.cli.command import league
from tests.conftest import BOUND
from tests.test_docs import blocks

PAGE = (Path(__file__).parents[1] / "docs" / "experiments.md").read_text(encoding="utf-8")
PLAYER, PROGRAM = blocks(PAGE, "python")
COMMANDS = [line for block in blocks(PAGE, "bash") for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (three,) = blocks(PAGE, "toml")
    (tmp_path / "three.toml").write_text(three)
    (tmp_path / "mine.py").write_text(PLAYER)
    return tmp_path


def test_the_commands_run_as_they_stand_and_shards_give_the_same_rows(folder: Path) -> None:
    for command in COMMANDS:
        if "--on" in command:
            continue  # ray's own tests run it
        done = league(*shlex.split(command)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "whole" / "games.csv").read_bytes() == (folder / "three" / "games.csv").read_bytes()
    written = {path.name for path in (folder / "three").iterdir()}
    assert {DATABASE_NAME, "games.csv", "experiment.toml", "report.html", "report.md", "pairs.csv"} <= written
    again = league("experiment", "three/experiment.toml", "--out", "again", "--games-csv", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert (folder / "again" / "games.csv").read_bytes() == (folder / "three" / "games.csv").read_bytes()


def test_the_program_runs(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 markov ")
    assert done.stdout.endswith(" moves\n")
    assert (folder / "learning" / "report.html").is_file()


def test_the_page_names_every_setting() -> None:
    named = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")}
    assert set(ExperimentFile.model_fields) - {"resolved"} <= named


def test_the_players_in_the_page_can_be_read() -> None:
    examples = [text for line in PAGE.splitlines() for text in line.split("`") if text.startswith("{ player = ")]
    for example in examples:
        if "..." not in example:
            assert tomllib.loads(f"player = {example}")["player"]["player"]
