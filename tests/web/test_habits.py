"""How a player plays, from recorded results and from match files."""

from typing import Any

from agent_league.model.results import MatchResult, Outcome
from agent_league.web.player import statistics as module
from agent_league.web.player.statistics import FiledMatch, PlayingHabits, analyse_habits, compute_shares


def played(number: int, winner: str | None, details: dict[str, Any], file: dict[str, Any] | None = None) -> FiledMatch:
    outcome = Outcome.WIN if winner else Outcome.DRAW
    return FiledMatch(MatchResult(f"R{number}M1", number, ("P01", "P02"), outcome, winner, details), file)


def counts(habits: PlayingHabits) -> dict[str, int]:
    return {share.what: share.count for share in habits.shares}


def reactions(found: Any) -> dict[str, dict[str, int]]:
    return {one.after: {share.what: share.count for share in one.shares} for one in found}


def test_moves_by_turns_are_counted_with_what_they_answer() -> None:
    steps = [{"P01": 4}, {"P02": 0}, {"P01": 8}, {"P02": 2}, {"P01": 1}]
    habits = analyse_habits("P01", [played(1, "P01", {"moves": steps})])
    assert counts(habits) == {"4": 1, "8": 1, "1": 1}
    assert [share.what for share in habits.openings] == ["4"]
    assert reactions(habits.after_opponent) == {"0": {"8": 1}, "2": {"1": 1}}


def test_moves_at_once_answer_the_opponents_move_of_the_step_before() -> None:
    steps = [{"P01": "rock", "P02": "paper"}, {"P01": "paper", "P02": "rock"}, {"P01": "rock", "P02": "rock"}]
    habits = analyse_habits("P01", [played(1, "P01", {"moves": steps})])
    assert reactions(habits.after_opponent) == {"paper": {"paper": 1}, "rock": {"rock": 1}}


def test_what_a_result_makes_it_open_with_is_seen_in_the_next_match() -> None:
    choices = ({"P01": "even", "P02": "odd"}, {"P01": "odd", "P02": "odd"}, {"P01": "even", "P02": "odd"})
    winners = ("P01", "P02", None)
    habits = analyse_habits(
        "P01",
        [played(at, who, {"choices": made}) for at, (who, made) in enumerate(zip(winners, choices, strict=True), 1)],
    )
    assert counts(habits) == {"even": 2, "odd": 1}
    assert reactions(habits.after_result) == {"a match that it won": {"odd": 1}, "a match that it lost": {"even": 1}}


def test_a_file_tells_what_the_league_has_not_recorded() -> None:
    file = {"moves": [{"P01": [1, 2]}, {"P02": {"a": 1}}]}
    assert counts(analyse_habits("P01", [played(1, "P01", {}, file)])) == {"[1, 2]": 1}
    assert counts(analyse_habits("P01", [played(1, "P01", {"moves": [{"P01": 3}]}, file)])) == {"3": 1}


def test_details_that_are_no_moves_do_no_harm() -> None:
    spoilt: list[dict[str, Any]] = [{"moves": 3}, {"moves": [3]}, {"choices": "even"}, {"choices": {"P01": [1, 2]}}]
    for details in (*spoilt, {}, {"moves": []}):
        assert analyse_habits("P01", [played(1, "P01", details)]).matches == 0
        assert analyse_habits("P01", [played(1, "P01", {}, details)]).moves == 0


def test_many_different_moves_are_cut_and_the_rest_told_together() -> None:
    counted = {str(number): 1 for number in range(30)}
    found = compute_shares(counted | {"often": 70}, 3)
    assert (found[0].what, found[0].count, found[0].percent) == ("often", 70, 70.0)
    assert (found[-1].what, found[-1].count) == ("28 others", 28)
    assert sum(one.count for one in found) == 100


def test_a_long_or_invisible_move_is_shown_short_and_spelled_out() -> None:
    match = played(1, "P01", {"moves": [{"P01": "x" * 500}, {"P01": "a\u202eb"}]})
    assert set(counts(analyse_habits("P01", [match]))) == {"x" * (module.LONGEST_MOVE - 3) + "...", "a\\u202eb"}


def test_nothing_played_is_nothing_known() -> None:
    habits = analyse_habits("P01", [])
    assert (habits.matches, habits.moves, habits.shares) == (0, 0, [])
    silent = analyse_habits("P01", [played(1, "P02", {"moves": [{"P02": 1}]})])
    assert (silent.matches, silent.moves, counts(silent)) == (1, 0, {})
