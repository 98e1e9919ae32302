"""Ratings of simulated tournaments: seats, series, and when one number misleads."""

from collections import Counter
from random import Random

import pytest

from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard, tally_returns
from agent_league.lab.tournament import Tournament
from agent_league.lab.tournament_ratings import rate_results, rate_tournament
from agent_league.ratings.tables import RankMethod

NAMES = ("a", "b", "c")


def board_of(*meetings: PairTallies) -> Scoreboard:
    board = Scoreboard(NAMES, by_payoff=False)
    for meeting in meetings:
        board.add_tallies(meeting)
    return board


def won(wins: int, losses: int) -> tuple[GameTally, GameTally]:
    return GameTally(wins=wins, losses=losses), GameTally(wins=losses, losses=wins)


def test_results_are_told_by_seat() -> None:
    both = tally_returns(Counter({(1.0, -1.0): 5, (0.0, 0.0): 2, (-1.0, 1.0): 3}), (0, 0), payoffs=False)
    board = board_of(PairTallies((0, 1), 0, both, first_seat=GameTally(wins=4, draws=1)))
    rows = {(row.player_a, row.player_b, row.score): row.count for row in board.list_results("nim")}
    assert rows == {("a", "b", 1.0): 4, ("a", "b", 0.5): 1, ("b", "a", 1.0): 3, ("b", "a", 0.5): 1, ("b", "a", 0.0): 1}


def test_a_first_seat_that_always_wins_is_an_advantage_and_no_strength() -> None:
    board = Tournament("nim", ("minimax", "minimax"), rounds=60, seed="7").play()
    ratings = rate_tournament(board, "nim").table
    assert [rating.elo for rating in ratings.ratings] == [0, 0]
    (advantage,) = ratings.seat_advantages
    assert advantage.low > 300
    assert not rate_tournament(
        Tournament("even_odd", ("random",) * 2, 20, "7").play(), "even_odd"
    ).table.seat_advantages


def test_intervals_are_those_over_series_where_games_of_a_series_are_alike() -> None:
    """Each series is won by one player from beginning to end: 20 series are 20 results, not 1000."""
    chance = Random(4)
    series = [
        PairTallies(pair, number, won(50, 0) if chance.random() < 0.5 else won(0, 50))
        for number in range(20)
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    apart = [PairTallies(pair, number, won(25, 25)) for number in range(20) for pair in ((0, 1), (0, 2), (1, 2))]
    wide = rate_tournament(board_of(*series), "even_odd").table.ratings[0]
    narrow = rate_tournament(board_of(*apart), "even_odd").table.ratings[0]
    assert wide.high - wide.low > 120
    assert 10 < narrow.high - narrow.low < 30, "as wide as by independent games, though no series differs"


def test_only_a_misfit_that_matters_is_told() -> None:
    near = board_of(*(PairTallies(pair, 0, won(20_000, 20_000)) for pair in ((0, 1), (1, 2))))
    near.add_tallies(PairTallies((0, 2), 0, won(20_800, 19_200)))
    found = rate_tournament(near, "even_odd")
    assert found.transitivity
    assert not found.transitivity.is_described_by_ratings
    assert not found.is_misleading
    far = board_of(*(PairTallies(pair, 0, won(500, 500)) for pair in ((0, 1), (1, 2))))
    far.add_tallies(PairTallies((0, 2), 0, won(980, 20)))
    told = list(rate_tournament(far, "even_odd").describe())
    assert any(sentence.startswith("One number a player doesn't describe these results") for sentence in told)
    assert told[-1].startswith("`--rank nash`")
    rows = list(far.list_results("even_odd"))
    by_elo = rate_results(rows, far, (), RankMethod.ELO, is_of_experiment=True)
    assert list(by_elo.describe())[-1].startswith('`ranking = "nash"` and `ranking = "alpha-rank"` rank')
    by_nash = rate_results(rows, far, (), RankMethod.NASH, is_of_experiment=True)
    assert list(by_nash.describe())[-1].endswith("more seeds may change them.")


def test_a_circle_within_single_series_is_no_circle() -> None:
    """Each pair's only uneven series decides it: that doesn't hold from series to series."""
    meetings = [PairTallies(pair, number, won(5, 5)) for pair in ((0, 1), (1, 2), (2, 0)) for number in range(1, 10)]
    lucky = [PairTallies(pair, 0, won(40, 0)) for pair in ((0, 1), (1, 2), (2, 0))]
    found = rate_tournament(board_of(*meetings, *lucky), "even_odd")
    assert found.transitivity
    assert found.transitivity.goes_in_circles
    assert found.luck is None
    assert not found.is_misleading


@pytest.mark.parametrize("method", [RankMethod.NASH, RankMethod.ALPHA_RANK])
def test_shares_that_hang_on_luck_are_told_to_do_so(method: RankMethod) -> None:
    board = board_of(*(PairTallies(pair, 0, won(12, 10)) for pair in ((0, 1), (0, 2), (1, 2))))
    told = " ".join(rate_tournament(board, "even_odd", method).describe())
    assert told.startswith("In 3 of 3 pairs nobody is significantly ahead")
