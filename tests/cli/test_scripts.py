"""The seeds' own commands: `python main.py ...` in agents/league_manager, agents/referee and agents/player.

They run for real, in a copy of the checkout whose `.venv` is this very Python, so that nothing is installed.
"""

import runpy
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE_ID, Running, environment, free_ports, home_with

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the .venv here is a shell script")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts and a `.venv` that is ready."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ("league", "pyproject.toml", "requirements-dev.lock"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "agents", root / "agents")
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    bootstrap = runpy.run_path(str(root / "league"), run_name="bootstrap")
    bootstrap["write_stamp"](bootstrap["marks"]("run"))
    return root


def test_the_terminal_commands_of_the_seeds_play_a_league(checkout: Path) -> None:
    port = free_ports(4)
    home_with(checkout / "SHARED", players=2, referees=1, manager_port=port)
    commands = [
        ("league_manager", ["--port", port, "--league-id", LEAGUE_ID]),
        ("referee", ["--port", port + 1, "--referee-id", "REF01", "--league-id", LEAGUE_ID]),
        ("player", ["--port", port + 2, "--player-id", "P01"]),
        ("player", ["--port", port + 3, "--player-id", "P02"]),
    ]
    with ExitStack() as stack:
        processes = []
        for folder, options in commands:
            process = Running([sys.executable, "main.py", *options], checkout / "agents" / folder, environment())
            stack.callback(process.close)
            processes.append(process)
        manager = processes[0]
        manager.prints(f"League Manager of {LEAGUE_ID} at http://localhost:{port}/mcp")
        manager.prints("REF01 registered: Referee Alpha")
        manager.prints("P01 registered: Agent Alpha")
        manager.prints("P02 registered: Agent Beta")
        manager.prints("Champion: Agent ")
        assert "Setting up" not in manager.text
        for process in processes:
            process.signal(signal.SIGINT)
            assert process.ends() == 0
            assert "Traceback" not in process.text
    assert (checkout / "SHARED" / "data" / "matches" / LEAGUE_ID / "R1M1.json").is_file()


@pytest.mark.parametrize("folder", ["league_manager", "referee", "player"])
def test_a_mistake_behind_a_script_keeps_its_exit_code_and_sentence(checkout: Path, folder: str) -> None:
    process = Running([sys.executable, "main.py", "--port", "0"], checkout / "agents" / folder, environment())
    try:
        assert process.ends() == 2
        assert "'--port'" in process.text
    finally:
        process.close()
