"""Starts the player and has `league check` judge it: `python -m unittest` in this folder."""

import random
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PLAYER = Path(__file__).with_name("player.py")


class TestPlayer(unittest.TestCase):
    def test_league_check_finds_nothing_wrong(self) -> None:
        port, manager_port = free_port(), free_port()
        manager = f"http://localhost:{manager_port}/mcp"
        with tempfile.TemporaryDirectory() as home:
            command = [sys.executable, str(PLAYER), "--port", str(port), "--manager", manager, "--home", home]
            player = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                check = league_check(
                    f"http://localhost:{port}/mcp", "--manager-port", str(manager_port), "--wait", "30"
                )
            finally:
                player.terminate()
                player.wait()
        assert check.returncode == 0, f"league check found something:\n{check.stdout}{check.stderr}"


def league_check(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "agent_league", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def free_port() -> int:
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


if __name__ == "__main__":
    unittest.main()
