"""The table: counts, ranks and who did what against whom."""

import json
from collections import Counter

import pytest

from agent_league.lab.scoreboard import Scoreboard
from agent_league.lab.tally import Tally, meeting


def test_a_meeting_is_counted_from_both_sides() -> None:
    played = meeting((0, 2), {(1.0, -1.0): 3, (0.0, 0.0): 2, (-1.0, 1.0): 1}, (4, 0), payoffs=False)
    one, other = played.tallies
    assert (one.wins, one.draws, one.losses, one.faults) == (3, 2, 1, 4)
    assert (other.wins, other.draws, other.losses, other.faults) == (1, 2, 3, 0)
    assert played.games == 6
    assert one.mean_payoff is None


def test_who_has_more_has_won_and_payoffs_are_kept() -> None:
    one, other = meeting((0, 1), {(49.0, 54.0): 2, (150.0, 150.0): 1}, (0, 0), payoffs=True).tallies
    assert (one.wins, one.draws, one.losses) == (0, 1, 2)
    assert one.mean_payoff
    assert other.mean_payoff
    assert (one.mean_payoff.value, other.mean_payoff.value) == pytest.approx((248 / 3, 86))


def board(*, by_payoff: bool) -> Scoreboard:
    made = Scoreboard(("a", "b", "c"), by_payoff=by_payoff)
    made.add(meeting((0, 1), {(1.0, 0.0): 2}, (0, 0), payoffs=by_payoff))
    made.add(meeting((0, 2), {(1.0, 0.0): 1, (0.0, 9.0): 1}, (0, 0), payoffs=by_payoff))
    made.add(meeting((1, 2), {(5.0, 5.0): 1}, (0, 3), payoffs=by_payoff))
    made.add(meeting((1, 2), {(5.0, 5.0): 1}, (0, 2), payoffs=by_payoff))
    return made


def test_points_decide_the_rank() -> None:
    rows = board(by_payoff=False).rows()
    assert [(row.rank, row.name, row.points) for row in rows] == [(1, "a", 9), (2, "c", 5), (3, "b", 2)]
    assert [row.tally.games for row in rows] == [4, 4, 4]
    assert rows[1].tally.faults == rows[1].against["b"].faults == 5
    assert {name: tally.wins for name, tally in rows[0].against.items()} == {"b": 2, "c": 1}


def test_payoffs_decide_the_rank_where_they_count() -> None:
    rows = board(by_payoff=True).rows()
    assert [(row.rank, row.name) for row in rows] == [(1, "c"), (2, "b"), (3, "a")]
    assert rows[0].tally.payoffs == {0.0: 1, 9.0: 1, 5.0: 2}


def test_equals_share_a_rank() -> None:
    made = Scoreboard(("a", "b"), by_payoff=False)
    assert [(row.rank, row.name) for row in made.rows()] == [(1, "a"), (1, "b")]


def test_a_tally_of_one_game_is_json() -> None:
    told = Tally(wins=1, payoffs=Counter({2.0: 1})).as_dict()
    assert json.loads(json.dumps(told, allow_nan=False))["mean_payoff"] == {"value": 2.0, "low": None, "high": None}
