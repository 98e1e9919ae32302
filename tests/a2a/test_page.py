"""The page on A2A is true: its commands run as they stand, each as a process of its own."""

import re
import shlex
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import environment, free_ports, league
from tests.conftest import BOUND
from tests.test_docs import ROOT, blocks

PAGE = (ROOT / "docs" / "a2a.md").read_text(encoding="utf-8")
COMMANDS = [line for block in blocks(PAGE, "bash") for line in block.splitlines()]


def test_every_option_of_the_page_exists() -> None:
    for line in COMMANDS:
        if line.startswith("./league"):
            _, command, *arguments = shlex.split(line)
            told = league(command, "--help").stdout
            assert all(argument in told for argument in arguments if argument.startswith("--")), line


@pytest.mark.parametrize("way", ["invite-a2a", "player"])
def test_the_league_of_the_page_is_played(tmp_path: Path, way: str) -> None:
    first = free_ports(4)
    ports = {"8000": first, "8001": first + 1, "8101": first + 2, "9001": first + 3}
    [block] = [block for block in blocks(PAGE, "bash") if "a2a_agent.py" in block]
    text = re.sub(r"\b(8000|8001|8101|9001)\b", lambda found: str(ports[found[1]]), block)
    commands = [shlex.split(line) for line in text.splitlines()]
    if way == "player":
        [words] = [words for line in COMMANDS if "--protocol" in (words := shlex.split(line))]
        commands[-1] = [word.replace("9001", str(first + 3)) for word in words]
    home = tmp_path / "SHARED"
    with ExitStack() as running:
        done: dict[str, subprocess.Popen[str]] = {}
        for command in commands:
            own = [sys.executable, str(ROOT / command[1]), *command[2:]]
            if command[0] == "./league":
                manager = ["--port", str(first)] if command[1] == "manager" else ["--manager", f"localhost:{first}"]
                manager = manager if command[1] != "invite-a2a" else []
                own = [sys.executable, "-m", "agent_league", *command[1:], *manager, "--exit-when-done"]
                own += ["--home", str(home)]
            process = subprocess.Popen(
                own,
                cwd=tmp_path,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            running.enter_context(process)
            running.callback(process.kill)
            done[command[1]] = process  # of two players the one that comes last, which is the agent's
            if command[0] != "./league":
                await_port(first + 3, process)
        told = done[way].communicate(timeout=BOUND)[0]
        table = done["manager"].communicate(timeout=BOUND)[0]
    assert "First Move is asked for its moves at" in told
    assert re.search(r"R1M1 against P0[12]: (WIN|LOSS|DRAW)", told)
    assert "First Move" in table
    assert "Champion" in table


def await_port(port: int, process: "subprocess.Popen[Any]") -> None:
    """Waits until somebody listens, as long as the process lives."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(process.communicate()[0])
