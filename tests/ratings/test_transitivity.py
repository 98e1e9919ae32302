"""The test of transitivity: circles are found and named, and order by strength raises no alarm."""

import json
from itertools import permutations

import numpy as np
import pytest

from agent_league.ratings.bradley_terry import ELO_PER_UNIT, fit_bradley_terry
from agent_league.ratings.results import ResultTable
from agent_league.ratings.tables import ResultRow
from agent_league.ratings.transitivity import _remove_noise, check_transitivity
from tests.ratings.simulated import name_players, simulate_drawers, simulate_results


def circle(matches: int, wins: int) -> ResultTable:
    links = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]
    return ResultTable.from_rows(
        [ResultRow(*link, score, count) for link in links for score, count in ((1.0, wins), (0.0, matches - wins))]
    )


def test_results_that_go_in_circles_are_named() -> None:
    found = check_transitivity(circle(20, 18))
    assert found.goes_in_circles
    assert found.p_value <= 0.01
    assert found.describe() == (
        "The results go in circles: paper beats rock (18 of 20), rock beats scissors (18 of 20),"
        " scissors beats paper (18 of 20). One number can't rank them; the ratings mislead."
    )
    assert json.loads(json.dumps(found.to_json()))["goes_in_circles"] is True


def test_a_circle_of_few_or_balanced_matches_is_no_proof() -> None:
    for results in (circle(1, 1), circle(20, 10), circle(20, 12)):
        assert not check_transitivity(results).goes_in_circles


def test_a_circle_among_draws_is_seen_since_draws_vary_less() -> None:
    links = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]
    rows = [ResultRow(*link, score, count) for link in links for score, count in ((1.0, 4), (0.5, 16))]
    found = check_transitivity(ResultTable.from_rows(rows))
    assert not found.is_described_by_ratings
    assert "did better than" in found.describe()
    assert found.cycle is not None
    assert found.cycle.p_value == pytest.approx(3 / 16)


def test_the_strongest_circle_is_found_among_players_that_have_an_order() -> None:
    rows = [
        ResultRow(*link, 1.0, 20)
        for link in [("A", "B"), ("B", "C"), ("C", "A"), ("A", "D"), ("B", "D"), ("C", "D"), ("D", "E")]
    ]
    rows += [ResultRow("E", "A", 1.0, 11), ResultRow("A", "E", 1.0, 9)]  # a weaker circle: A, D, E
    found = check_transitivity(ResultTable.from_rows(rows))
    assert found.cycle is not None
    assert {score.player_id for score in found.cycle.scores} == {"A", "B", "C"}
    assert found.goes_in_circles


def test_two_players_and_players_without_results_are_described() -> None:
    assert check_transitivity(ResultTable.from_rows([ResultRow("A", "B", 1.0, 9)])).is_described_by_ratings
    nothing = check_transitivity(ResultTable.from_rows([], ["A", "B", "C"]))
    assert (nothing.p_value, nothing.cycle, nothing.worst_pair) == (1.0, None, None)
    assert nothing.describe() == "One number a player describes these results (p = 1)."


def test_an_order_that_ratings_misjudge_is_reported_without_a_circle() -> None:
    """A beats B and B beats C closely, but C stands no chance against A: in order, and yet not by one number."""
    rows = [
        ResultRow(*pair, score, count)
        for pair, wins in ((("A", "B"), 52), (("B", "C"), 52), (("A", "C"), 99))
        for score, count in ((1.0, wins), (0.0, 100 - wins))
    ]
    found = check_transitivity(ResultTable.from_rows(rows))
    assert not found.is_described_by_ratings
    assert not found.goes_in_circles
    assert found.cycle is None
    assert "A scored 99 of 100 against C where the ratings expect" in found.describe()


@pytest.mark.parametrize(
    ("players", "matches", "spread", "seat", "draws"),
    [(5, 2, 0.0, 0.0, 0.0), (8, 1, 0.0, 0.0, 0.0), (4, 4, 200.0, 100.0, 0.0), (6, 1, 100.0, 0.0, 0.4)],
)
def test_players_with_an_order_raise_false_alarms_no_more_often_than_the_level(
    players: int, matches: int, spread: float, seat: float, draws: float
) -> None:
    chance = np.random.default_rng(11)
    alarms = 0
    for number in range(30):
        results = simulate_results(
            chance, chance.normal(0, spread, players), matches, seat_elo=seat, draws=draws, game="nim"
        )
        found = check_transitivity(results, seats_differ=["nim"] if seat else [], samples=39, seed=number)
        alarms += not found.is_described_by_ratings
        assert not (found.goes_in_circles and matches < 5)
    assert alarms <= 4


def test_players_who_draw_among_themselves_raise_no_more_false_alarms() -> None:
    chance = np.random.default_rng(2)
    found = [check_transitivity(simulate_drawers(chance, 6), samples=39) for _ in range(90)]
    assert sum(not one.is_described_by_ratings for one in found) <= 6


def test_results_without_a_loop_contradict_no_rating() -> None:
    """Winners of a bracket meet winners: eight players, and each pair met at most once."""
    names = name_players(8)
    rounds = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (4, 6), (0, 4)]
    for score in (0.0, 1.0):
        rows = [ResultRow(names[one], names[other], score, 40) for one, other in rounds]
        assert check_transitivity(ResultTable.from_rows(rows, names)).p_value == 1


def test_no_circle_is_seen_where_an_order_is_not_by_ratings() -> None:
    """Neighbours are even, others hopeless: ratings describe it badly, and cycles among neighbours come by chance."""
    chance = np.random.default_rng(4)
    alarms = 0
    for _ in range(20):
        one, other = np.triu_indices(6, 1)
        wins = chance.binomial(20, np.where(other - one <= 2, 0.5, 0.98))
        results = ResultTable.from_columns(
            name_players(6),
            np.concatenate([one, one]),
            np.concatenate([other, other]),
            np.repeat([1.0, 0.0], len(one)),
            count=np.concatenate([wins, 20 - wins]),
        )
        alarms += check_transitivity(results, samples=19).goes_in_circles
    assert alarms <= 2


def test_an_advantage_of_the_first_seat_is_no_circle() -> None:
    """Each wins two of its three matches at home, and plays more at home against one of the two others."""
    rows = [
        ResultRow(home, away, score, count)
        for home, away in (("A", "B"), ("B", "C"), ("C", "A"))
        for score, count in ((1.0, 40), (0.0, 10))
    ]
    rows += [ResultRow(away, home, score, 4 if score else 1) for home, away in ("AB", "BC", "CA") for score in (1.0, 0)]
    results = ResultTable.from_rows(rows)
    assert check_transitivity(results).goes_in_circles
    assert check_transitivity(results, seats_differ=[""]).is_described_by_ratings


def test_a_seat_that_matters_to_some_pairs_alone_is_no_circle() -> None:
    """Between A and B the first seat always wins, else never more often than the second: all are even."""
    rows = [ResultRow("A", "B", 1.0, 20), ResultRow("B", "A", 1.0, 20)]
    rows += [ResultRow(*pair, score, 10) for pair in permutations("ABC", 2) for score in (0.0, 1.0) if "C" in pair]
    found = check_transitivity(ResultTable.from_rows(rows), seats_differ=[""])
    assert found.deviance == pytest.approx(0, abs=1e-6)
    assert found.is_described_by_ratings


def test_simulated_players_are_as_far_apart_as_the_true_ones() -> None:
    chance = np.random.default_rng(3)
    for elo in (60.0, 300.0):
        fits = [fit_bradley_terry(simulate_results(chance, chance.normal(0, elo, 20), 2)) for _ in range(30)]
        spread = np.mean([np.square(_remove_noise(fit).values).mean() for fit in fits])
        assert ELO_PER_UNIT * spread**0.5 == pytest.approx(elo, rel=0.2)


def test_the_seed_decides() -> None:
    results = simulate_results(np.random.default_rng(1), [0.0, 50.0, 100.0, 150.0], 4)
    assert check_transitivity(results, seed=5) == check_transitivity(results, seed=5)
