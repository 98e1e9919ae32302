"""The standings: points, order and ranks."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.league.standings import StandingsTable
from agent_league.model.results import MatchResult, Outcome, Scoring

SEED_SCORING = Scoring()
TIEBREAKERS = ("wins", "head_to_head", "draws")
COUNTS = ("played", "wins", "draws", "losses", "points")


def result(a: str, b: str, winner: str | None = None, outcome: Outcome | None = None) -> MatchResult:
    """A match of two; without a winner a draw, unless the outcome says otherwise."""
    outcome = outcome or (Outcome.WIN if winner else Outcome.DRAW)
    return MatchResult(f"{a}-{b}", 1, (a, b), outcome, winner)


def table(
    players: str,
    *results: MatchResult,
    scoring: Scoring = SEED_SCORING,
    by: tuple[str, ...] = TIEBREAKERS,
    lot: str = "",
) -> StandingsTable:
    names = {player: f"Agent {player}" for player in players.split()}
    made = StandingsTable(names, scoring, by, lot=lot)
    for one in results:
        made.add_result(one)
    return made


def order(made: StandingsTable) -> list[str]:
    """Best first; those who share a rank by id."""
    return [player_id for _, player_id in shared(made)]


def lot_order(made: StandingsTable) -> list[str]:
    return [row.player_id for row in made.ranked_rows()]


def counts(made: StandingsTable, player_id: str) -> tuple[int, ...]:
    row = next(row for row in made.ranked_rows() if row.player_id == player_id)
    return tuple(getattr(row, name) for name in COUNTS)


def test_a_win_is_three_points_and_a_loss_none() -> None:
    made = table("P01 P02", result("P01", "P02", "P02"))
    assert counts(made, "P02") == (1, 1, 0, 0, 3)
    assert counts(made, "P01") == (1, 0, 0, 1, 0)


def test_a_draw_is_one_point_each() -> None:
    made = table("P01 P02", result("P01", "P02"))
    assert counts(made, "P01") == counts(made, "P02") == (1, 0, 1, 0, 1)


def test_a_technical_loss_is_no_points_and_the_other_wins() -> None:
    made = table("P01 P02", result("P01", "P02", "P01", Outcome.TECHNICAL_LOSS))
    assert counts(made, "P01") == (1, 1, 0, 0, 3)
    assert counts(made, "P02") == (1, 0, 0, 1, 0)
    assert made.get_tally("P02").technical_losses == 1
    assert made.get_tally("P01").technical_losses == 0


def test_the_same_encounter_of_several_players_is_kept_once() -> None:
    made = table("A B C", result("A", "B", "A"), result("C", "B", "C"))
    assert made.get_tally("A").opponents == [("B", 1.0)]
    assert made.get_tally("A").opponents[0] is made.get_tally("C").opponents[0]


def test_where_both_fail_both_lose_without_points() -> None:
    made = table("P01 P02", result("P01", "P02", None, Outcome.TECHNICAL_LOSS))
    assert counts(made, "P01") == counts(made, "P02") == (1, 0, 0, 1, 0)


def test_points_are_those_of_the_league_file() -> None:
    scoring = Scoring(win_points=10, draw_points=4, loss_points=2, technical_loss_points=-1)
    made = table(
        "P01 P02 P03",
        result("P01", "P02", "P01"),
        result("P02", "P03"),
        result("P01", "P03", "P01", Outcome.TECHNICAL_LOSS),
        scoring=scoring,
    )
    assert {row.player_id: row.points for row in made.ranked_rows()} == {"P01": 20, "P02": 6, "P03": 3}


def test_points_come_before_every_tiebreaker() -> None:
    made = table(
        "P01 P02 P03",
        result("P01", "P02", "P01"),
        result("P02", "P03"),
        scoring=Scoring(win_points=1, draw_points=2),
    )
    assert order(made) == ["P02", "P03", "P01"]


LEVEL = [result("P01", "P09", "P01"), *(result("P02", other) for other in ("P05", "P06", "P07"))]
"""P01 has its three points by one win, P02 by three draws."""


@pytest.mark.parametrize(
    ("tiebreakers", "first_two"),
    [
        (("wins",), ["P01", "P02"]),
        (("draws",), ["P02", "P01"]),
        (("losses", "draws"), ["P02", "P01"]),
        ((), ["P01", "P02"]),
    ],
)
def test_players_level_on_points_are_told_apart_by_the_first_tiebreaker(
    tiebreakers: tuple[str, ...], first_two: list[str]
) -> None:
    made = table("P01 P02 P05 P06 P07 P09", *LEVEL, by=tiebreakers)
    assert order(made)[:2] == first_two


def test_tiebreakers_are_used_in_the_order_of_the_league_file() -> None:
    """P01 and P02 are level on points and met directly, where P02 won; P01 has more wins."""
    results = [
        result("P01", "P02", "P02"),
        result("P01", "P03", "P01"),
        result("P01", "P04", "P01"),
        *(result("P02", other) for other in ("P05", "P06", "P07")),
    ]
    everybody = "P01 P02 P03 P04 P05 P06 P07"
    assert order(table(everybody, *results, by=("wins", "head_to_head")))[:2] == ["P01", "P02"]
    assert order(table(everybody, *results, by=("head_to_head", "wins")))[:2] == ["P02", "P01"]


def test_a_row_tells_its_points_against_those_with_as_many_and_nothing_if_there_are_none() -> None:
    results = [result("P01", "P02", "P01"), result("P03", "P02", "P03"), result("P01", "P03", "P03")]
    rows = table("P01 P02 P03 P04", *results, result("P01", "P04", "P01"), by=("head_to_head",)).ranked_rows()
    told = {row.player_id: (row.points, row.tiebreaks["head_to_head"]) for row in rows}
    assert told == {"P01": (6, 0), "P03": (6, 3), "P02": (0, 0), "P04": (0, 0)}
    rows = table("P01 P02", results[0], by=("head_to_head",)).ranked_rows()
    assert [row.tiebreaks["head_to_head"] for row in rows] == [None, None]


def test_head_to_head_counts_only_the_matches_among_those_who_are_level() -> None:
    """P01, P02 and P04 are level; the win of P01 over P03, who is below, does not count."""
    results = [result("P01", "P02", "P02"), result("P01", "P03", "P01"), result("P02", "P04", "P04")]
    made = table("P01 P02 P03 P04", *results, by=("head_to_head",))
    assert order(made) == ["P02", "P04", "P01", "P03"]


def test_a_circle_of_wins_is_left_to_the_next_tiebreaker() -> None:
    circle = [result("P01", "P02", "P01"), result("P02", "P03", "P02"), result("P03", "P01", "P03")]
    assert order(table("P01 P02 P03", *circle)) == ["P01", "P02", "P03"]


def test_fewer_technical_losses_are_better() -> None:
    results = [result("P01", "P03", "P03", Outcome.TECHNICAL_LOSS), result("P02", "P04", "P04")]
    made = table("P01 P02 P03 P04", *results, by=("technical_losses",))
    assert order(made) == ["P03", "P04", "P02", "P01"]


def test_ranks_count_through_also_where_all_is_level() -> None:
    made = table("P01 P02 P03 P04")
    assert [row.rank for row in made.ranked_rows()] == [1, 2, 3, 4]


def shared(made: StandingsTable) -> list[tuple[int, str]]:
    return sorted((row.shared_rank, row.player_id) for row in made.ranked_rows())


def test_those_who_are_level_may_share_a_rank() -> None:
    """The standings in seed 001's ROUND_COMPLETE."""
    made = table("P01 P02 P03 P04", result("P01", "P02", "P01"), result("P03", "P04", "P03"))
    assert shared(made) == [(1, "P01"), (1, "P03"), (3, "P02"), (3, "P04")]


def test_nobody_shares_a_rank_who_is_told_apart_by_a_tiebreaker() -> None:
    made = table("P01 P02 P05 P06 P07 P09", *LEVEL, by=("wins",))
    assert shared(made) == [(1, "P01"), (2, "P02"), (3, "P05"), (3, "P06"), (3, "P07"), (6, "P09")]
    assert shared(table("P01 P02 P05 P06 P07 P09", *LEVEL, by=()))[:2] == [(1, "P01"), (1, "P02")]


def test_before_the_first_match_everybody_is_first() -> None:
    assert shared(table("P01 P02 P03")) == [(1, "P01"), (1, "P02"), (1, "P03")]
    assert table("").ranked_rows() == ()


def test_a_lot_has_the_last_word_and_not_the_order_of_registration() -> None:
    players = "P01 P02 P03 P04 P05 P06"
    orders = {tuple(lot_order(table(players, lot=str(lot)))) for lot in range(50)}
    assert len({first for first, *_ in orders}) == 6
    assert lot_order(table(players, lot="7")) == lot_order(table("P06 P03 P01 P05 P04 P02", lot="7"))


@st.composite
def seasons(draw: st.DrawFn) -> list[MatchResult]:
    """Results of some matches of a round robin, in any order."""
    players = [f"P{number:02}" for number in range(1, draw(st.integers(2, 8)) + 1)]
    results = []
    for a, b in combinations(players, 2):
        kind = draw(st.sampled_from(["a", "b", "draw", "technical", "both", "open"]))
        if kind == "open":
            continue
        technical = Outcome.TECHNICAL_LOSS if kind in ("technical", "both") else None
        winner = {"a": a, "b": b, "technical": draw(st.sampled_from([a, b]))}.get(kind)
        results.append(result(a, b, winner, technical))
    return draw(st.permutations(results))


EIGHT = " ".join(f"P{number:02}" for number in range(1, 9))
ANY_TIEBREAKERS = st.permutations(
    [
        *("wins", "head_to_head", "draws", "losses", "technical_losses"),
        *("buchholz", "buchholz_cut_1", "sonneborn_berger", "progressive"),
    ]
).map(lambda names: tuple(names[:5]))


@given(seasons(), st.randoms(use_true_random=False), ANY_TIEBREAKERS)
def test_the_order_in_which_results_arrive_doesnt_matter(
    results: list[MatchResult], rng: Random, tiebreakers: tuple[str, ...]
) -> None:
    shuffled = list(results)
    rng.shuffle(shuffled)
    assert table(EIGHT, *results, by=tiebreakers).ranked_rows() == table(EIGHT, *shuffled, by=tiebreakers).ranked_rows()


@given(seasons(), st.integers(1, 12))
def test_head_to_head_is_the_sum_over_all_matches_among_those_who_are_level(
    season: list[MatchResult], played: int
) -> None:
    results = season[:played]
    rows = table(EIGHT, *results, by=()).ranked_rows()
    level = {row.player_id: [other.player_id for other in rows if other.points == row.points] for row in rows}

    def head_to_head(player_id: str) -> int:
        rivals = level[player_id]
        among = (one for one in results if player_id in one.players and set(one.players) <= set(rivals))
        return sum(SEED_SCORING.points_for(one, player_id) for one in among)

    ranked = table(EIGHT, *results, by=("head_to_head",)).ranked_rows()
    keys = [(-row.points, -head_to_head(row.player_id)) for row in ranked]
    assert keys == sorted(keys)
    assert [row.shared_rank for row in ranked] == [keys.index(key) + 1 for key in keys]


@given(seasons())
def test_the_running_table_equals_the_recomputed_one(results: list[MatchResult]) -> None:
    running = table(EIGHT)
    for number, one in enumerate(results, start=1):
        running.add_result(one)
        assert running.ranked_rows() == table(EIGHT, *results[:number]).ranked_rows()


@given(seasons(), ANY_TIEBREAKERS)
def test_a_shared_rank_counts_those_who_are_better_and_changes_nothing_else(
    results: list[MatchResult], tiebreakers: tuple[str, ...]
) -> None:
    made = table(EIGHT, *results, by=tiebreakers)
    rows = made.ranked_rows()
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        assert row.shared_rank in (row.rank, rows[row.rank - 2].shared_rank)
        assert row.points == rows[row.shared_rank - 1].points


@given(seasons())
def test_the_sums_of_a_table_hold(results: list[MatchResult]) -> None:
    rows = table(EIGHT, *results).ranked_rows()
    assert [row.rank for row in rows] == list(range(1, 9))
    assert all(row.played == row.wins + row.draws + row.losses for row in rows)
    assert all(row.points == 3 * row.wins + row.draws for row in rows)
    assert sum(row.played for row in rows) == 2 * len(results)
    assert [row.points for row in rows] == sorted((row.points for row in rows), reverse=True)


def test_the_tiebreakers_of_swiss_tournaments_by_hand() -> None:
    """P01 beats P02 and draws with P03; P02 beats P03; P04 has a bye and loses to P01."""
    by = ("buchholz", "buchholz_cut_1", "sonneborn_berger", "progressive")
    results = [
        replace(result("P01", "P02", "P01"), round_id=1),
        replace(result("P01", "P03"), round_id=2),
        replace(result("P02", "P03", "P02"), round_id=3),
        replace(result("P01", "P04", "P01"), round_id=3),
    ]
    made = table("P01 P02 P03 P04", *results, by=by)
    made.add_bye("P04", 1)
    rows = {row.player_id: row for row in made.ranked_rows()}
    assert [rows[one].points for one in ("P01", "P02", "P03", "P04")] == [7, 3, 1, 3]
    assert rows["P01"].tiebreaks == {
        "buchholz": 3 + 1 + 3,
        "buchholz_cut_1": 3 + 3,
        "sonneborn_berger": 3 + 0.5 * 1 + 3,
        "progressive": 3 + 4 + 7,
    }
    assert rows["P04"].tiebreaks["buchholz"] == 7 + 3, "a bye counts as an opponent with its own points"
    assert rows["P04"].tiebreaks["progressive"] == 3 + 3 + 3
    assert [row.player_id for row in made.ranked_rows()] == ["P01", "P04", "P02", "P03"]


def test_a_format_ranks_before_points_do() -> None:
    made = StandingsTable(
        {"P01": "A", "P02": "B", "P03": "C"}, SEED_SCORING, rank_by_format=lambda: [["P03"], ["P01", "P02"]]
    )
    made.add_result(result("P01", "P02", "P01"))
    assert shared(made)[0] == (1, "P03")
    assert [row.shared_rank for row in made.ranked_rows()] == [1, 2, 2]
