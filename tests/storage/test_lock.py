"""A lock that one process has at a time, and that ends with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent_league.storage.lock import LockHeld, hold_lock, read_lock_holder

HOLD = """
import sys
from pathlib import Path
from agent_league.storage.lock import hold_lock
with hold_lock(Path(sys.argv[1]), "the other"):
    print("has it", flush=True)
    sys.stdin.read()
"""


def test_who_comes_second_is_told_who_has_it_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "data" / "a.lock"
    with (
        hold_lock(path, "the first, with a long name"),
        pytest.raises(LockHeld, match=r"^the first, with a long name$"),
    ):
        hold_lock(path, "the second").__enter__()
    with hold_lock(path, "the second"), pytest.raises(LockHeld, match=r"^the second$"):
        hold_lock(path, "the third").__enter__()


def test_rubbish_in_the_file_of_a_lock_that_is_held_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with hold_lock(path, "the first"):
        path.write_bytes(b"\xff\xfe")
        assert read_lock_holder(path) == "\ufffd\ufffd"
        with pytest.raises(LockHeld):
            hold_lock(path, "the second").__enter__()


def test_a_process_that_is_killed_has_it_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "has it\n"
        with pytest.raises(LockHeld, match=r"^the other$"):
            hold_lock(path, "ours").__enter__()
        other.kill()
    with hold_lock(path, "ours"):
        pass
