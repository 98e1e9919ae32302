"""How a player plays, from recorded results and from match files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.model.results import MatchResult, Outcome
from agent_league.storage.files import write_json
from agent_league.web.player import habits as module
from agent_league.web.player.habits import Habits, Played, habits_of, shares_of

NOWHERE = Path("nowhere")


def played(number: int, winner: str | None, details: dict[str, Any], file: Path = NOWHERE) -> Played:
    outcome = Outcome.WIN if winner else Outcome.DRAW
    return Played(MatchResult(f"R{number}M1", number, ("P01", "P02"), outcome, winner, details), "REF01", file)


def counts(habits: Habits) -> dict[str, int]:
    return {share.what: share.count for share in habits.shares}


def reactions(found: Any) -> dict[str, dict[str, int]]:
    return {one.after: {share.what: share.count for share in one.shares} for one in found}


def test_moves_by_turns_are_counted_with_what_they_answer() -> None:
    steps = [{"P01": 4}, {"P02": 0}, {"P01": 8}, {"P02": 2}, {"P01": 1}]
    habits = habits_of("P01", [played(1, "P01", {"moves": steps})])
    assert counts(habits) == {"4": 1, "8": 1, "1": 1}
    assert [share.what for share in habits.openings] == ["4"]
    assert reactions(habits.after_opponent) == {"0": {"8": 1}, "2": {"1": 1}}


def test_moves_at_once_answer_the_opponents_move_of_the_step_before() -> None:
    steps = [{"P01": "rock", "P02": "paper"}, {"P01": "paper", "P02": "rock"}, {"P01": "rock", "P02": "rock"}]
    habits = habits_of("P01", [played(1, "P01", {"moves": steps})])
    assert reactions(habits.after_opponent) == {"paper": {"paper": 1}, "rock": {"rock": 1}}


def test_what_a_result_makes_it_open_with_is_seen_in_the_next_match() -> None:
    choices = ({"P01": "even", "P02": "odd"}, {"P01": "odd", "P02": "odd"}, {"P01": "even", "P02": "odd"})
    winners = ("P01", "P02", None)
    habits = habits_of(
        "P01",
        [played(at, who, {"choices": made}) for at, (who, made) in enumerate(zip(winners, choices, strict=True), 1)],
    )
    assert counts(habits) == {"even": 2, "odd": 1}
    assert reactions(habits.after_result) == {"a match that it won": {"odd": 1}, "a match that it lost": {"even": 1}}


def test_a_file_tells_what_the_league_has_not_recorded(tmp_path: Path) -> None:
    match = played(1, "P01", {}, tmp_path / "R1M1.json")
    told = {"status": "WIN", "winner_player_id": "P01"}
    file = {"match_id": "R1M1", "referee_id": "REF01", "result": told, "moves": [{"P01": [1, 2]}, {"P02": {"a": 1}}]}
    write_json(match.file, file)
    assert counts(habits_of("P01", [match])) == {"[1,2]": 1}


@pytest.mark.parametrize(
    "changed",
    [
        {"match_id": "R2M1"},
        {"referee_id": "REF02"},
        {"result": {"status": "DRAW", "winner_player_id": None}},
        {"result": None},
        {"moves": {"P01": 1}},
        {"moves": [1]},
    ],
)
def test_a_file_of_another_match_or_none_counts_for_nothing(changed: dict[str, Any], tmp_path: Path) -> None:
    match = played(1, "P01", {}, tmp_path / "R1M1.json")
    told = {"status": "WIN", "winner_player_id": "P01"}
    whole = {"match_id": "R1M1", "referee_id": "REF01", "result": told, "moves": [{"P01": 1}]}
    write_json(match.file, whole | changed)
    habits = habits_of("P01", [match])
    assert (habits.matches, habits.left_out, habits.moves) == (0, 1, 0)


def test_only_the_latest_matches_and_so_many_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"status": "WIN", "winner_player_id": "P01"}
    matches = [played(at, "P01", {}, tmp_path / f"R{at}M1.json") for at in range(1, 5)]
    for match in matches:
        file = {"match_id": match.result.match_id, "referee_id": "REF01", "result": told, "moves": [{"P01": 1}]}
        write_json(match.file, file)
    monkeypatch.setattr(module, "MOST_MATCHES", 3)
    assert (habits_of("P01", matches).matches, habits_of("P01", matches).left_out) == (3, 1)
    monkeypatch.setattr(module, "MOST_BYTES", matches[0].file.stat().st_size)
    assert (habits_of("P01", matches).matches, habits_of("P01", matches).left_out) == (1, 3)


def test_details_that_are_no_moves_do_no_harm() -> None:
    spoilt: list[dict[str, Any]] = [{"moves": 3}, {"moves": [3]}, {"choices": "even"}, {"choices": {"P01": [1, 2]}}]
    for details in (*spoilt, {}, {"moves": []}):
        assert habits_of("P01", [played(1, "P01", details)]).matches == 0


def test_many_different_moves_are_cut_and_the_rest_told_together() -> None:
    counted = {str(number): 1 for number in range(30)}
    found = shares_of(counted | {"often": 70}, 3)
    assert (found[0].what, found[0].count, found[0].percent) == ("often", 70, 70.0)
    assert (found[-1].what, found[-1].count) == ("28 others", 28)
    assert sum(one.count for one in found) == 100


def test_a_long_or_invisible_move_is_shown_short_and_spelled_out() -> None:
    match = played(1, "P01", {"moves": [{"P01": "x" * 500}, {"P01": "a\u202eb"}]})
    assert set(counts(habits_of("P01", [match]))) == {"x" * module.LONGEST_MOVE + "…", "a\\u202eb"}


def test_nothing_played_is_nothing_known() -> None:
    habits = habits_of("P01", [])
    assert (habits.matches, habits.left_out, habits.shares) == (0, 0, [])
    silent = replace(played(1, "P02", {}), result=played(1, "P02", {"moves": [{"P02": 1}]}).result)
    assert counts(habits_of("P01", [silent])) == {}
