"""Practice ladders under faults, for a bounded virtual time."""

from dataclasses import replace

import pytest

from agent_league.storage.base import LadderRow
from agent_league.testing.faults import make_scenario
from agent_league.testing.invariants import ladder_sums_follow_from_the_matches
from agent_league.testing.simulation import simulate_scenario


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_ladder_keeps_its_promises_under_faults(seed: int) -> None:
    report = simulate_scenario(make_scenario(seed, formats=("ladder",)))
    assert report.breaches == []
    assert report.calls > 50


def test_sums_that_differ_from_the_matches_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_league.league.ladder_record import LadderRecord

    count = LadderRecord.add_result

    def count_twice(self: LadderRecord, result: object, scoring: object, step: int = 1) -> None:
        count(self, result, scoring, step)  # type: ignore[arg-type]
        for row in [LadderRow("pair/P01#1/P02#1", {"wins_a": 99})]:
            self._save_row(replace(row))

    monkeypatch.setattr(LadderRecord, "add_result", count_twice)
    report = simulate_scenario(make_scenario(2, formats=("ladder",)))
    assert ladder_sums_follow_from_the_matches.__name__ in {breach.invariant for breach in report.breaches}
