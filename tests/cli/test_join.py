"""`league join`: what goes wrong is a sentence, stdout is MCP's alone, and the end is quick."""

import json
import os
import pty
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent_league.config.home import is_home
from tests.cli.command import LEAGUE, environment, league, running
from tests.cli.test_agents import get
from tests.conftest import BOUND, free_ports
from tests.gateway.league import stdio, tool

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["ftp://x", "--name", "A"], "LEAGUE_URL 'ftp://x' is no address; expected one such as http://localhost:8000"),
        (["localhost:1", "--name", "  "], "--name '  ': expected 1 to 100 characters that people can see"),
        (["localhost:1", "--name", "A", "--fallback", "x"], "--fallback: strategy 'x' isn't installed (there are: "),
        (
            ["localhost:1", "--name", "A", "--fallback", "llm"],
            "--fallback: strategy 'llm' can't answer within a second",
        ),
        (["localhost:1", "--name", "A", "--set", "nothing=1"], "nothing"),
        (["localhost:1"], "Missing option '--name'"),
    ],
)
def test_a_mistake_ends_with_a_sentence(tmp_path: Path, options: list[str], sentence: str) -> None:
    done = league("join", *options, "--home", tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_person_at_a_terminal_is_told_how_to_play_there(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*LEAGUE, "join", "localhost:1", "--name", "Ann Lee", "--home", str(tmp_path)]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stderr
            told = next(line for line in process.stderr if line.startswith("This gateway speaks MCP"))
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
    assert "`league play localhost:1 --name 'Ann Lee'`" in told


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    port = free_ports(1)
    command = ["join", "localhost:1", "--name", "A", "--http", port, "--home", tmp_path]
    with running(command) as (first,):
        first.prints(f"MCP gateway at http://localhost:{port}/mcp")
        second = league(*command)
        assert second.returncode == 2
        assert (
            f"Port {port} on 127.0.0.1 is in use, and the gateway needs it. Choose another with --http."
            in second.stderr
        )
        first.signal(signal.SIGINT)
        assert first.ends() == 0


@pytest.mark.parametrize("command", [["join", "localhost:1", "--name", "A"], ["play", "localhost:1"]])
def test_who_dials_out_needs_no_address(command: list[str], tmp_path: Path) -> None:
    refused = league(*command, "--dial-out", "--port", 8123, "--home", tmp_path)
    assert (refused.returncode, "--dial-out needs no address" in refused.stderr) == (2, True)


class Spoken:
    """A gateway on pipes, spoken to by hand."""

    def __init__(self, home: Path) -> None:
        command = [*LEAGUE, "join", "localhost:1", "--name", "A", "--home", str(home)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(), text=True)

    def says(self, message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def hears(self) -> dict[str, Any]:
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ends(self) -> tuple[int, str, str]:
        """Its exit code, and what it had said to nobody."""
        out, err = self.process.communicate(timeout=BOUND)
        return self.process.returncode, out, err

    def __enter__(self) -> "Spoken":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("ending", ["stdin", signal.SIGINT, signal.SIGTERM])
def test_stdout_is_mcp_alone_and_the_end_is_quick_also_in_the_midst_of_a_wait(tmp_path: Path, ending: Any) -> None:
    with Spoken(tmp_path) as gateway:
        gateway.says("this is no JSON")
        gateway.says(INITIALIZE)
        answer = gateway.hears()
        while answer.get("id") != 1:
            answer = gateway.hears()
        assert answer["result"]["serverInfo"]["name"] == "agent-league-gateway"
        gateway.says({"jsonrpc": "2.0", "method": "notifications/initialized"})
        gateway.says({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "join_league"}})
        gateway.says({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        assert gateway.hears()["id"] == 3, "the other call waits for a manager"
        if ending == "stdin":
            assert gateway.process.stdin
            gateway.process.stdin.close()
            gateway.process.stdin = None
        else:
            gateway.process.send_signal(ending)
        code, out, err = gateway.ends()
    assert code == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "once the host calls join_league" in err
    assert "Traceback" not in err


def test_a_host_that_reads_no_more_is_a_normal_end(tmp_path: Path) -> None:
    with Spoken(tmp_path) as gateway:
        gateway.says(INITIALIZE)
        assert gateway.hears()["id"] == 1
        assert gateway.process.stdout
        gateway.process.stdout.close()
        gateway.says({**INITIALIZE, "id": 2})
        assert gateway.process.stderr
        err = gateway.process.stderr.read()
        assert gateway.process.wait(BOUND) == 0, err
    assert "Traceback" not in err


async def test_a_host_may_start_it_in_any_folder(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    server = stdio("join", f"localhost:{free_ports(1)}", "--name", "A", cwd=Path("/"))
    async with Client(server.model_copy(update={"env": environment(**home)})) as client:
        assert (await tool(client, "get_rules"))["title"] == "Even/Odd"
    assert is_home(tmp_path / ".agent-league")


def test_what_is_not_mcp_is_told_so_at_the_http_port_and_a_web_page_is_turned_away(tmp_path: Path) -> None:
    port = free_ports(1)
    with running(["join", "localhost:1", "--name", "A", "--http", port, "--home", tmp_path]) as (gateway,):
        gateway.prints("MCP gateway at")
        assert get(f"http://localhost:{port}/health")["role"] == "gateway"
        body = json.dumps({"jsonrpc": "2.0", "method": "choose_parity", "params": {}, "id": "x"}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://localhost:{port}/mcp", body, headers)
        with urllib.request.urlopen(request, timeout=BOUND) as response:
            answer = json.load(response)
        assert answer["id"] == "x"
        assert answer["error"]["code"] == -32601
        assert "speak MCP" in answer["error"]["message"]
        rules = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_rules", "arguments": {}}, "id": 2}
        request = urllib.request.Request(f"http://localhost:{port}/mcp", json.dumps(rules).encode(), headers)
        with urllib.request.urlopen(request, timeout=BOUND) as response:
            assert json.load(response)["result"]["structuredContent"]["title"] == "Even/Odd", "without any ado"
        page = {**headers, "Origin": "http://evil.example", "MCP-Protocol-Version": "2026-07-28"}
        request = urllib.request.Request(f"http://localhost:{port}/mcp", json.dumps(INITIALIZE).encode(), page)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=BOUND)
        refused.value.close()
        assert refused.value.code == 403
        gateway.signal(signal.SIGTERM)
        assert gateway.ends() == 0
