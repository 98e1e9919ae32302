"""Child processes: a signal that comes while one is started finds it started, and none complains about its end."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment
from tests.conftest import BOUND

PROGRAM = """
from agent_league.child_processes import hold_signals, make_process_context

def work(much):
    print("worked", flush=True)

if __name__ == "__main__":
    context = make_process_context("trouble")
    started = []
    try:
        with hold_signals():
            started.append(context.Process(target=work, args=(b"more than a pipe holds" * 10_000,)))
            started[0].start()
    finally:
        started[0].join()
        print("ended", started[0].exitcode)
"""


def program_hit_by(signal: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the program; the signal comes from the fork server, when the program waits for it to be there."""
    (folder / "trouble.py").write_text(f"import os, signal\n{signal}\n", encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment(PYTHONPATH=str(folder)),
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
        start_new_session=True,
    )


def test_ctrl_c_reaches_the_program_once_its_process_is_started_and_nobody_else(tmp_path: Path) -> None:
    done = program_hit_by("os.killpg(0, signal.SIGINT)", tmp_path)
    assert done.stdout == "worked\nended 0\n"
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert done.stderr.count("Traceback") == 1, "the program's own"


@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
def test_a_process_whose_program_has_ended_says_nothing(number: str, tmp_path: Path) -> None:
    done = program_hit_by(f"os.kill(os.getppid(), signal.{number})", tmp_path)
    assert done.returncode < 0
    assert "Traceback" not in done.stderr
