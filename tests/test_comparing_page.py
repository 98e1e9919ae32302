"""docs/comparing.md is true: its commands and its program run."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import league
from tests.conftest import BOUND
from tests.test_docs import blocks

PAGE = (Path(__file__).parents[1] / "docs" / "comparing.md").read_text(encoding="utf-8")
COMMANDS = [line for block in blocks(PAGE, "bash") for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs_as_it_stands(command: str, tmp_path: Path) -> None:
    done = league(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "95%" in done.stdout


def test_the_programs_tell_who_is_better(tmp_path: Path) -> None:
    tournament, own = (
        subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=BOUND, check=False
        )
        for program in blocks(PAGE, "python")
    )
    assert tournament.returncode == 0, tournament.stderr
    assert tournament.stdout.startswith("1 markov Estimate(value=")
    assert own.returncode == 0, own.stderr
    assert own.stdout.startswith("Counter({(-")
    assert own.stdout.endswith("(0, 0) ('', '')\n")
