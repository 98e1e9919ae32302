"""The bench of what MCP costs: it compares a player that has the MCP side with one that really hasn't."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import BOUND, free_ports

PLAYER = Path(__file__).parents[2] / "bench" / "lone_player.py"


def ask(port: int, method: str) -> bytes:
    body = f'{{"jsonrpc": "2.0", "method": "{method}", "params": {{}}, "id": 1}}'.encode()
    request = urllib.request.Request(f"http://localhost:{port}/mcp", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=BOUND) as response:
        return bytes(response.read())


@pytest.mark.parametrize(("kind", "answer"), [("with", b'"tools"'), ("without", b'"code":-32601')])
def test_the_bench_compares_a_player_with_mcp_and_one_without(home: Path, kind: str, answer: bytes) -> None:
    port = free_ports(1)
    command = [sys.executable, str(PLAYER), str(home), kind, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert b'"result"' in ask(port, "get_player_state")
        assert answer in ask(port, "tools/list")
        spent, _ = process.communicate(b"\n", timeout=BOUND)
    assert float(spent) > 0
    assert process.returncode == 0
