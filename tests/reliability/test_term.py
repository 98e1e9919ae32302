"""A course's term in fast motion: see `term.py`, which can be watched."""

from pathlib import Path

import pytest

from tests.reliability.machines import MachinesUnavailable
from tests.reliability.term import make_term

TEAMS = 30


def test_a_term_of_thirty_teams_loses_nothing(tmp_path: Path) -> None:
    try:
        with make_term(tmp_path, TEAMS) as term:
            term.run()
    except MachinesUnavailable as error:
        pytest.skip(str(error))
