"""Knockout: the seeded bracket, series in it, walkovers, and its words."""

from itertools import pairwise
from math import ceil, log2
from random import Random

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import TournamentRecord
from agent_league.formats.bracket import SeriesState, build_bracket
from agent_league.formats.bracket_plan import order_seeds
from agent_league.formats.knockout import Knockout
from agent_league.formats.series import Decision
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from tests.formats.played_tournament import (
    PlayedTournament,
    count_matches,
    draw_all,
    let_better_seed_win,
    make_double_loss,
    make_entrants,
    make_random_judge,
    make_result,
    make_void_result,
    name_player,
    play,
)

FIRST_LEVELS = {
    4: {(1, 4), (2, 3)},
    8: {(1, 8), (4, 5), (2, 7), (3, 6)},
    13: {(8, 9), (4, 13), (5, 12), (7, 10), (6, 11)},
    16: {(1, 16), (8, 9), (4, 13), (5, 12), (2, 15), (7, 10), (3, 14), (6, 11)},
}


def list_seed_pairs(played: PlayedTournament, round_id: int) -> set[tuple[int, ...]]:
    pairings = played.tournament.rounds[round_id - 1].pairings
    return {tuple(sorted(int(player_id[1:]) for player_id in pairing.players)) for pairing in pairings}


def test_the_first_level_is_the_usual_one_and_byes_go_to_the_top_seeds() -> None:
    for players, pairs in FIRST_LEVELS.items():
        played = play(Knockout(), players)
        assert list_seed_pairs(played, 1) == pairs
        byes = 2 ** ceil(log2(players)) - players
        assert list(played.tournament.rounds[0].byes) == [name_player(seed) for seed in range(1, byes + 1)]


def test_if_better_seeds_always_win_the_ranking_is_that_of_the_seeds() -> None:
    for players in (*range(2, 35), 48, 63, 64, 65):
        played = play(Knockout(), players)
        assert count_matches(played.tournament) == players - 1
        assert len(played.tournament.rounds) == ceil(log2(players))
        ranking = played.rank_players()
        assert [player_id for group in ranking for player_id in group] == [
            name_player(i) for i in range(1, players + 1)
        ]
        ranks = [1 + sum(map(len, ranking[:place])) for place in range(len(ranking))]
        assert ranks == [1, 2, 3, 5, 9, 17, 33, 65][: len(ranks)]


def test_on_the_way_all_who_are_still_in_are_level() -> None:
    played = PlayedTournament(Knockout(third_place=True), 8, let_better_seed_win)
    played.play_round()
    assert played.rank_players() == [["P01", "P02", "P03", "P04"], ["P05", "P06", "P07", "P08"]]
    played.play_round()
    assert played.rank_players() == [["P01", "P02"], ["P03", "P04"], ["P05", "P06", "P07", "P08"]]


def test_better_seeds_meet_later() -> None:
    for size in (4, 8, 16, 64):
        seeds = order_seeds(size)
        half = size
        while half > 1:
            blocks = [seeds[start : start + half] for start in range(0, size, half)]
            best = [min(block) for block in blocks]
            assert sorted(best) == list(range(1, len(blocks) + 1)), "the best seeds are in different blocks"
            half //= 2


def test_the_third_place_is_played_beside_the_final() -> None:
    played = play(Knockout(third_place=True), 8)
    assert count_matches(played.tournament) == 8
    assert played.tournament.rounds[-1].title == "Final and third place"
    assert [len(group) for group in played.rank_players()] == [1, 1, 1, 1, 4]
    assert [len(group) for group in play(Knockout(third_place=True), 3).rank_players()] == [1, 1, 1]
    assert [len(group) for group in play(Knockout(third_place=True), 2).rank_players()] == [1, 1]


@pytest.mark.parametrize(
    ("best_of", "games", "advances"),
    [
        (1, "1", 1),
        (1, "2", 2),
        (3, "11", 1),
        (3, "122", 2),
        (3, "020", 2),
        (3, "002", 2),
        (3, "01212", None),
        (5, "111", 1),
        (5, "22112", 2),
        (5, "101", None),
        (5, "1100", 1),
        (2, "11", 1),
        (2, "10", 1),
        (2, "1212", None),
        (2, "1222", 2),
        (1, "00", None),
        (1, "010", 1),
        (1, "012", None),
        (1, "022", 2),
        (1, "01222", 2),
        (1, "00000", 1),
        (1, "0vb0v", 1),
        (1, "vv2", 2),
        (3, "12012", None),
        (3, "1201212", 1),
    ],
)
def test_a_series_ends_when_nobody_can_catch_up(best_of: int, games: str, advances: int | None) -> None:
    """1 and 2 are the seeds that win; 0 is a draw, v a void match, b one that both lose."""
    left = list(games)
    judges = {"0": draw_all, "v": make_void_result, "b": make_double_loss}

    def judge(pairing: Pairing) -> MatchResult:
        game = left.pop(0)
        return judges[game](pairing) if game in judges else make_result(pairing, f"P0{game}")

    played = PlayedTournament(Knockout(best_of=best_of), 2, judge)
    while left:
        assert played.play_round() is not None, f"over before {left}"
    is_over = played.pair_round() is None
    assert is_over == (advances is not None)
    if advances:
        assert played.rank_players()[0] == [name_player(advances)]
    sides = [pairing.player_a for round_ in played.tournament.rounds for pairing in round_.pairings]
    assert all(one != other for one, other in pairwise(sides)), "sides alternate"


def test_a_round_announces_only_series_that_are_still_open() -> None:
    def judge(pairing: Pairing) -> MatchResult:
        return draw_all(pairing) if "P02" in pairing.players and pairing.round_id == 1 else let_better_seed_win(pairing)

    played = PlayedTournament(Knockout(best_of=3), 4, judge)
    sizes = []
    while round_ := played.play_round():
        sizes.append((round_.title, len(round_.pairings), sorted(round_.byes)))
    assert sizes == [
        ("Semi-finals, game 1 of 3", 2, []),
        ("Semi-finals, game 2 of 3", 2, []),
        ("Semi-finals, game 3 of 3", 1, ["P01"]),
        ("Final, game 1 of 3", 1, []),
        ("Final, game 2 of 3", 1, []),
    ]


def test_a_player_that_leaves_is_beaten_without_a_match_and_stays_out() -> None:
    played = PlayedTournament(Knockout(best_of=3), 4, let_better_seed_win)
    played.play_round()
    played.set_out(["P01"])
    second = played.play_round()
    assert second is not None
    assert second.byes == {"P04": "advances without a match: P01 is out"}
    played.set_out([])
    final = played.play_round()
    assert final is not None
    assert set(final.pairings[0].players) == {"P02", "P04"}
    assert final.pairings[0].reason.endswith("game 1 of 3")
    assert "P04 (without a match)" in final.pairings[0].reason
    played.play_to_end()
    assert played.rank_players() == [["P02"], ["P04"], ["P01", "P03"]]


def test_if_both_are_out_the_place_of_the_higher_seed_goes_on() -> None:
    played = PlayedTournament(Knockout(), 8, let_better_seed_win)
    played.set_out(["P04", "P05"])
    assert len(played.play_round().pairings) == 3  # type: ignore[union-attr]
    played.set_out(["P04"])
    semi = played.play_round()
    assert semi is not None
    assert [set(pairing.players) for pairing in semi.pairings] == [{"P02", "P03"}]
    assert semi.byes == {"P01": "advances without a match: P04 is out"}
    played.set_out([])
    assert {frozenset(one.players) for one in played.play_round().pairings} == {frozenset(("P01", "P02"))}  # type: ignore[union-attr]

    again = PlayedTournament(Knockout(), 8, let_better_seed_win)
    again.set_out(["P04", "P05"])
    again.play_round()
    again.set_out([])
    semi = again.play_round()
    assert semi is not None
    assert {"P01", "P04"} in [set(pairing.players) for pairing in semi.pairings], "it is back in time"


def test_a_final_without_an_opponent_has_a_champion() -> None:
    played = PlayedTournament(Knockout(), 4, let_better_seed_win)
    played.play_round()
    played.set_out(["P01"])
    assert played.play_round() is None
    assert played.rank_players()[0] == ["P02"]
    assert build_bracket(played.tournament, Knockout()).champion == "P02"
    played.set_out([name_player(seed) for seed in range(1, 5)])
    assert played.play_round() is None


def test_a_champion_without_a_final_stays_so_while_the_third_place_is_played() -> None:
    played = PlayedTournament(Knockout(best_of=3, third_place=True), 4, let_better_seed_win)
    played.play_round()
    played.play_round()
    played.set_out(["P01"])
    third = played.play_round()
    assert third is not None
    assert third.title == "Third place, game 1 of 3"
    assert third.byes == {"P02": "advances without a match: P01 is out"}
    played.set_out([])
    played.play_to_end()
    assert played.rank_players() == [["P02"], ["P01"], ["P03"], ["P04"]]


def test_pairings_and_byes_tell_their_reasons() -> None:
    played = play(Knockout(best_of=1), 13)
    first, second, *_ = played.tournament.rounds
    assert first.title == "Round of 16"
    assert first.byes["P01"] == "seed 1 has a bye: 13 players in a bracket of 16"
    assert first.pairings[0].reason == "seed 8 meets seed 9"
    assert second.title == "Quarter-finals"
    assert [pairing.reason for pairing in second.pairings] == [
        "seed 1 meets winner of R1M1 (P08)",
        "winner of R1M2 (P04) meets winner of R1M3 (P05)",
        "seed 2 meets winner of R1M4 (P07)",
        "seed 3 meets winner of R1M5 (P06)",
    ]
    series = play(Knockout(best_of=3), 2, draw_all).tournament
    assert [round_.pairings[0].reason for round_ in series.rounds[:4]] == [
        "seed 1 meets seed 2; game 1 of 3",
        "game 2 of 3; it stands 0 to 0",
        "game 3 of 3; it stands 0 to 0",
        "extra game 1; it stands 0 to 0",
    ]
    won = play(Knockout(best_of=3), 2).tournament
    assert won.rounds[1].pairings[0].reason == "game 2 of 3; it stands 1 to 0 for P01"
    drawn = play(Knockout(), 4, draw_all).tournament
    assert "higher seed after the draw of R5M1 (P01)" in drawn.rounds[5].pairings[0].reason


def test_sides_are_about_even_for_everybody() -> None:
    for seed in range(20):
        played = PlayedTournament(Knockout(), 64, make_random_judge(Random(seed), decisive=True), lot=seed)
        played.play_to_end()
        leans = dict.fromkeys((name_player(number) for number in range(1, 65)), 0)
        for round_ in played.tournament.rounds:
            for pairing in round_.pairings:
                leans[pairing.player_a] += 1
                leans[pairing.player_b] -= 1
        assert max(map(abs, leans.values())) <= 3
        first = [pairing.player_a < pairing.player_b for pairing in played.tournament.rounds[0].pairings]
        assert sum(first) == 16, "half of the favourites are A"


def test_the_bracket_is_known_before_the_start_and_while_a_round_is_played() -> None:
    played = PlayedTournament(Knockout(best_of=3, third_place=True), 5, let_better_seed_win)
    before = build_bracket(played.tournament, Knockout(best_of=3, third_place=True))
    assert [level.title for level in before.levels] == ["Quarter-finals", "Semi-finals", "Final", "Third place"]
    quarter = before.levels[0].series
    assert [series.decision for series in quarter] == [Decision.BYE, None, Decision.BYE, Decision.BYE]
    assert [slot.label for slot in quarter[0].slots] == ["seed 1", "nobody"]
    semi = before.levels[1].series[0]
    assert [(slot.player_id, slot.seed, slot.label) for slot in semi.slots] == [
        ("P01", 1, "winner of quarter-final 1"),
        (None, None, "winner of quarter-final 2"),
    ]
    third = before.levels[3].series[0]
    assert [(slot.source, slot.is_loser) for slot in third.slots] == [
        (semi.number, True),
        (before.levels[1].series[1].number, True),
    ]
    assert before.champion is None

    played.play_round()
    round_ = played.pair_round()
    assert round_ is not None
    played.set_out(["P05"])
    live = build_bracket(
        TournamentRecord(played.tournament.entrants, [*played.tournament.rounds, round_], played.tournament.results),
        Knockout(best_of=3),
    )
    series = live.levels[0].series[1]
    assert (series.state, series.match_ids, series.winner) == (SeriesState.LIVE, ("R1M1", "R2M1"), None)
    assert [slot.wins for slot in series.slots] == [1, 0]
    played.play_to_end()
    after = build_bracket(played.tournament, Knockout(best_of=3, third_place=True))
    assert after.champion == "P01"
    assert all(series.state is SeriesState.DECIDED for level in after.levels for series in level.series)
    assert [slot.has_advanced for slot in after.levels[2].series[0].slots] == [True, False]


def test_rounds_of_another_bracket_are_refused() -> None:
    rounds = play(Knockout(), 8).tournament.rounds
    one, other, *others = make_entrants(8)
    for entrants in ([other, one, *others], make_entrants(4)):
        with pytest.raises(ValueError, match="round 1 doesn't belong to this bracket"):
            Knockout().next_round(TournamentRecord(entrants, rounds))


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="best_of: expected a whole number from 1, found 0"):
        Knockout(best_of=0)
    with pytest.raises(ConfigError, match="best_of: expected a whole number from 1, found True"):
        Knockout(best_of=True)
    with pytest.raises(ConfigError, match="third_place: expected true or false, found 'yes'"):
        Knockout(third_place="yes")  # type: ignore[arg-type]


def test_one_player_alone_is_champion() -> None:
    for players in (0, 1):
        played = play(Knockout(), players)
        assert not played.tournament.rounds
        assert played.rank_players() == [[name_player(1)]] * players
