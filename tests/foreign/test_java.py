"""A player in Java, whose own HTTP client offers HTTP/2 with its calls and whose server is the JDK's."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PlanMaker
from tests.foreign.stage import Played, match_files, planned
from tests.launch.scripted_guests import hosted

AGENT = Path(__file__).with_name("JavaPlayer.java")
STARTING = 120
"""Seconds in which a busy machine compiles one file and plays three matches."""


def has_compiler() -> bool:
    """Whether there is a JDK, and not only what runs what was compiled elsewhere."""
    java = shutil.which("java")
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False) if java else None
    return modules is not None and "jdk.compiler" in modules.stdout


pytestmark = pytest.mark.skipif(not has_compiler(), reason="there is no JDK here; install default-jdk-headless")


async def test_a_player_in_java_with_its_own_http_client_and_server_plays_a_league(plan: PlanMaker) -> None:
    made = planned(plan, players=3, referees=1)
    manager = f"http://localhost:{made.manager.port}/mcp"
    async with hosted(made, guests=1) as league:
        java = await asyncio.create_subprocess_exec(
            "java",
            "-XX:TieredStopAtLevel=1",
            str(AGENT),
            str(made.players[-1].port),
            manager,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(STARTING):
                said, _ = await java.communicate()  # it ends by itself once the league does
            assert java.returncode == 0, said
            await league.completed()
        finally:
            if java.returncode is None:
                java.kill()
                await java.wait()
    played = Played(league.events, match_files(made), [])
    played.assert_played(3)
    row = next(row for row in played.completed.standings if row.display_name == "Java")
    assert said.decode().split("\n")[:2] == [f"registered as {row.player_id}", "played 2"]
    assert not played.codes(row.player_id)
    assert not played.tolerated(row.player_id)
