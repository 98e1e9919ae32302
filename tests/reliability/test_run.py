"""`league run` with its processes killed under it, or killed itself and continued with `--resume`."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE, Running, alive, environment, league, pids_of, ports, until
from tests.reliability.conftest import SEED
from tests.reliability.terminals import set_up
from tests.reliability.thinkers import EVEN, ODD, installed
from tests.reliability.verdict import Undisturbed, logged_badly, played, results_of, saved_in, table_of, wrong_files

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds its victims in /proc")
PLAYERS, REFEREES = 16, 3


@contextmanager
def started(home: Path, *options: object) -> Iterator[Running]:
    """`league run` with players that think for a moment."""
    run = Running(
        [*LEAGUE, "run", "--home", home, *options], env=environment(**installed(home.parent / "installed", 0.15))
    )
    try:
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
        run.close()


def anew() -> list[object]:
    who = ["--players", PLAYERS, "--referees", REFEREES, "--strategy", f"{EVEN},{ODD}", "--seed", SEED]
    return [*who, *ports(PLAYERS, REFEREES)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    set_up(tmp_path / "SHARED")
    return tmp_path / "SHARED"


def assert_undisturbed(home: Path, run: Running, expected: Undisturbed) -> None:
    assert run.ends() == 0, run.text
    assert "Traceback" not in run.text
    assert "Champion" in run.text
    assert results_of(saved_in(home)) == expected.results
    assert table_of(home) == expected.table
    assert not [*wrong_files(home, [home]), *logged_badly(home)]


def children_of(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_processes_of_a_run_that_are_killed_come_back_and_the_table_is_the_undisturbed_one(
    home: Path, expected: Undisturbed
) -> None:
    with started(home, *anew()) as run:
        pids = pids_of(home)
        maker = parent_of(pids[0])
        current = dict(zip(("manager", "referees"), pids, strict=False))
        for number, victim in enumerate((*current, *current), start=1):
            until(lambda least=8 * number: played(home) >= least, "some matches")  # type: ignore[misc]
            before = children_of(maker)
            assert current[victim] in before, f"the {victim} had ended by itself: {run.text}"
            os.kill(current[victim], signal.SIGKILL)
            (current[victim],) = until(lambda before=before: children_of(maker) - before, "a new one")  # type: ignore[misc]
        assert_undisturbed(home, run, expected)
        assert run.text.count("was lost and started again") == 4
        assert not alive([*pids, *current.values()])


def kill_all(run: Running) -> None:
    os.killpg(run.process.pid, signal.SIGKILL)


def kill_the_command(run: Running) -> None:
    run.process.kill()


def interrupt(run: Running) -> None:
    run.signal(signal.SIGINT)


@pytest.mark.parametrize("ends", [(kill_all, interrupt), (kill_the_command,)])
def test_a_run_that_was_ended_is_resumed_to_the_undisturbed_table(
    home: Path, expected: Undisturbed, ends: tuple[Callable[[Running], None], ...]
) -> None:
    options = anew()
    for number, end in enumerate(ends, start=1):
        with started(home, *options) as run:
            pids = pids_of(home)
            some = 16 * number
            until(lambda some=some, run=run: played(home) >= some or run.process.poll() is not None, "some matches")  # type: ignore[misc]
            assert played(home) >= some, run.text
            end(run)
            run.ends()
            until(lambda pids=pids: not alive(pids), "all processes end")  # type: ignore[misc]
        (home / "logs" / "system" / "orchestrator.log.jsonl").unlink()  # the next one tells its own processes
        options = ["--resume"]
    with started(home, "--resume") as run:
        assert_undisturbed(home, run, expected)
    nothing = league("run", "--resume", "--home", home)
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "There is no interrupted run" in nothing.stderr


def test_resume_without_a_run_says_so(home: Path) -> None:
    nothing = league("run", "--resume", "--home", home)
    assert nothing.returncode == 2
    assert "There is no interrupted run" in nothing.stderr
