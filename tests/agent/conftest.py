"""What the tests of agents share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_league.log import JsonLogger
from tests.agent.answering_agent import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.log.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    log = JsonLogger("test", log_root=tmp_path)
    yield log
    log.close()
