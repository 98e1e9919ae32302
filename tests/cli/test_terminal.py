"""Whatever becomes of the terminal: it is closed, or stops reading, and those who serve go on serving."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE, environment, lines_of, ports, until
from tests.conftest import BOUND, free_ports
from tests.protocol.examples import requests_by_method

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pseudo-terminals nor SIGHUP")
LEAGUE_ID = "league_2025_even_odd"


class Terminal:
    """A pipe or a pseudo-terminal that commands print to, and nobody reads."""

    def __init__(self, kind: str) -> None:
        self.is_pty = kind == "terminal"
        self._reader, self.descriptor = pty.openpty() if self.is_pty else os.pipe()

    def close(self) -> None:
        """Goes away: whoever prints gets EPIPE or EIO, and those whose terminal it is get SIGHUP."""
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1

    def fill(self) -> None:
        """Stops reading: not one more byte finds room."""
        if self.is_pty:
            termios.tcflow(self.descriptor, termios.TCOOFF)  # as Ctrl-S does
            return
        writer = os.open(f"/proc/self/fd/{self.descriptor}", os.O_WRONLY | os.O_NONBLOCK)
        with suppress(BlockingIOError):
            while True:
                os.write(writer, b"x")
        os.close(writer)

    def start(self, *command: object) -> "subprocess.Popen[bytes]":
        def make_it_ours() -> None:
            fcntl.ioctl(self.descriptor, termios.TIOCSCTTY, 0)

        return subprocess.Popen(
            [*map(str, LEAGUE), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=self.descriptor,
            stderr=self.descriptor,
            env=environment(),
            start_new_session=True,
            preexec_fn=make_it_ours if self.is_pty else None,  # noqa: PLW1509 - one system call, and no lock
        )

    def release(self) -> None:
        self.close()
        os.close(self.descriptor)


@contextmanager
def terminals(count: int, kind: str) -> Iterator[list[Terminal]]:
    with ExitStack() as stack:
        made = [Terminal(kind) for _ in range(count)]
        for terminal in made:
            stack.callback(terminal.release)
        yield made


def healthy(port: int) -> Callable[[], bool]:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=BOUND) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    return ask


def register_player(port: int) -> None:
    """Calls the manager with something about which it prints a line."""
    body = json.dumps(requests_by_method()["register_player"]).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=BOUND).close()


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
@pytest.mark.parametrize("trouble", ["close", "fill"])
def test_a_league_is_played_to_its_end_when_nobody_reads_what_its_agents_print(
    tmp_path: Path, kind: str, trouble: str
) -> None:
    port = free_ports(4)
    home, url = ["--home", tmp_path], ["--manager", f"http://127.0.0.1:{port}/mcp"]
    commands = [
        ["manager", "--port", port, "--players", 2, "--referees", 1, "--exit-when-done", *home],
        ["referee", "--port", port + 1, "--exit-when-done", *home, *url],
        ["player", "--port", port + 2, "--exit-when-done", *home, *url],
        ["player", "--port", port + 3, "--exit-when-done", *home, *url],
    ]
    with terminals(4, kind) as all_of_them, ExitStack() as stack:

        def start(number: int) -> "subprocess.Popen[bytes]":
            process = all_of_them[number].start(*commands[number])
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        started = [start(number) for number in range(3)]
        for number in range(3):
            until(healthy(port + number), f"{commands[number][0]} serves")
        for terminal in all_of_them[:3]:
            getattr(terminal, trouble)()
        started.append(start(3))  # only now the league begins, and there is something to print
        assert [process.wait(BOUND) for process in started] == [0, 0, 0, 0]
    events = [line["event_type"] for line in lines_of(tmp_path / "logs" / "league" / LEAGUE_ID / "league.log.jsonl")]
    assert "LeagueCompleted" in events


@pytest.mark.parametrize("trouble", ["close", "fill"])
def test_a_manager_that_nobody_reads_answers_and_ends_when_it_is_told_to(tmp_path: Path, trouble: str) -> None:
    port = free_ports(1)
    with terminals(1, "pipe") as (terminal,):
        process = terminal.start("manager", "--port", port, "--home", tmp_path)
        try:
            until(healthy(port), "the manager serves")
            getattr(terminal, trouble)()
            register_player(port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND) == 0
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_league_run_plays_to_the_end_when_whoever_read_it_goes_away(tmp_path: Path, kind: str) -> None:
    with terminals(1, kind) as (terminal,):
        process = terminal.start("run", "--home", tmp_path, "--no-web", *ports())
        try:
            log = tmp_path / "logs" / "system" / "orchestrator.log.jsonl"
            until(lambda: len(lines_of(log)) > 1, "its processes are started")
            terminal.close()
            assert process.wait(BOUND) == 0
        finally:
            process.kill()
            process.wait()
    standings = json.loads((tmp_path / "data" / "leagues" / LEAGUE_ID / "standings.json").read_text())
    assert standings["rounds_completed"] == 3


def test_league_run_ends_well_when_its_reader_has_seen_enough(tmp_path: Path) -> None:
    command = [*map(str, LEAGUE), "run", "--home", str(tmp_path), "--no-web", *map(str, ports())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    head = subprocess.Popen(["head", "-1"], stdin=process.stdout, stdout=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.close()
    _, err = process.communicate(timeout=BOUND)
    head.wait(BOUND)
    assert (process.returncode, "Traceback" in err, "Broken pipe" in err) == (0, False, False)
