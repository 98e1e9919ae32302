"""Child processes: a signal that comes while one is started finds it started, and none complains about its end."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent_league.launch import LEAGUE_MODULES
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

COLLECTING = """
import gc
from agent_league.child_processes import make_process_context, start_fork_server

def tell():
    print(f"collects: {gc.isenabled()}, frozen: {gc.get_freeze_count() > len(gc.get_objects())}", flush=True)

if __name__ == "__main__":
    start_fork_server("pydantic", "sqlalchemy")
    process = make_process_context().Process(target=tell)
    process.start()
    process.join()
"""

SENDING = """
import time
from concurrent.futures import FIRST_COMPLETED, wait
from agent_league.child_processes import open_process_pool

if __name__ == "__main__":
    for turn in range(5):
        try:
            with open_process_pool(3) as pool:
                pool.submit(time.sleep, 3600)
                results = [pool.submit(bytes, 3_000_000) for _ in range(20)]
                wait(results, return_when=FIRST_COMPLETED)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("ended")
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


def test_a_forked_process_collects_garbage_but_not_among_what_was_imported(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(COLLECTING, encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "collects: True, frozen: True\n", done.stderr


def test_a_pool_ends_at_once_even_while_its_processes_send_more_than_a_pipe_holds(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SENDING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.stdout == "ended\n" * 5, done.stderr
    assert done.stderr == ""


def test_what_the_processes_of_a_league_import_is_there() -> None:
    """The fork server passes over a module that it does not find."""
    assert all(find_spec(name) for name in LEAGUE_MODULES)


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
