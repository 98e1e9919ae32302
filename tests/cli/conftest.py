"""`league check` keeps its key in the tests' own cache folder here too; a league that was played, for all who look."""

from pathlib import Path

import pytest

from tests.check.conftest import cache
from tests.cli.leagues import play

__all__ = ["cache"]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SHARED folder of a finished league of Tic-Tac-Toe with four players; nobody may change it."""
    home = tmp_path_factory.mktemp("played") / "SHARED"
    play(home, players=4, referees=2)
    return home
