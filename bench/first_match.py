"""How long it takes from the command `league run` to the first result: a real command, four players, files at hand."""

import subprocess
import sys
import time
from pathlib import Path

from agent_league.config.home import make_home
from agent_league.storage.paths import DataPaths
from bench.plans import Setting

LOOK_SECONDS = 0.005


def seconds_to_first_match(setting: Setting, home: Path) -> float:
    """Starts a league and stops it as soon as its first match has its file."""
    make_home(home)
    ports = ("--manager-port", setting.manager_port, "--referee-port", setting.port + 10)
    options = ("--home", home, *ports, "--player-port", setting.player_port, "--players", 4, "--json")
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "agent_league", "run", *map(str, options)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        try:
            return _until_played(home, command) - began
        finally:
            command.terminate()


def _until_played(home: Path, command: "subprocess.Popen[str]") -> float:
    matches = DataPaths(home).data_folder / "matches"
    while not any(matches.glob("*/[!.]*.json")):
        if command.poll() not in (None, 0):
            said = command.communicate()[1].strip()
            raise SystemExit(f"bench: `league run` ended with {command.returncode} before its first match: {said}")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter()
