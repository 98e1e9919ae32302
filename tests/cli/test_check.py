"""`league check` as a person uses it: lines, reports, exit codes, and our own three agents."""

import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.check.faulty import faulty_player
from tests.cli.command import LEAGUE, environment, league, running, until
from tests.conftest import BOUND, free_ports


def test_our_own_three_agents_pass_every_step_also_strictly(tmp_path: Path) -> None:
    page, xml = tmp_path / "report.html", tmp_path / "report.xml"
    done = league("check", "--self", "--strict", "--html", page, "--junit", xml, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for role in ("player", "referee", "league manager"):
        assert f"The {role} at http://localhost:" in done.stdout
    assert done.stdout.count("passes, strictly.") == 3
    assert done.stdout.count(" 0 warnings, 0 failed, 0 skipped.") == 3
    assert [suite.get("failures") for suite in ET.parse(xml).getroot()] == ["0", "0", "0"]
    assert page.read_text(encoding="utf-8").count("<article>") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.xml"]


def test_a_good_player_has_a_line_a_step_a_summary_its_dialect_and_exit_code_0() -> None:
    port = free_ports(2)
    with faulty_player(port, port + 1):
        done = league("check", f"http://localhost:{port}/mcp", "--manager-port", port + 1, "--wait", 20)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "  1 ok   a server listens at the address"
    assert "FAIL" not in done.stdout
    assert " failed, 1 skipped." in lines[-3]
    assert lines[-2:] == [
        "Dialect: league.v2, in the protocol's own form",
        f"The player at http://localhost:{port}/mcp passes.",
    ]


def test_a_fault_is_shown_with_what_was_sent_expected_and_came_and_exit_code_1(tmp_path: Path) -> None:
    port, page = free_ports(2), tmp_path / "report.html"
    with faulty_player(port, port + 1, "wrong case"):
        done = league("check", f"localhost:{port}", "--manager-port", port + 1, "--wait", 20, "--html", page)
    assert done.returncode == 1
    block = done.stdout.partition("FAIL CHOOSE_PARITY_RESPONSE: parity_choice\n")[2].splitlines()
    titles = [line.strip().partition(":")[0] for line in block[:4]]
    assert titles == ["how to mend it", "sent", "expected", "came"]
    assert "'parity_choice' is \"Even\"" in block[3]
    assert "small letters" in block[0]
    assert "tok-" not in done.stdout
    assert "parity_choice" in page.read_text(encoding="utf-8")


def test_as_json_there_is_one_object_and_strictly_a_warning_fails() -> None:
    port = free_ports(2)
    with faulty_player(port, port + 1, "no health"):
        address = [f"http://localhost:{port}/mcp", "--manager-port", port + 1, "--json", "--role", "player"]
        tolerant = league("check", *address, "--wait", 20)
        strict = league("check", *address, "--strict", "--wait", 0)
    assert (tolerant.returncode, strict.returncode) == (0, 1)
    told = json.loads(strict.stdout)
    assert [step["name"] for step in told["steps"] if step["verdict"] == "fail"] == ["GET /health answers"]
    assert json.loads(tolerant.stdout)["counts"]["warning"] == 1


def test_strictly_a_step_that_fails_is_shown_as_failed() -> None:
    port = free_ports(2)
    with faulty_player(port, port + 1, "no health"):
        done = league("check", f"localhost:{port}", "--manager-port", port + 1, "--strict", "--wait", 20)
    assert done.returncode == 1
    assert "  4 FAIL GET /health answers" in done.stdout
    assert "WARN" not in done.stdout


@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_agent_of_another_league_is_not_checked_and_says_how_it_can_be(role: str, tmp_path: Path) -> None:
    port = free_ports(3)
    manager = ["manager", "--port", port, "--players", 50, "--home", tmp_path / "manager"]
    agent = [role, "--port", port + 1, "--manager", f"localhost:{port}", "--home", tmp_path / "agent"]
    with running(manager, agent) as (_, joined):
        joined.prints("Registered as")
        done = league("check", f"localhost:{port + 1}", "--manager-port", port + 2, "--wait", 0)
    assert done.returncode == 2
    assert "this agent belongs to another manager's league" in done.stdout
    assert f"--manager http://localhost:{port + 2}/mcp" in done.stdout
    assert " 0 failed" in done.stdout


def test_a_player_that_registered_in_an_earlier_check_can_be_checked_again(tmp_path: Path) -> None:
    port = free_ports(2)
    player = ["player", "--port", port, "--manager", f"localhost:{port + 1}", "--player-id", "P07"]
    with running([*player, "--home", tmp_path / "SHARED"]) as (command,):
        command.prints("registers with")
        first = league("check", f"localhost:{port}", "--manager-port", port + 1, "--wait", 20)
        again = league("check", f"localhost:{port}", "--manager-port", port + 1, "--wait", 0)
    assert (first.returncode, again.returncode) == (0, 0), again.stdout
    assert " 0 failed, 0 skipped." in first.stdout
    assert "registration not seen within 0 s" in again.stdout


def test_where_nobody_listens_it_says_so_and_has_exit_code_2() -> None:
    done = league("check", f"http://localhost:{free_ports(1)}/mcp", "--wait", 0, "--manager-port", free_ports(1))
    assert done.returncode == 2
    assert "FAIL a server listens at the address" in done.stdout
    assert "nobody listens there" in done.stdout


def test_as_json_the_result_is_whole_also_where_a_pipe_takes_little_at_once() -> None:
    fcntl = pytest.importorskip("fcntl")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    fcntl.fcntl(writer, getattr(fcntl, "F_SETPIPE_SZ", 1031), 4096)
    port = free_ports(2)
    address = ["check", f"http://localhost:{port}/mcp", "--wait", "0", "--manager-port", str(port + 1), "--json"]
    with (
        os.fdopen(reader, "rb") as stream,
        subprocess.Popen([*LEAGUE, *address], stdout=writer, env=environment(PYTHONUNBUFFERED="1")) as process,
    ):
        os.close(writer)
        told = json.loads(stream.read())
        assert process.wait(BOUND) == 2
    assert len(told["steps"]) > 40


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "expected one thing to check"),
        (["http://localhost:8101/mcp", "--self"], "expected one thing to check"),
        (["http://localhost:1", "--a2a", "--role", "referee"], "an A2A agent is a player, with an address; not with"),
        (["--self", "--a2a"], "an A2A agent is a player, with an address; not with --self"),
        (["not an address"], "'not an address' is no address to check"),
        (["ftp://localhost:8101/mcp"], "is no address to check"),
        (["http://localhost:0/mcp"], "is no address to check"),
        (["--record", ""], "--record: expected the path"),
        (["http://localhost:1/mcp", "--admin-token-file", "nowhere"], "can't read the admin token in nowhere"),
        (["http://localhost:1/mcp", "--html", "nowhere/report.html"], "can't write the report nowhere/report.html"),
        (["http://localhost:1/mcp", "--junit", "."], "can't write the report ."),
        (["--record", ".", "--html", "x.html"], "--html: only for the check of an agent"),
        (["--record", ".", "--junit", "x.xml", "--strict"], "--junit and --strict: only for the check of an agent"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_sentence_with_exit_code_2(arguments: list[str], sentence: str) -> None:
    done = league("check", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_manager_port_that_is_taken_is_said_in_a_sentence() -> None:
    port = free_ports(2)
    with faulty_player(port, None):
        done = league("check", f"http://localhost:{port}/mcp", "--manager-port", port)
    assert done.returncode == 2
    assert f"Port {port}" in done.stderr


def test_our_manager_is_started_with_its_admin_token(tmp_path: Path) -> None:
    port = free_ports(1)
    token = tmp_path / "SHARED" / "data" / "leagues" / "league_2025_even_odd" / "admin.token"
    manager = ["manager", "--port", port, "--players", 50, "--home", tmp_path / "SHARED"]
    with running(manager) as (command,):
        command.prints("Waiting for 50 players")
        until(token.is_file, "the admin token")
        done = league("check", f"http://localhost:{port}/mcp", "--admin-token-file", token)
    assert done.returncode == 0, done.stdout
    assert "its players and referees were the checker's own" in done.stdout
    assert " 0 failed, 0 skipped." in done.stdout


def test_a_record_is_validated_instead(tmp_path: Path) -> None:
    done = league("check", "--record", tmp_path / "nothing")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
