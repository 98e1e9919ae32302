"""How long commands take to start: `league run` to its first result, and `league ... --help` beside a bare Python.

Real commands, by the script that started the bench if it was one, and with the bytecode that Python keeps.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from agent_league.config.home import make_home
from agent_league.storage.paths import DataPaths
from bench.plans import Setting
from bench.usage import used_by_ended_children

ROOT = Path(__file__).parents[1]
LOOK_SECONDS = 0.005
BARE = (sys.executable, "-c", "pass")


@dataclass(frozen=True, slots=True)
class HelpCost:
    """What the help of commands takes, in the median of some turns."""

    help_seconds: float
    python_seconds: float
    """Of a Python that does nothing."""
    cpu_seconds: Mapping[str, float]
    """By command: CPU time of `league COMMAND --help`."""


def spell_league() -> list[str]:
    """The command `league` as it was typed: `./league` in a source checkout, else the package."""
    return [str(ROOT / "league")] if "AGENT_LEAGUE_ROOT" in os.environ else [sys.executable, "-m", "agent_league"]


def make_environment() -> dict[str, str]:
    """That of this process, in which Python may keep what it compiled: in `.venv`, if it may not do so elsewhere."""
    environment = dict(os.environ)
    if environment.pop("PYTHONDONTWRITEBYTECODE", None):
        environment["PYTHONPYCACHEPREFIX"] = str(Path(sys.prefix, "compiled"))
    return environment


def measure_help(turns: int, commands: Sequence[str]) -> HelpCost:
    """Measure `league --help` and a bare Python in turn, then the help of each command; first turns aren't counted."""
    pairs = [(_time(*spell_league(), "--help"), _time(*BARE)) for _ in range(turns + 1)][1:]
    return HelpCost(
        median(shown[0] for shown, _ in pairs),
        median(bare[0] for _, bare in pairs),
        {name: median(_count_cpu(name, turns)) for name in commands},
    )


def _count_cpu(command: str, turns: int) -> Iterator[float]:
    for number in range(turns + 1):
        _, cpu = _time(*spell_league(), command, "--help")
        if number:
            yield cpu


def _time(*command: str) -> tuple[float, float]:
    """Seconds and CPU seconds of a command."""
    began, before = time.perf_counter(), used_by_ended_children()
    done = subprocess.run(command, capture_output=True, text=True, env=make_environment(), check=False)
    if done.returncode:
        raise SystemExit(f"bench: `{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
    return time.perf_counter() - began, used_by_ended_children() - before


def seconds_to_first_match(setting: Setting, home: Path) -> float:
    """Starts a league of four players and stops it as soon as its first match is on the disk."""
    make_home(home)
    ports = ("--manager-port", setting.manager_port, "--referee-port", setting.port + 10)
    options = ("--home", home, *ports, "--player-port", setting.player_port, "--players", 4, "--json")
    began = time.perf_counter()
    with subprocess.Popen(
        [*spell_league(), "run", *map(str, options)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=make_environment(),
    ) as command:
        try:
            return _until_played(home, command) - began
        finally:
            command.terminate()


def _until_played(home: Path, command: "subprocess.Popen[str]") -> float:
    matches = DataPaths(home).data_folder / "matches"
    while not any(path.stat().st_size for path in matches.glob("*/*")):
        if command.poll() not in (None, 0):
            said = command.communicate()[1].strip()
            raise SystemExit(f"bench: `league run` ended with {command.returncode} before its first match: {said}")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter()
