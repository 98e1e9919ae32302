"""The seeds' own commands: `python main.py ...` in the folders of agents/, and `python player.py ...` at the root.

They run for real, in a copy of the checkout whose `.venv` is this very Python, so that nothing is installed.
"""

import runpy
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE_ID, Running, changed_json, environment, home_with
from tests.conftest import free_ports

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the .venv here is a shell script")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts and a `.venv` that is ready."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ("league", "league_manager.py", "referee.py", "player.py", "pyproject.toml", "requirements-dev.lock"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "agents", root / "agents")
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    bootstrap = runpy.run_path(str(root / "league"), run_name="bootstrap")
    bootstrap["write_stamp"](bootstrap["marks"]("run"))
    return root


def home_as_shipped(checkout: Path) -> int:
    """A SHARED folder as it is shipped but for its ports, which are free: the first one is the manager's."""
    first = free_ports(7)
    folder = home_with(checkout / "SHARED", players=4, referees=2, manager_port=first)
    with changed_json(folder / "config" / "agents" / "agents_config.json") as config:
        for number, entry in enumerate(config["referees"]):
            entry["endpoint"] = f"http://localhost:{first + 1 + number}/mcp"
        for number, entry in enumerate(config["players"]):
            entry["default_endpoint"] = f"http://localhost:{first + 3 + number}/mcp"
    return first


@contextmanager
def running_scripts(checkout: Path, *commands: list[object]) -> Iterator[list[Running]]:
    """Scripts of a checkout side by side, each in its own folder; all of them must end well on Ctrl-C."""
    with ExitStack() as stack:
        processes = []
        for script, *options in commands:
            path = checkout / str(script)
            processes.append(Running([sys.executable, path.name, *options], path.parent, environment()))
            stack.callback(processes[-1].close)
        yield processes
        for process in processes:
            process.signal(signal.SIGINT)
        for process in processes:
            assert process.ends() == 0, process.text
            assert "Traceback" not in process.text
            assert "Setting up" not in process.text


def test_the_terminal_commands_of_the_seeds_play_a_league_with_their_one_referee(checkout: Path) -> None:
    """Seed 000 starts one referee, though the configuration that it shows the way to has two."""
    port = home_as_shipped(checkout)
    commands: list[list[object]] = [
        ["agents/league_manager/main.py", "--port", port, "--league-id", LEAGUE_ID],
        ["agents/referee/main.py", "--port", port + 1, "--referee-id", "REF01", "--league-id", LEAGUE_ID],
        *(
            ["agents/player/main.py", "--port", port + 2 + number, "--player-id", f"P0{number}"]
            for number in range(1, 5)
        ),
    ]
    with running_scripts(checkout, *commands) as (manager, *_):
        manager.prints(f"League Manager of {LEAGUE_ID} at http://localhost:{port}/mcp")
        manager.prints("REF01 joins as a referee: Referee Alpha")
        for number, name in enumerate(("Alpha", "Beta", "Gamma", "Delta"), start=1):
            manager.prints(f"P0{number} joins as a player: Agent {name}")
        manager.prints("The league starts: 4 players, 3 rounds, 6 matches.")
        manager.prints("\nChampion")
    assert (checkout / "SHARED" / "data" / "matches" / LEAGUE_ID / "R3M2.json").is_file()


def test_scripts_at_the_root_started_by_port_alone_are_the_configured_agents(checkout: Path) -> None:
    """Seed 003: `python league_manager.py`, `python referee.py --port 8001`, `python player.py --port 8101`."""
    port = home_as_shipped(checkout)
    commands: list[list[object]] = [
        ["league_manager.py"],
        *(["referee.py", "--port", port + number] for number in (1, 2)),
        *(["player.py", "--port", port + number] for number in (3, 4, 5, 6)),
    ]
    with running_scripts(checkout, *commands) as (manager, *_):
        manager.prints(f"League Manager of {LEAGUE_ID} at http://localhost:{port}/mcp")
        for number, name in enumerate(("Alpha", "Beta"), start=1):
            manager.prints(f"REF0{number} joins as a referee: Referee {name} at http://localhost:{port + number}/mcp")
        for number, name in enumerate(("Alpha", "Beta", "Gamma", "Delta"), start=1):
            manager.prints(f"P0{number} joins as a player: Agent {name} at http://localhost:{port + 2 + number}/mcp")
        manager.prints("\nChampion")
    names = ("REF01", "REF02", "P01", "P02", "P03", "P04")
    logs = checkout / "SHARED" / "logs" / "agents"
    assert {path.name for path in logs.iterdir()} == {f"{name}.log.jsonl" for name in names}


@pytest.mark.parametrize(
    "script",
    [
        *(f"agents/{folder}/main.py" for folder in ("league_manager", "referee", "player")),
        "league_manager.py",
        "referee.py",
        "player.py",
    ],
)
def test_a_mistake_behind_a_script_keeps_its_exit_code_and_sentence(checkout: Path, script: str) -> None:
    path = checkout / script
    process = Running([sys.executable, path.name, "--port", "0"], path.parent, environment())
    try:
        assert process.ends() == 2
        assert "'--port'" in process.text
    finally:
        process.close()
