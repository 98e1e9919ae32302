"""Tournaments played by strengths alone: ranks, their error, and ratings that hold where results decide who meets."""

from random import Random

import pytest

from agent_league.formats.registry import load_format
from agent_league.league.trial_tournament import TrialTournament
from agent_league.model.results import Scoring
from agent_league.ratings.bradley_terry import fit_ratings, fit_unknown_spread
from agent_league.ratings.luck import check_luck
from agent_league.ratings.tables import RatingTable


def trial_of(name: str, players: int, **settings: object) -> TrialTournament:
    return TrialTournament(players, load_format(name, settings), Scoring(), ("wins", "buchholz"), draw_share=0.1)


@pytest.mark.parametrize("name", ["round_robin", "swiss", "knockout", "double_elimination", "groups"])
def test_everybody_is_ranked_once_and_the_much_stronger_is_first(name: str) -> None:
    ranks = trial_of(name, 9, **({"groups": 2} if name == "groups" else {})).play(
        [0.0] * 4 + [3000.0] + [0.0] * 4, Random(1)
    )
    assert sorted(player for group in ranks for player in group) == list(range(9))
    assert ranks[0][0] == 4


def test_more_games_make_ranks_better_and_the_sentence_says_how_many_games() -> None:
    few, many = trial_of("round_robin", 8), trial_of("round_robin", 8, cycles=4)
    errors = [trial.estimate_rank_error(200.0) for trial in (few, many)]
    assert errors[0]
    assert errors[1]
    assert errors[0].places.value > errors[1].places.value
    assert "with 7 games a player a rank is off by" in errors[0].describe()
    assert (errors[0].games, errors[1].games) == (7, 28)


def test_what_takes_too_long_is_not_tried() -> None:
    assert trial_of("round_robin", 1000).estimate_rank_error(200.0) is None
    assert trial_of("swiss", 1000).count_samples(19, 99) == 0
    assert trial_of("round_robin", 1).count_samples(4, 200) == 0


def count_hits(table: RatingTable) -> int:
    """How many intervals hold 0, which is the truth of equal players."""
    return sum(rating.low <= 0 <= rating.high for rating in table.ratings)


def test_coin_flips_in_a_swiss_tournament_drive_no_ratings_apart() -> None:
    trial, chance, sure, weak = trial_of("swiss", 16), Random(5), 0, 0
    for _ in range(12):
        results = trial.replay_by_coin(chance)
        sure += count_hits(fit_unknown_spread(results).table)
        weak += count_hits(fit_ratings(results))
    assert sure >= 0.95 * 16 * 12
    assert weak < 0.9 * 16 * 12, "a weak prior alone would do, and the other way isn't needed"


def test_luck_is_told_from_skill_though_results_decide_who_meets() -> None:
    trial, chance = trial_of("swiss", 16), Random(2)
    strong = trial.draw_results([100.0 * index for index in range(16)], chance)
    even = [trial.replay_by_coin(chance) for _ in range(8)]
    assert fit_unknown_spread(strong).spread > 1.5 * max(fit_unknown_spread(results).spread for results in even[:3])
    assert not check_luck(strong, replay=trial.replay_by_coin, samples=39).is_luck
    assert sum(check_luck(results, replay=trial.replay_by_coin, samples=39).is_luck for results in even) >= 7
    assert sum(check_luck(results, samples=39).is_luck for results in even) < 7, "a plain coin would do as well"
