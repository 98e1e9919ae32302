"""The bench of many leagues on one server, with a handful of them."""

import pytest

from bench.many_leagues import measure

pytestmark = pytest.mark.slow


def test_all_leagues_of_a_server_are_played_whole(capsys: pytest.CaptureFixture[str]) -> None:
    measure(4)
    assert capsys.readouterr().out.startswith("4 leagues, 26 players, 74 matches, 0 lost technically\n")
