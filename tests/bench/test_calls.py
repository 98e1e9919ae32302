"""The calls that the references repeat are those of a league of strangers."""

from dataclasses import astuple
from pathlib import Path

import pytest

from bench.calls import Call, Kind, Recording, Traffic, read_seeds_calls, record, spread, total
from bench.plans import Setting, matches_of, planned
from bench.strangers import make_strangers

SETTING = Setting(18000)
"""Played in memory, so nobody listens there."""


def record_strangers(folder: Path, players: int) -> Recording:
    return record(make_strangers(planned(SETTING, folder / str(players), players)))


def test_the_kept_calls_are_what_a_league_still_says_to_strangers(tmp_path: Path) -> None:
    players, kept = read_seeds_calls().small
    said = record_strangers(tmp_path, players)
    assert {method: kind.count for method, kind in said.items()} == {
        method: kind.count for method, kind in kept.items()
    }
    for method in ("start_match", "handle_game_invitation", "choose_parity", "notify_match_result", "notify_round"):
        assert astuple(said[method]) == pytest.approx(astuple(kept[method]), rel=0.05)


def test_the_references_make_the_same_calls_whatever_ours_do() -> None:
    calls = read_seeds_calls()
    per_match = {players: total(calls.of(players)) / matches_of(players) for players in (30, 100, 200, 300)}
    assert per_match == pytest.approx({30: 14.99, 100: 14.41, 200: 14.30, 300: 14.26}, abs=0.01)


def test_the_calls_of_a_league_follow_from_two_smaller_ones(tmp_path: Path) -> None:
    few, some, many = (record_strangers(tmp_path, players) for players in (6, 8, 12))
    foretold = Traffic((6, few), (8, some)).of(12)
    assert foretold.keys() == many.keys()
    assert total(foretold) == pytest.approx(total(many), rel=0.02)
    for method in ("start_match", "choose_parity", "notify_match_result", "report_match_result", "register_player"):
        assert foretold[method].count == pytest.approx(many[method].count)
    assert many["choose_parity"].bearer > 100  # a signed token
    for method, kind in many.items():
        spread = 0.2 if method == "notify_league_completed" else 0.02  # how many share the first place differs
        assert foretold[method].request == pytest.approx(kind.request, rel=spread)
        assert foretold[method].answer == pytest.approx(kind.answer, rel=0.05)
        assert foretold[method].bearer == pytest.approx(kind.bearer, rel=0.02)


def test_what_grows_with_the_players_and_with_the_matches_is_told_apart() -> None:
    def recording(players: int) -> dict[str, Kind]:
        matches = matches_of(players)
        return {"come": Kind(3 * players, 100, 10, 0), "play": Kind(2 * matches, 50 + 7 * players, 20, 32)}

    found = Traffic((4, recording(4)), (10, recording(10))).of(100)
    assert {method: astuple(kind) for method, kind in found.items()} == {
        method: pytest.approx(astuple(kind)) for method, kind in recording(100).items()
    }


def test_calls_are_mixed_evenly_in_their_proportions() -> None:
    small, large = Call(100, 10, 0), Call(900, 10, 30)
    calls = spread({"one": Kind(300, 100, 10, 0), "other": Kind(100, 900.2, 9.8, 30)}, 40)
    assert [calls.count(small), calls.count(large)] == [30, 10]
    assert all(calls[start : start + 8].count(large) == 2 for start in range(0, 40, 8))
