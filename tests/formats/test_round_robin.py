"""Round robin: every pair meets as often as there are cycles."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import Entrant, TournamentRecord
from agent_league.formats.round_robin import DoubleRoundRobin, RoundRobin
from agent_league.testing.format_contract import check_format
from tests.formats.playing import make_entrants, play_all


def test_the_number_of_rounds_is_known_before() -> None:
    for players in range(2, 20):
        for cycles, limit, rounds in ((1, None, None), (2, 1, None), (3, 3, 7)):
            format_, whole = RoundRobin(cycles, limit, rounds), TournamentRecord(make_entrants(players))
            assert format_.count_rounds(whole) == len(play_all(format_, whole).rounds)


def test_sides_are_swapped_in_every_second_cycle() -> None:
    for players in (2, 4, 5, 8):
        entrants = make_entrants(players)
        rounds = play_all(RoundRobin(5), TournamentRecord(entrants)).rounds
        cycle = len(rounds) // 5
        boards = [[pairing.players for pairing in round_.pairings] for round_ in rounds]
        swapped = [[(b, a) for a, b in board] for board in boards[:cycle]]
        assert boards == (boards[:cycle] + swapped) * 2 + boards[:cycle]
        met = Counter(frozenset(pair) for board in boards for pair in board)
        assert met == {frozenset(pair): 5 for pair in combinations([one.player_id for one in entrants], 2)}


def test_with_an_odd_number_everybody_has_one_bye_a_cycle_with_its_reason() -> None:
    for limit in (None, 2):
        tournament = play_all(RoundRobin(2, limit), TournamentRecord(make_entrants(7)))
        byes = Counter(player_id for round_ in tournament.rounds for player_id in round_.byes)
        assert byes == {entrant.player_id: 2 for entrant in tournament.entrants}
        assert {why for round_ in tournament.rounds for why in round_.byes.values()} == {
            "odd number of players: everybody sits out once while all meet all"
        }


def test_every_pairing_tells_which_meeting_it_is() -> None:
    told = [
        pairing.reason
        for round_ in play_all(DoubleRoundRobin(), TournamentRecord(make_entrants(3))).rounds
        for pairing in round_.pairings
    ]
    assert (
        told
        == ["everybody meets everybody 2 times; this is meeting 1"] * 3
        + ["everybody meets everybody 2 times; this is meeting 2"] * 3
    )


def test_who_is_out_keeps_its_pairings_and_who_comes_late_gets_none() -> None:
    entrants = make_entrants(5)
    changed = [replace(entrants[0], is_out=True), *entrants[1:], Entrant("P06", 6, rounds_missed=2)]
    assert (
        play_all(RoundRobin(), TournamentRecord(changed)).rounds
        == play_all(RoundRobin(), TournamentRecord(entrants)).rounds
    )


def test_wrong_settings_are_named() -> None:
    for settings, problem in (
        ({"cycles": 0}, "format round_robin: cycles: expected a whole number from 1, found 0"),
        ({"cycles": True}, "format round_robin: cycles: expected a whole number from 1, found True"),
        ({"matches_per_round": "2"}, "matches_per_round: expected a whole number from 1 or null, found '2'"),
        ({"rounds": 1.5}, "format round_robin: rounds: expected a whole number from 1 or null, found 1.5"),
    ):
        with pytest.raises(ConfigError, match=problem):
            RoundRobin(**settings)


def test_it_keeps_the_contract() -> None:
    """Table 16 of seed 003 has one of four players on the same side three times."""
    check_format(RoundRobin, max_side_gap=3, sizes=range(2, 13))
    check_format(RoundRobin, seeds=[1], sizes=[65])
    check_format(DoubleRoundRobin, max_side_gap=0, sizes=(2, 3, 4, 7, 10, 17))
    check_format(lambda: RoundRobin(3, 2), max_side_gap=3, sizes=(2, 4, 5, 9))
