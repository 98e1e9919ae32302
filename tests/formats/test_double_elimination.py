"""Double elimination: two losses and out, the losers' bracket, and the grand final."""

import re
from collections import Counter
from itertools import pairwise
from math import ceil, log2
from random import Random

import pytest

from agent_league.formats.bracket import build_bracket
from agent_league.formats.bracket_plan import BracketSection
from agent_league.formats.double_elimination import DoubleElimination
from agent_league.formats.series import Decision
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from tests.formats.played_tournament import (
    PlayedTournament,
    count_matches,
    let_better_seed_win,
    let_worse_seed_win,
    make_random_judge,
    make_result,
    name_player,
    play,
)


def test_if_better_seeds_always_win_the_ranking_is_that_of_the_seeds() -> None:
    for players in (*range(2, 35), 48, 63, 64, 65):
        played = play(DoubleElimination(), players)
        assert count_matches(played.tournament) == 2 * players - 2
        assert len(played.tournament.rounds) <= 2 * ceil(log2(players))
        ranking = played.rank_players()
        assert [player_id for group in ranking for player_id in group] == [
            name_player(i) for i in range(1, players + 1)
        ]
        ranks = [1 + sum(map(len, ranking[:place])) for place in range(len(ranking))]
        assert ranks == [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65][: len(ranks)]


@pytest.mark.parametrize("players", [2, 3, 4, 5, 8, 13, 16, 33, 64])
def test_everybody_but_the_champion_loses_twice(players: int) -> None:
    for seed in range(4):
        played = PlayedTournament(DoubleElimination(), players, make_random_judge(Random(seed), decisive=True))
        tournament = played.play_to_end()
        losses = Counter(
            player_id
            for result in tournament.results.values()
            for player_id in result.players
            if player_id != result.winner
        )
        champion = played.rank_players()[0][0]
        assert losses[champion] <= 1
        others = [name_player(number) for number in range(1, players + 1) if name_player(number) != champion]
        assert all(losses[player_id] == 2 for player_id in others)
        assert count_matches(tournament) == 2 * players - 2 + losses[champion]
        assert (tournament.rounds[-1].title == "Grand final, once more") == (losses[champion] == 1)
        last = {player_id: result.round_id for result in tournament.results.values() for player_id in result.players}
        out = [[last[player_id] for player_id in group] for group in played.rank_players()]
        assert all(min(one) >= max(two) for one, two in pairwise(out)), "ranked by when they went out"


def test_the_first_steps_of_eight() -> None:
    rounds = play(DoubleElimination(), 8).tournament.rounds
    assert [(round_.title, len(round_.pairings)) for round_ in rounds] == [
        ("Winners' round 1", 4),
        ("Winners' round 2 and losers' round 1", 4),
        ("Losers' round 2", 2),
        ("Winners' final and losers' round 3", 2),
        ("Losers' final", 1),
        ("Grand final", 1),
    ]
    assert rounds[2].pairings[0].reason == "loser of R2M2 (P03) meets winner of R2M3 (P05)"
    assert rounds[2].byes == {
        "P01": "waits for the winners' final",
        "P02": "waits for the winners' final",
    }


def test_on_the_way_the_unbeaten_come_first() -> None:
    played = PlayedTournament(DoubleElimination(), 4, let_better_seed_win)
    assert played.rank_players() == [["P01", "P02", "P03", "P04"]]
    played.play_round()
    assert played.rank_players() == [["P01", "P02"], ["P03", "P04"]]
    played.play_round()
    assert played.rank_players() == [["P01"], ["P02", "P03"], ["P04"]]


def test_the_grand_final_is_played_once_more_if_the_unbeaten_player_loses_it() -> None:
    def judge(pairing: Pairing) -> MatchResult:
        return make_result(pairing, "P02" if pairing.round_id == 4 else min(pairing.players))

    played = play(DoubleElimination(), 4, judge)
    last = played.tournament.rounds[-1]
    assert last.title == "Grand final, once more"
    assert last.pairings[0].reason == "the grand final once more: P02 won it, so each has lost one series"
    assert played.rank_players() == [["P01"], ["P02"], ["P03"], ["P04"]]
    bracket = build_bracket(played.tournament, DoubleElimination())
    assert [series.decision for level in bracket.levels[-2:] for series in level.series] == [Decision.WON, Decision.WON]
    once = build_bracket(play(DoubleElimination(), 4).tournament, DoubleElimination())
    assert once.levels[-1].series[0].decision is Decision.NOT_NEEDED
    assert {level.section for level in once.levels} == {
        BracketSection.WINNERS,
        BracketSection.LOSERS,
        BracketSection.FINAL,
    }
    assert play(DoubleElimination(), 2, let_worse_seed_win).rank_players() == [["P02"], ["P01"]]


@pytest.mark.parametrize("players", [8, 16, 32, 64])
def test_nobody_meets_again_in_the_losers_bracket_before_its_last_four_levels(players: int) -> None:
    last = 2 * int(log2(players)) - 2
    for seed in range(6):
        tournament = PlayedTournament(
            DoubleElimination(), players, make_random_judge(Random(seed), decisive=True)
        ).play_to_end()
        met: set[frozenset[str]] = set()
        for round_ in tournament.rounds:
            pairs = {frozenset(pairing.players) for pairing in round_.pairings}
            level = re.search(r"osers' round (\d+)", round_.title)
            if level and (int(level[1]) <= last - 4 or int(level[1]) <= 2):
                assert not pairs & met
            met |= pairs


def test_who_misses_a_match_may_come_back_in_the_losers_bracket() -> None:
    played = PlayedTournament(DoubleElimination(), 4, let_better_seed_win)
    played.set_out(["P01"])
    first = played.play_round()
    assert first is not None
    assert first.byes == {"P04": "advances without a match: P01 is out"}
    played.set_out([])
    second = played.play_round()
    assert second is not None
    assert [set(pairing.players) for pairing in second.pairings] == [{"P04", "P02"}, {"P01", "P03"}]
    assert second.pairings[1].reason == "P01 (absent from winners' round 1 match 1) meets loser of R1M1 (P03)"
    played.play_to_end()
    assert played.rank_players()[0] == ["P01"]
