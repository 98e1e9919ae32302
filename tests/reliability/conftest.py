"""The undisturbed league that all of these are compared with."""

import pytest

from tests.reliability.verdict import Undisturbed, undisturbed

SEED = "7"


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Sixteen players, three referees, nobody killed."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), seed=SEED, players=16, referees=3)
