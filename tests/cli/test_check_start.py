"""`league check --start` starts an agent, checks it and stops it with all its processes; `--game` chooses the game."""

import signal
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent_league.check.player_subject import choose_question
from agent_league.check.started_agent import start_agent
from agent_league.errors import UserError
from tests.cli.command import LEAGUE, Running, alive, environment, league_process, until
from tests.conftest import BOUND, free_ports

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
PLAYER = """
import os, subprocess
child = subprocess.Popen(["sleep", "1000"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
from agent_league import play
play(lambda game: game.legal_moves[0], name="Started", games="*")
"""


def start(folder: Path, *options: object, program: str = PLAYER) -> tuple[list[object], list[object]]:
    """The options of a check of a program of its own, and those that come last."""
    (folder / "player.py").write_text(program)
    port = free_ports(2)
    command = f"python player.py --port {port}"
    return ["check", f"http://localhost:{port}/mcp", "--start", command, "--manager-port", port + 1], [*options]


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(pid) for pid in until(lambda: file.is_file() and file.read_text().split(), "the player has started")]


def test_an_agent_is_started_checked_and_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    command, options = start(tmp_path, "--game", "tic_tac_toe")
    done = league_process(*command, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passes." in done.stdout
    assert "tic_tac_toe" in done.stdout or "make_move" in done.stdout
    assert alive(pids(tmp_path)) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_stops_it_too(tmp_path: Path, number: signal.Signals) -> None:
    command, _ = start(tmp_path)
    check = Running([*LEAGUE, *command], cwd=tmp_path, env=environment())
    try:
        started = pids(tmp_path)
        check.signal(number)
        assert check.ends() == 130
    finally:
        check.close()
    assert alive(started) == []


def test_what_a_player_printed_is_shown_so_that_a_choice_that_fails_is_seen(tmp_path: Path) -> None:
    failing = PLAYER.replace("game.legal_moves[0]", 'game.view["bord"]')
    command, options = start(tmp_path, "--game", "tic_tac_toe", program=failing)
    done = league_process(*command, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr  # the player answers by a random move
    assert "` printed:\n" in done.stderr
    assert "a random move was played" in done.stderr
    assert "KeyError: 'bord'" in done.stderr


def test_a_command_that_ends_at_once_is_told_with_what_it_said(tmp_path: Path) -> None:
    command, _ = start(tmp_path, program="import nothing_like_this")
    done = league_process(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "has ended with exit code 1" in done.stderr
    assert "No module named 'nothing_like_this'" in done.stderr


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system doesn't tell who listens where")
def test_an_agent_that_listens_at_another_port_is_found_or_named() -> None:
    wanted, other = (f"http://localhost:{free_ports(1)}/mcp" for _ in range(2))
    port = other.removeprefix("http://localhost:").removesuffix("/mcp")
    with start_agent(f"python -m http.server {port} --bind 127.0.0.1", 1) as agent:
        assert agent.wait_until_listening(wanted, BOUND, is_named=False) == other
        with pytest.raises(UserError, match=rf"nobody listens at {wanted}, but `python .*` does at {other}"):
            agent.wait_until_listening(wanted, BOUND, is_named=True)
        assert agent.wait_until_listening(other, BOUND, is_named=True) == other


def test_an_agent_that_listens_nowhere_is_told_with_what_it_printed() -> None:
    wanted = f"http://localhost:{free_ports(1)}/mcp"
    with start_agent("sleep 1000", 1) as agent, pytest.raises(UserError, match=r"after 0\.5 s\. `sleep 1000` printed"):
        agent.wait_until_listening(wanted, 0.5, is_named=False)


def test_an_address_at_which_something_listens_already_is_refused(tmp_path: Path) -> None:
    command, _ = start(tmp_path)
    with socket.create_server(("127.0.0.1", urlsplit(str(command[1])).port or 0)):
        done = league_process(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "something listens at http://localhost:" in done.stderr
    assert not (tmp_path / "pids").exists()


def test_a_healthy_player_is_told_that_the_error_of_the_check_is_none(tmp_path: Path) -> None:
    command, _ = start(tmp_path)
    done = league_process(*command, cwd=tmp_path)
    assert "the referee says E001: nothing is wrong: this is the GAME_ERROR of a check" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--start", "no_such_program"], "no_such_program can't be started"),
        (["--start", "player.py --port 1"], 'expected --start "python player.py --port 1"'),
        (["--start", ""], "--start: expected a command"),
        (["--start", "python 'x"], "No closing quotation"),
        (["--start", "python x.py", "--self"], "leave out --self and --record"),
        (["--self", "--game", "chess"], "--game: "),
    ],
)
def test_what_cannot_be_started_is_told(arguments: list[str], told: str, tmp_path: Path) -> None:
    address = [] if "--self" in arguments else [f"http://localhost:{free_ports(1)}/mcp"]
    done = league_process("check", *address, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_game_that_is_asked_for_goes_before_those_that_a_player_names() -> None:
    assert choose_question(["even_odd"], "nim").game_type == "nim"
    assert choose_question(["nim"], "even_odd").game_type == "even_odd"
    assert choose_question(["nim"]).game_type == "nim"
