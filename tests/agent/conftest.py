"""What the tests of agents share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.answering_agent import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.log.close()
