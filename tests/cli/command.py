"""The command `league` as a person uses it, in a folder, with what it prints: in this process, or in one of its own."""

import gc
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from agent_league.cli import main
from agent_league.config.home import make_home
from tests.conftest import BOUND, free_ports

LEAGUE = [sys.executable, "-m", "agent_league"]
LEAGUE_ID = "league_2025_even_odd"


def environment(**more: str) -> dict[str, str]:
    """Ours without what would choose a home or a store, and wide enough that no line is broken."""
    choices = ("LEAGUE_HOME", "LEAGUE_STORE", "LEAGUE_SIGN_UP_URL", "AGENT_LEAGUE_ROOT")
    ours = {name: value for name, value in os.environ.items() if name not in choices}
    return {**ours, "COLUMNS": "200", **more}


def league(
    *args: object, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end in this process: cheap, for all that needs no signal, no pipe and no terminal."""
    command = [str(arg) for arg in args]
    assert "bench" not in command[:2], "it becomes another program: use league_process"
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        chdir(cwd or "."),
        patch.dict(os.environ, env or environment(), clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
        _bound(),
    ):
        code = main(command)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(["league", *command], code, *texts)


@contextmanager
def _bound() -> Iterator[None]:
    """Interrupts what hangs, and takes back what a command sets for its process."""
    thresholds = gc.get_threshold()
    interruption = threading.Timer(BOUND, os.kill, (os.getpid(), signal.SIGINT))
    interruption.start()
    try:
        yield
    finally:
        assert interruption.is_alive(), f"a command took longer than {BOUND} s"
        interruption.cancel()
        gc.set_threshold(*thresholds)  # commands that serve have fewer collections
        gc.unfreeze()


def league_process(
    *args: object, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end in a process of its own."""
    command = [*LEAGUE, *map(str, args)]
    return subprocess.run(
        command, cwd=cwd, env=env or environment(), capture_output=True, text=True, timeout=BOUND, check=False
    )


def ports(players: int = 4, referees: int = 2) -> list[object]:
    """Options of `league run` for free ports in a row."""
    first = free_ports(1 + referees + players)
    return ["--manager-port", first, "--referee-port", first + 1, "--player-port", first + 1 + referees]


class Running:
    """A command that runs beside the test; what it prints is collected."""

    def __init__(self, command: Sequence[object], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=env or environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.out: list[str] = []
        self.err: list[str] = []
        self._news = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def text(self) -> str:
        return "".join([*self.err, *self.out])

    def prints(self, sentence: str) -> None:
        """Waits until it has printed this."""
        with self._news:
            found = self._news.wait_for(lambda: sentence in self.text or self.process.poll() is not None, BOUND)
        if sentence not in self.text:  # what it said last may have come with its end
            for reader in self._readers if found else []:
                reader.join(BOUND)
            assert sentence in self.text, f"it printed: {self.text}"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        """Its exit code, once it ends by itself."""
        code = self.process.wait(BOUND)
        for reader in self._readers:
            reader.join(BOUND)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.ends()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def _read(self, stream: IO[str], lines: list[str]) -> None:
        for line in stream:
            with self._news:
                lines.append(line)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()


class AtTerminal:
    """A command at a terminal of its own."""

    def __init__(self, *args: object, **env: str) -> None:
        self._own, other = pty.openpty()
        self.process = subprocess.Popen(
            [*LEAGUE, *map(str, args)],
            stdin=other,
            stdout=other,
            stderr=other,
            env=environment(**{"TERM": "xterm", "COLUMNS": "80", "LINES": "24", **env}),
            start_new_session=True,
        )
        os.close(other)
        self.text = ""

    def shows(self, words: str) -> None:
        deadline = time.monotonic() + BOUND
        while words not in self.text and time.monotonic() < deadline:
            if select.select([self._own], [], [], 1)[0]:
                try:
                    self.text += os.read(self._own, 65536).decode(errors="replace")
                except OSError:
                    break
        assert words in self.text, f"it showed: {self.text}"

    def types(self, keys: bytes) -> None:
        self.text = ""
        os.write(self._own, keys)

    def ends(self) -> int:
        """Its exit code, once it ends by itself; what it shows until then is read."""
        while True:
            try:
                shown = os.read(self._own, 65536)
            except OSError:  # how Linux tells that nobody is left at the other end
                break
            self.text += shown.decode(errors="replace")
        return self.process.wait(BOUND)

    def hang_up(self) -> None:
        """The terminal goes away."""
        os.close(self._own)
        self._own = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(BOUND)
        if self._own >= 0:
            os.close(self._own)


@dataclass(frozen=True)
class Waiting:
    """A manager that waits for players."""

    port: int
    home: Path
    manager: Running

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/mcp"


@contextmanager
def running(
    *commands: Sequence[object], cwd: Path | None = None, env: dict[str, str] | None = None
) -> Iterator[list[Running]]:
    """Commands of `league` side by side; whatever still runs at the end is killed."""
    with ExitStack() as stack:
        started = []
        for command in commands:
            started.append(Running([*LEAGUE, *command], cwd=cwd, env=env))
            stack.callback(started[-1].close)
        yield started


def until(happened: Callable[[], Any], what: str) -> Any:
    """Waits for something in the file system or the process table, which tell nobody; returns what was found."""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        if found := happened():
            return found
        time.sleep(0.02)
    raise AssertionError(f"never happened: {what}")


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The events of a log file; none where it isn't there yet."""
    if not path.is_file():
        return []
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def pids_of(home: Path) -> list[int]:
    """The processes that `league run` started, once it has said so."""
    log = home / "logs" / "system" / "orchestrator.log.jsonl"

    def started() -> list[int]:
        return next((line["pids"] for line in lines_of(log) if line["event_type"] == "processes_started"), [])

    found: list[int] = until(started, f"processes in {log}")
    return found


def alive(pids: Iterable[int]) -> list[int]:
    """Those of these processes that still run."""
    return [pid for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def home_with(folder: Path, players: int, referees: int, manager_port: int) -> Path:
    """A SHARED folder whose agents_config.json has so many active agents, and whose manager is at this port."""
    make_home(folder)
    with changed_json(folder / "config" / "system.json") as system:
        system["network"]["default_league_manager_port"] = manager_port
    with changed_json(folder / "config" / "agents" / "agents_config.json") as config:
        config["league_manager"]["endpoint"] = f"http://localhost:{manager_port}/mcp"
        for kind, wanted in (("players", players), ("referees", referees)):
            for index, entry in enumerate(config[kind]):
                entry["active"] = index < wanted
    return folder


@contextmanager
def changed_json(path: Path) -> Iterator[dict[str, Any]]:
    """The content of a JSON file, written back with what was changed in it."""
    content = json.loads(path.read_text(encoding="utf-8"))
    yield content
    path.write_text(json.dumps(content), encoding="utf-8")
