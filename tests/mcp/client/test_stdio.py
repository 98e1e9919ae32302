"""A session with a server that is a command: a real process, its death, its return and its end."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from agent_league.config import McpServer
from agent_league.mcp.client.failures import FailureKind, ToolFailed
from agent_league.mcp.client.sessions import SessionManager, SessionState, SessionTiming
from tests.conftest import BOUND
from tests.mcp.client.house import HEARTBEAT, Naps, settled

COMMAND = (sys.executable, str(Path(__file__).with_name("stdio_server.py")))
ENV = {"LEAGUE_TEST_WORD": "set for the command"}

Starter = Callable[..., SessionManager]


@pytest.fixture
async def started() -> AsyncIterator[Starter]:
    """Starts sessions with commands: `started(COMMAND, naps)`."""
    sessions: list[SessionManager] = []

    def start(command: tuple[str, ...], naps: Naps, **pace: float) -> SessionManager:
        kept = SessionTiming(heartbeat_seconds=HEARTBEAT, **pace)  # type: ignore[arg-type]
        sessions.append(SessionManager("command", McpServer(command=command, env=ENV), timing=kept, sleep=naps))
        sessions[-1].start()
        return sessions[-1]

    yield start
    await asyncio.gather(*(session.close() for session in sessions))


def value(answer: CallToolResult) -> Any:
    return answer.structured_content["result"]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_command_is_started_called_and_ended_with_the_session(started: Starter) -> None:
    session = started(COMMAND, Naps())
    assert await settled(session) is SessionState.READY
    assert list(session.tools) == ["die_in_act", "die_once", "process", "variable"]
    process = value(await session.call_tool("process", {}, limit=BOUND))
    assert is_running(process)
    assert (
        value(await session.call_tool("variable", {"name": "LEAGUE_TEST_WORD"}, limit=BOUND)) == "set for the command"
    )
    await session.close()
    assert not is_running(process)


async def test_a_command_that_was_killed_is_noticed_by_the_heartbeat_and_started_again(started: Starter) -> None:
    naps = Naps()
    session = started(COMMAND, naps)
    await settled(session)
    process = value(await session.call_tool("process", {}, limit=BOUND))
    os.kill(process, signal.SIGKILL)
    naps.beat()
    await naps.rested()
    assert value(await session.call_tool("process", {}, limit=BOUND)) != process


async def test_a_command_that_dies_in_a_harmless_call_is_started_and_called_again(
    started: Starter, tmp_path: Path
) -> None:
    session = started(COMMAND, Naps())
    answer = await session.call_tool("die_once", {"marker": str(tmp_path / "lives")}, limit=BOUND)
    assert value(answer) == "alive in life 2"


async def test_a_command_that_dies_in_another_call_is_not_called_twice(started: Starter, tmp_path: Path) -> None:
    session = started(COMMAND, Naps())
    marker = tmp_path / "lives"
    with pytest.raises(ToolFailed) as caught:
        await session.call_tool("die_in_act", {"marker": str(marker)}, limit=BOUND)
    assert caught.value.failure_kind is FailureKind.TRANSIENT
    await session.call_tool("process", {}, limit=BOUND)
    assert marker.read_text(encoding="utf-8") == "x"


async def test_a_command_that_is_not_there_is_permanent(started: Starter) -> None:
    naps = Naps()
    session = started(("no-such-command-anywhere",), naps)
    assert await settled(session) is SessionState.CLOSED
    assert "FileNotFoundError" in session.problem
    assert naps.rests == []


async def test_a_command_that_ends_at_once_is_started_again_and_again_with_rests(started: Starter) -> None:
    naps = Naps(free=False)
    session = started((sys.executable, "-c", "pass"), naps)
    await naps.rested()
    naps.wake()
    await naps.rested()
    assert session.failure_kind is FailureKind.TRANSIENT


async def test_a_command_that_says_nothing_is_left_at_the_limit_of_a_handshake(started: Starter) -> None:
    naps = Naps(free=False)
    session = started((sys.executable, "-c", "import sys; sys.stdin.read()"), naps, connect_timeout=1)
    await naps.rested()
    assert session.failure_kind is FailureKind.TIMEOUT
