"""Ratings, against other people's fits, simulated truth, and what can be worked out by hand."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from math import inf, log, sqrt
from statistics import NormalDist

import choix
import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.ratings.bradley_terry import (
    ELO_PER_UNIT,
    bootstrap_ratings,
    compare_technical_losses,
    fit_bradley_terry,
    fit_ratings,
)
from agent_league.ratings.results import ResultTable, find_connected_groups, pool_results
from agent_league.ratings.tables import RatingTable, ResultRow
from tests.ratings.simulated import name_players, simulate_drawers, simulate_results


def elo_by_player(table: RatingTable) -> dict[str, float]:
    return {rating.player_id: rating.elo for rating in table.ratings}


def row(player_a: str, player_b: str, score: float, count: int = 1, **more: object) -> ResultRow:
    return ResultRow(player_a, player_b, score, count, **more)  # type: ignore[arg-type]


def test_two_players_differ_by_the_log_odds_of_their_results() -> None:
    table = fit_ratings(ResultTable.from_rows([row("A", "B", 1.0, 30), row("A", "B", 0.0, 10)]), prior_elo=inf)
    best, other = table.ratings
    assert best.elo - other.elo == pytest.approx(400 * log(3) / log(10))
    # The error of log(30/10) is sqrt(1/30 + 1/10); each of two players is half the difference from their mean.
    assert best.high - best.elo == pytest.approx(1.959964 * sqrt(1 / 30 + 1 / 10) * ELO_PER_UNIT / 2, rel=1e-6)
    assert best.likelihood_above_next == pytest.approx(NormalDist().cdf(log(3) / sqrt(1 / 30 + 1 / 10)))
    assert (best.games, other.likelihood_above_next, other.games_to_separate) == (40, None, None)


@pytest.mark.parametrize("draws", [0.0, 0.4])
def test_ratings_are_those_of_evalica_and_choix_where_the_models_coincide(draws: float) -> None:
    results = simulate_results(np.random.default_rng(5), np.linspace(-200, 200, 9), 12, draws=draws)
    own = elo_by_player(fit_ratings(results, prior_elo=inf))
    who = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    scores = evalica.bradley_terry(
        [results.players[one] for one in results.player_a],
        [results.players[one] for one in results.player_b],
        [who[score] for score in results.score],
        tolerance=1e-14,
        limit=100_000,
    ).scores
    logs = {str(player): log(score) for player, score in scores.items()}
    middle = sum(logs.values()) / len(logs)
    assert own == pytest.approx({player: (value - middle) * ELO_PER_UNIT for player, value in logs.items()}, abs=1e-6)

    wins = np.zeros((9, 9))
    np.add.at(wins, (results.player_a, results.player_b), results.score)
    np.add.at(wins, (results.player_b, results.player_a), 1 - results.score)
    theirs = choix.ilsr_pairwise_dense(wins, max_iter=10_000, tol=1e-13)
    theirs = (theirs - theirs.mean()) * ELO_PER_UNIT
    assert own == pytest.approx(dict(zip(results.players, theirs, strict=True)), abs=1e-6)


def test_with_the_prior_ratings_are_those_of_choix_with_the_same_one() -> None:
    results = simulate_results(np.random.default_rng(2), [-300.0, 0.0, 50.0, 600.0], 2)
    winners = [(a, b) if score else (b, a) for a, b, score in zip(*columns(results), strict=True)]
    precision = (ELO_PER_UNIT / 250) ** 2
    theirs = choix.opt_pairwise(4, winners, alpha=precision / 2, tol=1e-12) * ELO_PER_UNIT  # its penalty isn't halved
    own = fit_ratings(results, prior_elo=250)
    assert elo_by_player(own) == pytest.approx(dict(zip(results.players, theirs, strict=True)), abs=1e-4)


def columns(results: ResultTable) -> tuple[list[int], list[int], list[float]]:
    return results.player_a.tolist(), results.player_b.tolist(), results.score.tolist()


@pytest.mark.parametrize(
    ("players", "matches", "spread", "seat", "draws", "leagues"),
    [(8, 10, 200, 0, 0.0, 250), (8, 10, 200, 60, 0.4, 250), (8, 2, 200, 60, 0.0, 300), (12, 2, 400, 0, 0.5, 200)],
)
def test_intervals_of_95_percent_hold_the_true_rating_in_93_to_97_percent(
    players: int, matches: int, spread: float, seat: float, draws: float, leagues: int
) -> None:
    chance = np.random.default_rng(17)
    held = held_seats = 0
    for _ in range(leagues):
        truth = chance.normal(0, spread, players)
        truth -= truth.mean()
        results = simulate_results(chance, truth, matches, seat_elo=seat, draws=draws)
        table = fit_ratings(results, seats_differ=[""] if seat else [])
        by_player = table.by_player()
        held += sum(
            by_player[name].low <= elo <= by_player[name].high for name, elo in zip(results.players, truth, strict=True)
        )
        held_seats += sum(one.low <= seat <= one.high for one in table.seat_advantages)
    assert 0.93 <= held / (leagues * players) <= 0.97
    if seat:
        assert 0.92 <= held_seats / leagues <= 0.98


def test_intervals_hold_for_those_who_never_draw_among_players_who_do() -> None:
    """Six of eight equal players draw 19 of 20 matches among themselves."""
    chance = np.random.default_rng(5)
    held = np.zeros(8)
    for _ in range(200):
        table = fit_ratings(simulate_drawers(chance, 10))
        held += [table.by_player()[name].low <= 0 <= table.by_player()[name].high for name in name_players(8)]
    assert 0.93 <= held[:6].sum() / 1200 <= 0.98
    assert held[6:].sum() / 400 >= 0.925


def test_an_interval_is_that_of_the_contrast_to_the_mean() -> None:
    """Its variance, worked out from the definition with one player's rating held at 0."""
    results = simulate_results(np.random.default_rng(3), [-100.0, 0.0, 40.0, 200.0, 10.0], 8)
    fit = fit_bradley_terry(results, prior_elo=inf)
    cells = fit.cells
    information = np.zeros((5, 5))
    for a, b, weight in zip(
        cells.player_a, cells.player_b, cells.played * fit.chances * (1 - fit.chances), strict=True
    ):
        information[[a, b], [a, b]] += weight
        information[[a, b], [b, a]] -= weight
    held = np.zeros((5, 5))
    held[1:, 1:] = np.linalg.inv(information[1:, 1:])
    contrast = np.eye(5) - 1 / 5
    assert np.allclose(fit.estimate_covariance(), contrast @ held @ contrast)


def test_undefeated_and_winless_players_stay_finite_with_the_prior_only() -> None:
    rows = [row("best", "middle", 1.0, 20), row("middle", "worst", 1.0, 20), row("best", "worst", 1.0, 20)]
    results = ResultTable.from_rows(rows, ["best", "middle", "worst", "absent"])
    table = fit_ratings(results)
    assert [rating.player_id for rating in table.ratings if rating.games] == ["best", "middle", "worst"]
    assert 500 < table.ratings[0].elo < 2000
    absent = table.by_player()["absent"]
    assert (absent.games, absent.games_to_separate) == (0, None)
    assert absent.elo == pytest.approx(0, abs=1e-6)
    assert absent.high > 900
    assert not table.is_connected
    assert fit_ratings(ResultTable.from_rows(rows)).is_connected
    with pytest.raises(ValueError, match="need a prior"):
        fit_ratings(results, prior_elo=inf)


def test_a_seat_advantage_is_told_from_strength() -> None:
    """Whoever sits first wins three of four, and one player sits first more often."""
    rows = [row("A", "B", 1.0, 90), row("A", "B", 0.0, 30), row("B", "A", 1.0, 30), row("B", "A", 0.0, 10)]
    table = fit_ratings(ResultTable.from_rows(rows), seats_differ=[""], prior_elo=inf)
    assert [rating.elo for rating in table.ratings] == pytest.approx([0, 0], abs=1e-6)
    assert table.seat_advantages[0].elo == pytest.approx(400 * log(3) / log(10))
    assert fit_ratings(ResultTable.from_rows(rows)).ratings[0].elo > 20


def test_draws_narrow_the_intervals() -> None:
    decided = fit_ratings(ResultTable.from_rows([row("A", "B", 1.0, 50), row("A", "B", 0.0, 50)]))
    drawn = fit_ratings(ResultTable.from_rows([row("A", "B", 1.0, 5), row("A", "B", 0.0, 5), row("A", "B", 0.5, 90)]))
    assert drawn.ratings[0].high < decided.ratings[0].high / 2.5
    nothing_else = fit_ratings(ResultTable.from_rows([row("A", "B", 0.5, 10)])).ratings[0]
    assert nothing_else.high > 20


def test_the_tied_group_of_the_first_holds_whom_it_is_not_significantly_better_than() -> None:
    rows = [
        *(row("A", "B", score, 20) for score in (0.0, 1.0)),
        *(row(player, "C", 1.0, 60) for player in "AB"),
        *(row(player, "C", 0.0, 20) for player in "AB"),
        *(row("C", "D", score, 20) for score in (0.0, 1.0)),
    ]
    table = fit_ratings(ResultTable.from_rows(rows), prior_elo=inf)
    assert [(rating.player_id, rating.tied_group) for rating in table.ratings] == [
        ("A", 1),
        ("B", 1),
        ("C", 2),
        ("D", 2),
    ]
    first, second, third, _ = table.ratings
    assert first.elo == second.elo
    assert first.likelihood_above_next == 0.5
    assert first.games_to_separate is None
    assert (second.games_to_separate, third.games_to_separate) == (0, None)


def test_a_group_ends_where_its_first_is_significantly_better_though_neighbours_are_not() -> None:
    """Each of four players scores 60% against the next."""
    rows = [
        ResultRow(one, other, score, count)
        for one, other in ("AB", "BC", "CD")
        for score, count in ((1.0, 60), (0.0, 40))
    ]
    table = fit_ratings(ResultTable.from_rows(rows), prior_elo=inf)
    assert [rating.tied_group for rating in table.ratings] == [1, 2, 3, 4]
    fewer = ResultTable.from_rows([replace(row, count=row.count // 2) for row in rows])
    table = fit_ratings(fewer, prior_elo=inf)
    assert [rating.tied_group for rating in table.ratings] == [1, 1, 2, 2]
    assert [rating.games_to_separate == 0 for rating in table.ratings[:3]] == [False] * 3


def test_a_league_without_players_or_with_one_has_a_table() -> None:
    assert fit_ratings(ResultTable.from_rows([])).ratings == ()
    (alone,) = fit_ratings(ResultTable.from_rows([], ["A"])).ratings
    assert (alone.elo, alone.games, alone.tied_group, alone.likelihood_above_next) == (0, 0, 1, None)


def test_what_counts_of_a_match_is_rated() -> None:
    def rate(outcome: Outcome, winner: str | None, *ends: Termination) -> ResultRow | None:
        terminations = dict(zip("AB", ends, strict=False))
        result = MatchResult("R1M1", 1, ("A", "B"), outcome, winner, terminations=terminations)
        return ResultRow.from_result(result, game="nim", series=3)

    assert rate(Outcome.WIN, "A") == ResultRow("A", "B", 1.0, game="nim", series=3)
    assert rate(Outcome.WIN, "B") == ResultRow("A", "B", 0.0, game="nim", series=3)
    assert rate(Outcome.DRAW, None) == ResultRow("A", "B", 0.5, game="nim", series=3)
    technical = rate(Outcome.TECHNICAL_LOSS, "B", Termination.MOVE_TIMEOUT)
    assert technical == ResultRow("A", "B", 0.0, game="nim", series=3, is_technical=True)
    assert rate(Outcome.TECHNICAL_LOSS, None, Termination.MOVE_TIMEOUT, Termination.MOVE_TIMEOUT) is None
    assert rate(Outcome.DRAW, None, Termination.VOID, Termination.VOID) is None


def test_the_games_that_separate_two_players_do_so() -> None:
    def results(times: float) -> ResultTable:
        return ResultTable.from_columns(["A", "B"], [0, 0], [1, 1], [1.0, 0.0], count=[55 * times, 45 * times])

    more = fit_ratings(results(1), prior_elo=inf).ratings[0].games_to_separate
    assert more is not None
    assert [fit_ratings(results(1 + n / 100), prior_elo=inf).ratings[0].tied_group for n in (more, more - 2)] == [1, 1]
    assert fit_ratings(results(1 + (more + 1) / 100), prior_elo=inf).ratings[1].tied_group == 2
    assert fit_ratings(results(1 + (more - 2) / 100), prior_elo=inf).ratings[1].tied_group == 1


def test_technical_losses_are_rated_with_and_left_out_without() -> None:
    rows = [row("A", "B", 0.5, 10), row("A", "B", 1.0, 10, is_technical=True)]
    both = compare_technical_losses(ResultTable.from_rows(rows))
    assert both.all_results.ratings[0].elo > 50
    assert both.without_technical_losses is not None
    assert [rating.elo for rating in both.without_technical_losses.ratings] == pytest.approx([0, 0], abs=1e-6)
    assert [rating.games for rating in both.without_technical_losses.ratings] == [10, 10]
    assert compare_technical_losses(ResultTable.from_rows(rows[:1])).without_technical_losses is None


def test_each_game_weighs_the_same_however_many_matches_it_has() -> None:
    rare = [row("A", "B", 1.0, 9, game="rare"), row("A", "B", 0.0, 1, game="rare")]
    often = [row("A", "B", 0.0, 900, game="often"), row("A", "B", 1.0, 100, game="often")]
    table = fit_ratings(pool_results([ResultTable.from_rows(rare), ResultTable.from_rows(often)]))
    assert [rating.elo for rating in table.ratings] == pytest.approx([0, 0], abs=1e-6)
    # Half of the rating comes from 10 matches: the error is about half that of 10 matches, not that of 1,010.
    alone = fit_ratings(ResultTable.from_rows([row("A", "B", 1.0, 5), row("A", "B", 0.0, 5)]))
    assert 0.45 * alone.ratings[0].high < table.ratings[0].high < 0.6 * alone.ratings[0].high


def test_leagues_are_pooled_by_the_names_of_players_and_games() -> None:
    one = ResultTable.from_rows([row("B", "C", 1.0, 3, game="nim", series=4), row("B", "C", 0.0, 1, game="nim")])
    other = ResultTable.from_rows([row("A", "C", 0.5, 2, game="chess"), row("A", "B", 1.0, 1, game="nim", series=4)])
    pooled = pool_results([one, other])
    named = [
        (pooled.players[a], pooled.players[b], score, pooled.games[game])
        for a, b, score, game in zip(*columns(pooled), pooled.game, strict=True)
    ]
    assert named == [("B", "C", 1.0, "nim"), ("B", "C", 0.0, "nim"), ("A", "C", 0.5, "chess"), ("A", "B", 1.0, "nim")]
    assert len(set(pooled.series.tolist())) == 4
    assert dict(zip(pooled.players, pooled.count_games().tolist(), strict=True)) == {"A": 3, "B": 5, "C": 6}


def test_a_bootstrap_over_series_of_equal_results_is_wide_and_repeats_by_its_seed() -> None:
    """Ten series of ten matches, each won by one player throughout: what is known is ten results, not a hundred."""
    rows = [row("A", "B", float(number < 6), 10, series=number) for number in range(10)]
    results = ResultTable.from_rows(rows)
    table = bootstrap_ratings(results, seed=3)
    assert table == bootstrap_ratings(results, seed=3)
    assert table != bootstrap_ratings(results, seed=4)
    plain = fit_ratings(results)
    assert elo_by_player(table) == pytest.approx(elo_by_player(plain))
    wide, narrow = (one.ratings[0].high - one.ratings[0].elo for one in (table, plain))
    assert 2.3 * narrow < wide < 5 * narrow
    with pytest.raises(ValueError, match="two series"):
        bootstrap_ratings(ResultTable.from_rows(rows[:1]))


def test_a_bootstrap_covers_the_truth_where_series_are_dependent() -> None:
    chance = np.random.default_rng(8)
    held = plain_held = 0
    for _ in range(40):
        truth = chance.normal(0, 100, 4)
        truth -= truth.mean()
        outcomes = simulate_results(chance, truth, 12)
        results = ResultTable.from_columns(
            outcomes.players,
            outcomes.player_a,
            outcomes.player_b,
            outcomes.score,
            count=8,
            series=np.arange(len(outcomes.score)),
        )
        together = bootstrap_ratings(results, samples=40).by_player()["P01"]
        apart = fit_ratings(results).by_player()["P01"]
        held += together.low <= truth[0] <= together.high
        plain_held += apart.low <= truth[0] <= apart.high
    assert held >= 36
    assert plain_held < 30


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_table_is_in_order_whole_and_the_same_in_any_order_of_rows(data: st.DataObject) -> None:
    players = name_players(data.draw(st.integers(2, 7)))
    pair = st.tuples(st.sampled_from(players), st.sampled_from(players)).filter(lambda two: two[0] != two[1])
    rows = [
        row(*two, score, count, game=game)
        for two, score, count, game in data.draw(
            st.lists(
                st.tuples(pair, st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 9), st.sampled_from(["x", "y"])),
                max_size=20,
            )
        )
    ]
    seats = data.draw(st.sampled_from([(), ("x",), ("x", "y")]))
    table = fit_ratings(ResultTable.from_rows(rows, players), seats_differ=seats)
    assert sorted(rating.player_id for rating in table.ratings) == players
    by_player, ordered = table.by_player(), []
    for linked in find_connected_groups(ResultTable.from_rows(rows, players)):
        ordered += sorted(linked, key=lambda player: (-by_player[player].elo, player))
        assert sum(by_player[player].elo for player in linked) == pytest.approx(0, abs=1e-6)
    assert [rating.player_id for rating in table.ratings] == ordered
    elo = elo_by_player(table).values()
    assert sum(elo) == pytest.approx(0, abs=1e-6)
    assert table.games == sum(one.count for one in rows)
    groups = [rating.tied_group for rating in table.ratings]
    assert groups[0] == 1
    assert all(later - earlier in {0, 1} for earlier, later in pairwise(groups))
    for rating in table.ratings:
        assert rating.low <= rating.elo <= rating.high
    json.dumps(table.to_json(), allow_nan=False)
    shuffled = data.draw(st.permutations(rows))
    again = fit_ratings(ResultTable.from_rows(shuffled, players[::-1]), seats_differ=seats)
    assert elo_by_player(again) == pytest.approx(elo_by_player(table), abs=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"player_b": [0]}, "against itself"),
        ({"player_b": [2]}, "beyond the 2 names"),
        ({"game": 1}, "beyond the 1 names"),
        ({"score": [1.5]}, "from 0 to 1"),
        ({"score": [float("nan")]}, "from 0 to 1"),
        ({"count": -1}, "at least 0"),
        ({"score": [1.0, 0.0]}, "differ in length"),
    ],
)
def test_results_that_make_no_sense_are_refused(change: dict[str, list[float]], said: str) -> None:
    columns = {"player_a": [0], "player_b": [1], "score": [1.0], **change}
    with pytest.raises(ValueError, match=said):
        ResultTable.from_columns(["A", "B"], **columns)  # type: ignore[arg-type]


def test_what_pages_need_of_ratings_loads_no_numpy() -> None:
    names = ("tables", "statistics", "sequential_test", "rank_error")
    modules = ", ".join(f"agent_league.ratings.{name}" for name in names)
    code = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
