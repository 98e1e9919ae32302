"""The play-off for first place: who takes part, who meets whom, and how it ends."""

from dataclasses import replace

from agent_league.formats.base import TournamentRecord
from agent_league.formats.play_off import pair_play_off, split_leaders
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing
from tests.formats.played_tournament import Judge, draw_all, let_worse_seed_win, make_entrants, make_result


def play_off(
    leaders: list[str], judge: Judge, *, out: tuple[str, ...] = ()
) -> tuple[TournamentRecord, list[list[str]]]:
    """Play for first place to the end; the second value has the ranking of the leaders."""
    tournament = TournamentRecord(make_entrants(6, out))
    while round_ := pair_play_off(tournament, leaders):
        tournament = add_round(tournament, round_, judge)
        assert len(tournament.rounds) < 50
    return tournament, [list(group) for group in split_leaders(tournament, leaders)]


def add_round(tournament: TournamentRecord, round_: LeagueRound, judge: Judge) -> TournamentRecord:
    results = {pairing.match_id: judge(pairing) for pairing in round_.pairings}
    return replace(tournament, rounds=[*tournament.rounds, round_], results={**tournament.results, **results})


def test_two_meet_twice_with_the_sides_swapped() -> None:
    tournament, ranking = play_off(["P05", "P02"], let_worse_seed_win)
    assert [round_.pairings[0].players for round_ in tournament.rounds] == [("P02", "P05"), ("P05", "P02")]
    assert [round_.title for round_ in tournament.rounds] == [
        "Play-off for first place, game 1 of 2",
        "Play-off for first place, game 2 of 2",
    ]
    assert all(round_.is_play_off for round_ in tournament.rounds)
    assert ranking == [["P05"], ["P02"]]


def test_more_play_a_round_robin_in_which_each_meets_each() -> None:
    tournament, ranking = play_off(["P01", "P03", "P04"], let_worse_seed_win)
    pairs = [frozenset(pairing.players) for round_ in tournament.rounds for pairing in round_.pairings]
    assert len(tournament.rounds) == len(set(pairs)) == 3
    assert [list(round_.byes) for round_ in tournament.rounds] != [[], [], []]
    assert ranking == [["P04"], ["P03"], ["P01"]]


def test_who_is_first_again_plays_once_more_and_then_shares_the_first_place() -> None:
    tournament, ranking = play_off(["P01", "P02"], draw_all)
    assert [round_.title.partition(",")[0] for round_ in tournament.rounds] == [
        *["Play-off for first place"] * 2,
        *["Second play-off for first place"] * 2,
    ]
    assert sorted(ranking[0]) == ["P01", "P02"]


def test_a_second_play_off_has_only_those_who_are_first_in_the_first_one() -> None:
    def judge(pairing: Pairing) -> MatchResult:
        return make_result(pairing, None if set(pairing.players) == {"P01", "P02"} else min(pairing.players))

    tournament, ranking = play_off(["P01", "P02", "P03"], judge)
    assert len(tournament.rounds) == 3 + 2
    assert {player for round_ in tournament.rounds[3:] for player in round_.players} == {"P01", "P02"}
    assert [sorted(group) for group in ranking] == [["P01", "P02"], ["P03"]]


def test_who_is_out_does_not_take_part_and_comes_after_those_who_do() -> None:
    tournament, ranking = play_off(["P01", "P02", "P03"], let_worse_seed_win, out=("P03",))
    assert {player for round_ in tournament.rounds for player in round_.players} == {"P01", "P02"}
    assert ranking == [["P02"], ["P01"], ["P03"]]
    assert play_off(["P01", "P03"], draw_all, out=("P03",))[0].rounds == ()


def test_who_leaves_in_the_middle_keeps_its_matches() -> None:
    tournament = TournamentRecord(make_entrants(6))
    leaders = ["P01", "P02", "P03"]
    round_ = pair_play_off(tournament, leaders)
    assert round_ is not None
    tournament = add_round(tournament, round_, draw_all)
    left = replace(tournament, entrants=make_entrants(6, ["P01", "P02"]))
    assert pair_play_off(left, leaders) == pair_play_off(tournament, leaders)


def test_a_single_leader_needs_none() -> None:
    assert play_off(["P04"], draw_all) == (TournamentRecord(make_entrants(6)), [["P04"]])


def test_nothing_is_decided_before_a_play_off_is_over() -> None:
    tournament = TournamentRecord(make_entrants(6))
    round_ = pair_play_off(tournament, ["P01", "P02"])
    assert round_ is not None
    tournament = add_round(tournament, round_, let_worse_seed_win)
    assert split_leaders(tournament, ["P01", "P02"]) == [["P01", "P02"]]
