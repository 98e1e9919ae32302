"""The table: counts, ranks and who did what against whom."""

import json
from collections import Counter

import pytest

from agent_league.lab.scoreboard import MAX_GROUPS, GameTally, PairTallies, Scoreboard, compute_score, tally_returns
from agent_league.ratings.statistics import Estimate, estimate_mean, estimate_rate


def test_a_meeting_is_counted_from_both_sides() -> None:
    one, other = tally_returns({(1.0, -1.0): 3, (0.0, 0.0): 2, (-1.0, 1.0): 1}, (4, 0), payoffs=False)
    assert (one.wins, one.draws, one.losses, one.faults) == (3, 2, 1, 4)
    assert (other.wins, other.draws, other.losses, other.faults) == (1, 2, 3, 0)
    assert PairTallies((0, 2), 0, (one, other)).games == 6
    assert compute_score([{0: one}]).mean_payoff is None


def test_who_has_more_has_won_and_payoffs_are_kept() -> None:
    one, other = tally_returns({(49.0, 54.0): 2, (150.0, 150.0): 1}, (0, 0), payoffs=True)
    assert (one.wins, one.draws, one.losses) == (0, 1, 2)
    assert (one.total_payoff, other.total_payoff) == (248, 258)


def board(*, by_payoff: bool) -> Scoreboard:
    made = Scoreboard(("a", "b", "c"), by_payoff=by_payoff)
    for pair, returns, faults in (
        ((0, 1), {(1.0, 0.0): 2}, (0, 0)),
        ((0, 2), {(1.0, 0.0): 1, (0.0, 9.0): 1}, (0, 0)),
        ((1, 2), {(5.0, 5.0): 1}, (0, 3)),
        ((1, 2), {(5.0, 5.0): 1}, (0, 2)),
    ):
        made.add_tallies(PairTallies(pair, 0, tally_returns(returns, faults, payoffs=by_payoff)))
    return made


def test_points_decide_the_rank() -> None:
    rows = board(by_payoff=False).rows()
    assert [(row.rank, row.name, row.points) for row in rows] == [(1, "a", 9), (2, "c", 5), (3, "b", 2)]
    assert [row.total.tally.games for row in rows] == [4, 4, 4]
    assert rows[1].total.tally.faults == rows[1].against["b"].tally.faults == 5
    assert {name: score.tally.wins for name, score in rows[0].against.items()} == {"b": 2, "c": 1}


def test_payoffs_decide_the_rank_where_they_count() -> None:
    rows = board(by_payoff=True).rows()
    assert [(row.rank, row.name) for row in rows] == [(1, "c"), (2, "b"), (3, "a")]
    assert rows[0].total.tally.payoffs == {0.0: 1, 9.0: 1, 5.0: 2}


def test_equals_share_a_rank() -> None:
    made = Scoreboard(("a", "b"), by_payoff=False)
    assert [(row.rank, row.name) for row in made.rows()] == [(1, "a"), (1, "b")]


def test_a_tally_of_one_game_is_json() -> None:
    told = compute_score([{0: GameTally(wins=1, payoffs=Counter({2.0: 1}))}]).to_json()
    assert json.loads(json.dumps(told, allow_nan=False))["mean_payoff"] == {"value": 2.0, "low": None, "high": None}


def series(*wins: int, games: int = 10) -> dict[int, GameTally]:
    return {number: GameTally(wins=won, losses=games - won) for number, won in enumerate(wins)}


def test_series_that_are_far_apart_make_the_interval_wide() -> None:
    apart, alike = compute_score([series(10, 0, 10, 0)]), compute_score([series(5, 5, 5, 5)])
    assert apart.win_rate.value == alike.win_rate.value == 0.5
    assert alike.win_rate == estimate_rate(20, 40), "no narrower than games allow"
    half = 3.182 * (10 / 3**0.5) / 20  # Student's t with 3 degrees, deviation of the four sums by the root of 4, by 10
    assert (apart.win_rate.low, apart.win_rate.high) == pytest.approx(
        (max(0, 0.5 - half), min(1, 0.5 + half)), abs=1e-3
    )


def test_with_one_series_games_are_all_there_is() -> None:
    alone = compute_score([series(14, games=20)])
    assert (alone.series, alone.win_rate) == (1, estimate_rate(14, 20))
    paid = compute_score([{0: GameTally(wins=3, payoffs=Counter({1.0: 1, 2.0: 1, 3.0: 1}))}]).mean_payoff
    assert paid == estimate_mean({1.0: 1, 2.0: 1, 3.0: 1})


def test_what_differs_between_opponents_makes_no_interval_wider() -> None:
    def paid(amount: float) -> dict[int, GameTally]:
        return {number: GameTally(wins=2, payoffs=Counter({amount: 2})) for number in range(5)}

    found = compute_score([paid(14.0), paid(50.0)]).mean_payoff
    assert found == Estimate(32.0, 32.0, 32.0)
    only = compute_score(
        [{0: GameTally(wins=2, payoffs=Counter({14.0: 2}))}, {0: GameTally(wins=2, payoffs=Counter({50.0: 2}))}]
    )
    assert only.mean_payoff == Estimate(32.0, 32.0, 32.0)


def test_opponents_of_one_league_are_not_independent() -> None:
    def paid(*amounts: float) -> dict[int, GameTally]:
        return {number: GameTally(wins=1, payoffs=Counter({amount: 1})) for number, amount in enumerate(amounts)}

    together, against = (
        compute_score([paid(1, 2, 3, 4), other]).mean_payoff for other in (paid(1, 2, 3, 4), paid(4, 3, 2, 1))
    )
    assert together
    assert against
    assert together.high - together.low > 1
    assert (against.low, against.high) == (2.5, 2.5)


def test_many_series_take_no_more_room_than_a_thousand() -> None:
    made = Scoreboard(("a", "b"), by_payoff=False)
    for number in range(MAX_GROUPS + 7):
        made.add_tallies(PairTallies((0, 1), number, (GameTally(wins=1), GameTally(losses=1))))
    assert made.games == MAX_GROUPS + 7
    assert made.rows()[0].total.series == MAX_GROUPS


def test_the_first_fault_is_the_same_whoever_told_it_first() -> None:
    one, other = (PairTallies((0, 1), number, (GameTally(), GameTally()), (f"fault {number}", "")) for number in (1, 2))
    made, again = Scoreboard(("a", "b"), by_payoff=False), Scoreboard(("a", "b"), by_payoff=False)
    for meeting in (one, other):
        made.add_tallies(meeting)
    for meeting in (other, one):
        again.add_tallies(meeting)
    assert made.first_faults == again.first_faults == {"a": "fault 1"}
