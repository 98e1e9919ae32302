"""`league doctor` and `league config`: what is in a league's way, and which settings count."""

import json
import socket
from pathlib import Path

import pytest

from agent_league.cli.options import USUAL_ADDRESS, choose_league_address
from tests.cli.command import changed_json, home_with, league, running
from tests.conftest import free_ports


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A SHARED folder whose ports are free."""
    first = free_ports(3)
    folder = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=first)
    with changed_json(folder / "config" / "system.json") as system:
        system["network"]["default_referee_port_range"] = [first + 1, first + 1]
        system["network"]["default_player_port_range"] = [first + 2, first + 2]
    return folder


def test_a_folder_that_can_be_played_in_has_no_fault(home: Path) -> None:
    done = league("doctor", "--home", home)
    assert done.returncode == 0, done.stdout
    assert "FAULT" not in done.stdout
    assert "all configuration files can be read" in done.stdout
    assert done.stdout.count(" is free\n") == 3


def test_a_port_that_is_held_is_a_fault_with_what_to_do(home: Path) -> None:
    system = json.loads((home / "config" / "system.json").read_text())
    port = system["network"]["default_league_manager_port"]
    with socket.create_server(("127.0.0.1", port)):
        done = league("doctor", "--home", home, "--json")
    assert done.returncode == 1
    faults = [one["sentence"] for one in json.loads(done.stdout)["findings"] if one["severity"] == "FAULT"]
    assert len(faults) == 1
    assert faults[0].startswith(f"port {port} is held")
    assert "--manager-port" in faults[0]


def test_a_file_that_cannot_be_read_is_named_by_both(home: Path) -> None:
    (home / "config" / "system.json").write_text('{"no_such_setting": 1}')
    for command in (["doctor"], ["config", "check"]):
        done = league(*command, "--home", home)
        assert done.returncode == 1
        assert "FAULT" in done.stdout
        assert "no_such_setting" in done.stdout + done.stderr


def test_a_folder_that_is_not_there_is_a_fault_only_where_it_is_named(tmp_path: Path) -> None:
    assert league("doctor", "--home", tmp_path / "nowhere").returncode == 1
    alone = league("doctor", cwd=tmp_path)
    assert alone.returncode == 0
    assert "note  no SHARED folder" in alone.stdout


def test_every_file_is_checked(home: Path) -> None:
    done = league("config", "check", "--home", home)
    assert done.returncode == 0
    files = sorted(str(path) for path in (home / "config").rglob("*.json"))
    assert sorted(line.removeprefix("ok    ") for line in done.stdout.splitlines()) == files


def test_what_is_shown_can_be_set_and_what_is_set_is_shown(home: Path) -> None:
    shown = league("config", "show", "--home", home, "--set", "timeouts.move_timeout_sec=2").stdout
    assert "\ntimeouts.move_timeout_sec=2" in shown
    line = next(line for line in shown.splitlines() if line.startswith("scheduling.format="))
    assert league("config", "show", "--home", home, "--set", line).stdout.count(line) == 1
    told = json.loads(league("config", "show", "--home", home, "--json").stdout)
    assert told["league"]["game_type"] == "even_odd"
    wrong = league("config", "show", "--home", home, "--set", "nothing=1")
    assert wrong.returncode == 2


def test_without_an_address_the_league_that_runs_here_is_meant(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    monkeypatch.delenv("LEAGUE_HOME", raising=False)
    assert choose_league_address() == USUAL_ADDRESS
    with running(["manager", "--home", home]) as (manager,):
        manager.prints("The admin token is in")
        port = json.loads((home / "config" / "system.json").read_text())["network"]["default_league_manager_port"]
        assert choose_league_address() == f"http://localhost:{port}/mcp"
