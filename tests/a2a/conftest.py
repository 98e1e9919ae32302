"""Agents of the official SDK in a process of their own, one process a worker."""

from collections.abc import Iterator

import pytest

from tests.a2a.agents import AgentProcess, agent_process


@pytest.fixture(scope="session")
def agents() -> Iterator[AgentProcess]:
    with agent_process() as process:
        yield process
