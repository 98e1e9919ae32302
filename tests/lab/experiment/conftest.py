"""Experiments on disk for these tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """
name = "three of them"
games = ["tic_tac_toe", { game = "nim", name = "short nim", parameters = { heaps = [2, 3] } }]
players = ["random", "first_legal", "mine.py:choose"]
seeds = 12
rounds = 2
"""
WriteFile = Callable[[str], Path]


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Write an experiment's file, with a player beside it."""
    (tmp_path / "mine.py").write_text("def choose(observation):\n    return observation.legal_moves[-1]\n")

    def write(text: str = SMALL) -> Path:
        path = tmp_path / "three.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def small_file(write_file: WriteFile) -> Path:
    return write_file(SMALL)
