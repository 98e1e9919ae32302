"""The bench of many leagues on one server, with a handful of them."""

from pathlib import Path

import pytest

from bench.many_leagues import compare_to_one_league, measure
from bench.usage import used_by_ended_children

pytestmark = pytest.mark.slow


def test_all_leagues_of_a_server_are_played_whole(capsys: pytest.CaptureFixture[str]) -> None:
    measure(4)
    assert capsys.readouterr().out.startswith("4 leagues, 26 players, 74 matches, 0 lost technically\n")


def test_leagues_of_eight_are_played_beside_one_of_as_many_matches(tmp_path: Path) -> None:
    before = used_by_ended_children()
    compared = compare_to_one_league(2, tmp_path)
    assert [run.matches for run in (compared.many.first_rounds, compared.many.whole)] == [16, 56]
    assert [run.matches for run in (compared.one.first_rounds, compared.one.whole)] == [10, 55]
    runs = (compared.many.first_rounds, compared.many.whole, compared.one.first_rounds, compared.one.whole)
    assert all(run.cpu_seconds > 0 for run in runs)
    assert sum(run.cpu_seconds for run in runs) <= used_by_ended_children() - before, "nobody counts twice"
