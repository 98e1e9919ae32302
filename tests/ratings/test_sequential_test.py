"""The sequential test: its ratio against other people's, its error rates by simulation, its sentences."""

import json
from math import inf, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.ratings.sequential_test import (
    PairCounts,
    SequentialState,
    SequentialTest,
    Verdict,
    compute_log_likelihood_ratio,
    estimate_elo,
    expected_score,
)

COUNTS = st.tuples(*[st.integers(0, 60)] * 5).map(PairCounts)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "ratio"),
    [
        ((223, 9863, 21279, 10037, 246), 0.5, 2.5, -3.07),
        ((871, 26175, 55983, 26678, 821), 0.0, 2.0, -4.98),
    ],
)
def test_the_ratio_is_that_of_fastchess(
    counts: tuple[int, int, int, int, int], elo0: float, elo1: float, ratio: float
) -> None:
    """The examples of its own tests, in logistic Elo."""
    assert compute_log_likelihood_ratio(PairCounts(counts), elo0, elo1) == pytest.approx(ratio, abs=0.006)


def test_the_ratio_of_pairs_won_and_lost_is_that_of_coins() -> None:
    """With the two extreme scores alone, a pair is a coin, and the likelihood with a given mean is known."""
    counts, mean = PairCounts((30, 0, 0, 0, 50)), expected_score(100)
    expected = 50 * log(mean / 0.5) + 30 * log((1 - mean) / 0.5)
    assert compute_log_likelihood_ratio(counts, 0, 100) == pytest.approx(expected, abs=0.02)


@given(COUNTS, st.floats(-200, 200), st.floats(1, 200))
def test_seen_from_the_other_side_the_ratio_is_the_opposite(counts: PairCounts, elo0: float, width: float) -> None:
    one, two, three, four, five = counts.counts
    ratio = compute_log_likelihood_ratio(counts, elo0, elo0 + width)
    other = compute_log_likelihood_ratio(PairCounts((five, four, three, two, one)), -elo0 - width, -elo0)
    assert ratio == pytest.approx(-other, rel=1e-6, abs=1e-6)


def play_test(test: SequentialTest, elo: float, seat: float, draws: float, chance: Random) -> SequentialState:
    """Play pairs until the verdict; `seat` is what the first seat adds to the score of a game."""
    counts = PairCounts()
    while True:
        points = []
        for advantage in (seat, -seat):
            wins = expected_score(elo) + advantage
            drawn = draws * 2 * min(wins, 1 - wins)
            luck = chance.random()
            points.append(1.0 if luck < wins - drawn / 2 else 0.5 if luck < wins + drawn / 2 else 0.0)
        counts = counts.add_pair(points[0], points[1])
        state = test.evaluate(counts)
        if state.verdict is not Verdict.UNDECIDED:
            return state


@pytest.mark.parametrize(("elo1", "seat", "draws", "pairs"), [(100, 0.0, 0.0, 45), (100, 0.25, 0.3, 35)])
def test_the_error_rates_are_those_asked_for(elo1: float, seat: float, draws: float, pairs: int) -> None:
    """Of 300 tests at each end, 5% wrong are 15; 26 would come by chance once in 250 times."""
    test, chance = SequentialTest(0, elo1, alpha=0.05, beta=0.05), Random(12)
    equal = [play_test(test, 0, seat, draws, chance) for _ in range(300)]
    assert sum(state.verdict is Verdict.BETTER for state in equal) <= 26
    better = [play_test(test, elo1, seat, draws, chance) for _ in range(300)]
    assert sum(state.verdict is Verdict.NOT_BETTER for state in better) <= 26
    assert sum(state.pairs for state in equal + better) / 600 < pairs


def test_a_much_better_player_is_found_soon_and_the_sentence_says_so() -> None:
    test = SequentialTest(0, 100)
    state = test.evaluate(PairCounts((0, 2, 6, 12, 14)))
    assert state.verdict is Verdict.BETTER
    assert test.describe(state, "Ada", "Bob") == (
        "Ada is better than Bob: +211 Elo (95%: +140 to +303), a score of 77% in 68 games."
        " If it weren't, a test like this would still say so 5% of the time."
    )
    reverse = test.evaluate(PairCounts((14, 12, 6, 2, 0)))
    assert reverse.verdict is Verdict.NOT_BETTER
    assert test.describe(reverse, "Ada", "Bob").startswith("Ada isn't better than Bob by 100 Elo or more: -211 Elo")
    assert test.describe(test.evaluate(PairCounts((1, 2, 3, 4, 0))), "Ada", "Bob").startswith("It is open whether Ada")
    few = test.describe(test.evaluate(PairCounts((0, 0, 0, 0, 9))), "Ada", "Bob")
    assert few.endswith(
        " than Bob: 18 games don't decide it. So far it is +512 Elo (95%: at least +258), a score of 95%."
    )
    assert test.describe(test.evaluate(PairCounts()), "Ada", "Bob") == "Nothing is known yet of Ada and Bob."


@pytest.mark.parametrize(
    ("elo0", "elo1", "better", "not_better"),
    [
        (10, 30, "Ada is better than Bob by more than 10 Elo", "Ada isn't better than Bob by 30 Elo or more"),
        (-10, 10, "Ada isn't weaker than Bob by 10 Elo or more", "Ada isn't better than Bob by 10 Elo or more"),
        (-10, 0, "Ada isn't weaker than Bob by 10 Elo or more", "Ada is weaker than Bob"),
        (-30, -10, "Ada isn't weaker than Bob by 30 Elo or more", "Ada is weaker than Bob by more than 10 Elo"),
    ],
)
def test_a_sentence_claims_what_was_ruled_out_and_no_more(
    elo0: float, elo1: float, better: str, not_better: str
) -> None:
    test = SequentialTest(elo0, elo1)
    won, lost = (test.evaluate(PairCounts(counts)) for counts in ((9, 9, 9, 400, 400), (400, 400, 9, 9, 9)))
    for state, said in ((won, better), (lost, not_better)):
        sentence = test.describe(state, "Ada", "Bob")
        assert sentence.startswith(said + ":")
        assert ("If it were," in sentence) is ("isn't" in said)


def test_pairs_are_counted_by_their_points() -> None:
    pairs = [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0), (1.0, 1.0)]
    counts = PairCounts.from_pairs(pairs)
    assert counts.counts == (1, 1, 2, 1, 2)
    one_by_one = PairCounts()
    for pair in pairs:
        one_by_one = one_by_one.add_pair(*pair)
    assert one_by_one == counts
    with pytest.raises(ValueError, match="points of a game must be"):
        counts.add_pair(0.7, 0.3)


def test_the_estimate_has_the_spread_of_pairs_and_json_has_no_infinity() -> None:
    even = estimate_elo(PairCounts((0, 0, 50, 0, 0)))
    assert even.value == pytest.approx(0, abs=1e-9)
    assert 10 < even.high < 20
    wide = estimate_elo(PairCounts((25, 0, 0, 0, 25)))
    assert wide.high == pytest.approx(100, abs=5)
    assert estimate_elo(PairCounts((0, 0, 0, 0, 3))).high == inf
    state = SequentialTest().evaluate(PairCounts((0, 0, 0, 0, 3)))
    assert json.loads(json.dumps(state.to_json(), allow_nan=False))["elo"]["high"] is None


def test_settings_that_make_no_sense_are_refused() -> None:
    for settings in ((5, 5, 0.05, 0.05), (0, inf, 0.05, 0.05), (0, 5, 0.0, 0.05), (0, 5, 0.05, 0.5)):
        with pytest.raises(ValueError, match="must be"):
            SequentialTest(*settings)
