"""What the tests of the protocol share: recorded traffic."""

import pytest

from tests.protocol.traffic import Exchange, record_traffic, sent_messages


@pytest.fixture(scope="session")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> list[Exchange]:
    """Everything that was said in a league that went well and in one that didn't."""
    return record_traffic(tmp_path_factory.mktemp("traffic"))


@pytest.fixture(scope="session")
def sent(traffic: list[Exchange]) -> list[dict[str, object]]:
    """Every league message that our agents sent there."""
    return list(sent_messages(traffic))
