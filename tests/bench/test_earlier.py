"""An earlier version beside today's: both play, each from its own folder."""

import sys
from pathlib import Path

import pytest

from bench.earlier import NoEarlierVersion, compare_versions, play_in_turn
from bench.plans import Setting
from tests.conftest import free_ports

ROOT = Path(__file__).parents[2]
SETTING = Setting(free_ports(120), 1)


def test_both_versions_play_in_turn(tmp_path: Path) -> None:
    """The earlier version's bench is a copy whose matches cost a second."""
    (tmp_path / "bench").mkdir()
    for source in (ROOT / "bench").glob("*.py"):
        text = source.read_text(encoding="utf-8")
        if source.name == "league.py":
            text = text.replace("for usage in self.used.values()) / self.matches", "for usage in ()) + 1")
        (tmp_path / "bench" / source.name).write_text(text, encoding="utf-8")
    ((earlier, today),) = play_in_turn(tmp_path, Path(sys.executable), SETTING, tmp_path / "leagues", 4, 1)
    assert earlier == 1
    assert 0 < today < 1


def test_a_version_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoEarlierVersion, match=r"worktree add .*no_such_version` ended with \d+: .*no_such_version"):
        compare_versions("no_such_version", SETTING, tmp_path, 4, 1)
