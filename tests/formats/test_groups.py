"""Groups: who is in which, whom they meet, and how they are ranked."""

from collections import Counter
from itertools import combinations

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import TournamentRecord
from agent_league.formats.groups import Groups, list_groups
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from tests.formats.played_tournament import (
    PlayedTournament,
    draw_all,
    let_better_seed_win,
    make_entrants,
    make_result,
    play,
)


def test_seeds_are_dealt_forth_and_back() -> None:
    groups = list_groups(Groups(), make_entrants(16))
    assert [(group.name, group.player_ids) for group in groups] == [
        ("A", ("P01", "P08", "P09", "P16")),
        ("B", ("P02", "P07", "P10", "P15")),
        ("C", ("P03", "P06", "P11", "P14")),
        ("D", ("P04", "P05", "P12", "P13")),
    ]
    assert [len(group.player_ids) for group in list_groups(Groups(groups=3), make_entrants(10))] == [3, 3, 4]
    assert [len(group.player_ids) for group in list_groups(Groups(groups=30), make_entrants(5))] == [3, 2]
    assert list_groups(Groups(group_size=2), make_entrants(60))[28].name == "AC"


def test_any_two_of_a_group_meet_once_in_a_cycle_and_others_never() -> None:
    for players in range(2, 66):
        for format_ in (Groups(), Groups(groups=2, cycles=2)):
            if players > 20 and format_.cycles > 1:
                continue
            played = PlayedTournament(format_, players, let_better_seed_win)
            tournament = played.play_to_end()
            pairings = [pairing for round_ in tournament.rounds for pairing in round_.pairings]
            met = Counter(frozenset(pairing.players) for pairing in pairings)
            groups = list_groups(format_, tournament.entrants)
            expected = {frozenset(pair) for group in groups for pair in combinations(group.player_ids, 2)}
            assert met == Counter(dict.fromkeys(expected, format_.cycles))
            assert len(tournament.rounds) == format_.count_rounds(tournament)
            sides = Counter(pairing.player_a for pairing in pairings)
            sides.subtract(Counter(pairing.player_b for pairing in pairings))
            assert max(map(abs, sides.values())) <= (1 if format_.cycles == 1 else 0)


def test_pairings_name_the_group_and_everybody_else_has_a_bye() -> None:
    first = play(Groups(groups=2), 7).tournament.rounds[0]
    assert sorted({pairing.reason for pairing in first.pairings}) == ["group A, round 1", "group B, round 1"]
    assert list(first.byes.values()) == ["no match in round 1 of group A"]
    last = play(Groups(groups=2), 9).tournament.rounds[-1]
    assert {pairing.reason for pairing in last.pairings} == {"group A, round 5"}
    assert len(last.byes) == 5


def test_all_rounds_are_known_at_the_start() -> None:
    played = play(Groups(groups=2, cycles=2), 9).tournament
    planned = TournamentRecord(make_entrants(9))
    while round_ := Groups(groups=2, cycles=2).next_round(planned):
        planned = TournamentRecord(planned.entrants, [*planned.rounds, round_])
    assert planned.rounds == played.rounds


def test_group_winners_come_first_then_all_who_are_second() -> None:
    assert play(Groups(), 8).rank_players() == [["P01", "P02"], ["P03", "P04"], ["P05", "P06"], ["P07", "P08"]]
    ranking = play(Groups(groups=2), 7).rank_players()
    assert ranking == [["P01", "P02"], ["P03"], ["P04"], ["P06"], ["P05"], ["P07"]], (
        "3 of 4 and 1 of 3 by points a match"
    )


def test_those_who_are_level_are_told_apart_by_their_meeting_or_share_their_place() -> None:
    def judge(pairing: Pairing) -> MatchResult:
        winners = {frozenset(("P01", "P04")): "P04", frozenset(("P03", "P04")): "P03"}
        return make_result(pairing, winners.get(frozenset(pairing.players), min(pairing.players)))

    assert play(Groups(groups=1), 4, judge).rank_players() == [["P01"], ["P02"], ["P03"], ["P04"]]
    assert play(Groups(groups=1), 4, draw_all).rank_players() == [["P01", "P02", "P03", "P04"]]


def test_a_player_that_is_out_keeps_its_pairings() -> None:
    planned = play(Groups(groups=2), 7).tournament.rounds
    played = PlayedTournament(Groups(groups=2), 7, let_better_seed_win)
    played.set_out(["P01", "P02", "P03"])
    assert played.play_to_end().rounds == planned


def test_settings_are_checked() -> None:
    for name, least in (("groups", 1), ("group_size", 2), ("cycles", 1), ("advance", 1)):
        with pytest.raises(ConfigError, match=rf"groups: {name}: expected a whole number from {least}.*, found 0"):
            Groups(**{name: 0})
