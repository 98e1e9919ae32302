"""The wheel is all that is needed: installed into a fresh environment it plays, shows pages and writes starters."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from agent_league.version import __version__
from tests.cli.command import environment
from tests.conftest import BOUND, free_ports

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "agent_league"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the commands of a fresh environment, in which nothing but the wheel was asked for."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    constraint = ROOT / "requirements-dev.lock"
    run(commands / "python", "-m", "pip", "install", "--quiet", "--constraint", constraint, wheel)
    return commands


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("agent_league/")}
    files = {
        str(Path("agent_league", path.relative_to(PACKAGE)))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= packed
    assert {"agent_league/web/static/base.css", "agent_league/cli/starters/javascript/player.js"} <= packed
    assert wheel.name.startswith(f"agent_league-{__version__}-")


def test_an_installed_league_plays_in_an_empty_folder_and_shows_it(installed: Path, tmp_path: Path) -> None:
    league = installed / "league"
    assert __version__ in run(league, "--version")
    port = str(free_ports(8))
    ports = ["--manager-port", port, "--referee-port", str(int(port) + 1), "--player-port", str(int(port) + 3)]
    told = json.loads(run(league, "run", "--no-stay", "--json", *ports, cwd=tmp_path))
    assert told["champion"]
    run(league, "export", "--html", "site", cwd=tmp_path)
    assert "Agent Alpha" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    run(league, "new", "player", "mine", cwd=tmp_path)
    run(league, "new", "player", "node", "--language", "javascript", cwd=tmp_path)
    assert (tmp_path / "mine" / "player.py").is_file()
    assert (tmp_path / "node" / "player.js").is_file()
    assert "connect_four" in run(installed / "agent-league", "games", cwd=tmp_path)
