"""Leagues of every format, killed in the middle and continued to the table that they would have had."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agent_league.storage.match_segments import list_match_paths
from tests.cli.command import LEAGUE, Running, alive, environment, league, pids_of, ports, until
from tests.reliability.terminals import set_up

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds its victims in /proc")
GROUPS_THEN_KNOCKOUT = [{"format": "groups", "settings": {"group_size": 4}, "advance": 2}, {"format": "knockout"}]
LEAGUES: dict[str, tuple[int, list[object]]] = {
    "swiss": (32, ["--format", "swiss"]),
    "knockout": (13, ["--format", "knockout"]),
    "double elimination": (16, ["--format", "double_elimination", "--game", "connect_four"]),
    "groups, then knockout": (12, ["--set", f"scheduling.stages={json.dumps(GROUPS_THEN_KNOCKOUT)}"]),
}
"""The players, and the other options."""
MATCHES_BEFORE_KILL = 5


@pytest.mark.parametrize("name", LEAGUES)
def test_a_league_that_is_killed_goes_on_to_the_same_table(tmp_path: Path, name: str) -> None:
    players, options = LEAGUES[name]
    tables: list[Any] = []
    for folder in ("undisturbed", "killed"):
        home = tmp_path / folder
        set_up(home)
        command = ["run", "--home", home, "--players", players, "--seed", 7, *options, *ports(players)]
        if folder == "killed":
            kill_in_the_middle(home, command)
            command = ["run", "--home", home, "--resume"]
        done = league(*command, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        tables.append((told["champions"], told["standings"], told["rounds"], told["matches"]))
        checked = league("verify", home)
        assert checked.returncode == 0, checked.stdout
        assert f"{told['matches']} match files: all hold" in checked.stdout
    assert tables[0] == tables[1]


def kill_in_the_middle(home: Path, command: list[object]) -> None:
    run = Running([*LEAGUE, *command], env=environment())
    try:
        matches = home / "data" / "matches"
        until(lambda: len(list_match_paths(matches)) >= MATCHES_BEFORE_KILL or run.process.poll() is not None, "some")
        pids = pids_of(home)
        os.killpg(run.process.pid, signal.SIGKILL)
        run.ends()
        until(lambda: not alive(pids), "all processes end")
    finally:
        run.close()
    assert "Champion" not in run.text, "it was killed in the middle"
