"""The Swiss system over whole tournaments."""

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import Entrant, TournamentRecord
from agent_league.formats.swiss import Swiss, collect_records
from agent_league.model.results import Scoring
from agent_league.testing.format_contract import check_format
from tests.formats.playing import by_chance, draw, favourite_wins, list_pairs, make_entrants, play_all, play_round, void


def count_sides(tournament: TournamentRecord) -> Counter[str]:
    balances = Counter[str]()
    for round_ in tournament.rounds:
        balances.update(pairing.player_a for pairing in round_.pairings)
        balances.subtract(pairing.player_b for pairing in round_.pairings)
    return balances


def sum_points(tournament: TournamentRecord) -> Counter[str]:
    points = Counter({entrant.player_id: 0 for entrant in tournament.entrants})
    for result in tournament.results.values():
        points.update(result.score(tournament.scoring))
    for round_ in tournament.rounds:
        points.update(dict.fromkeys(round_.byes, tournament.scoring.win_points))
    return points


def test_the_number_of_rounds_tells_the_first_from_the_rest() -> None:
    expected = {2: 1, 3: 3, 4: 3, 5: 5, 6: 5, 7: 5, 8: 5, 9: 6, 13: 6, 16: 6, 17: 7, 32: 7, 33: 8, 200: 10, 1000: 12}
    for players, rounds in expected.items():
        assert Swiss().count_rounds(TournamentRecord(make_entrants(players))) == rounds
    assert Swiss(4).count_rounds(TournamentRecord(make_entrants(100))) == 4
    late = [*make_entrants(16), Entrant("P17", 17, rounds_missed=1)]
    assert Swiss().count_rounds(TournamentRecord(late)) == 6


def test_in_the_first_round_the_top_half_meets_the_bottom_half_with_sides_in_turn() -> None:
    round_ = Swiss().next_round(TournamentRecord(make_entrants(8), lot=1))
    assert list_pairs(round_) == [("P01", "P05"), ("P02", "P06"), ("P03", "P07"), ("P04", "P08")]
    assert round_ is not None
    assert [pairing.player_a for pairing in round_.pairings] == ["P01", "P06", "P03", "P08"]
    assert round_.pairings[0].reason == "all have 0 points; by seed these are 1st and 5th of 8"
    other = Swiss().next_round(TournamentRecord(make_entrants(8), lot=2))
    assert other is not None
    assert [pairing.player_a for pairing in other.pairings] == ["P05", "P02", "P07", "P04"]


def test_nobody_meets_anybody_twice_and_sides_and_byes_are_fair() -> None:
    for players in range(2, 34):
        for seed in range(12 if players < 8 else 2):
            tournament = play_all(Swiss(), TournamentRecord(make_entrants(players), lot=seed), by_chance(Random(seed)))
            assert len(tournament.rounds) == Swiss().count_rounds(tournament)
            met = Counter(pair for round_ in tournament.rounds for pair in list_pairs(round_))
            assert set(met.values()) == {1}, (players, seed)
            byes = Counter(player_id for round_ in tournament.rounds for player_id in round_.byes)
            assert byes.total() == (len(tournament.rounds) if players % 2 else 0)
            assert max(byes.values(), default=0) <= 1
            assert max(map(abs, count_sides(tournament).values())) <= 2


def test_sides_stay_within_one_where_the_score_groups_allow_it() -> None:
    """With draws alone everybody is in one group, so that it is always possible."""
    for players in (8, 14, 32):
        tournament = TournamentRecord(make_entrants(players))
        while round_ := Swiss().next_round(tournament):
            tournament = play_round(tournament, round_, draw)
            assert max(map(abs, count_sides(tournament).values())) <= 1


def test_opponents_are_nearly_level_on_points() -> None:
    """The pairs of neighbours in the table have the smallest differences that there could be, if none had met."""
    spent = least = 0
    for seed in range(2):
        tournament = TournamentRecord(make_entrants(60))
        decide = by_chance(Random(seed))
        while round_ := Swiss(9).next_round(tournament):
            points = sum_points(tournament)
            spent += sum(abs(points[one] - points[other]) for one, other in list_pairs(round_))
            ordered = sorted(points.values())
            least += sum(high - low for low, high in list(pairwise(ordered))[::2])
            tournament = play_round(tournament, round_, decide)
    assert least <= spent <= 1.3 * least


def test_the_best_player_wins_all_and_meets_the_next_best() -> None:
    tournament = play_all(Swiss(), TournamentRecord(make_entrants(32)), favourite_wins)
    points = sum_points(tournament)
    assert points.most_common(2) == [("P01", 21), ("P02", 18)]
    rivals = {other for round_ in tournament.rounds for pair in list_pairs(round_) if "P01" in pair for other in pair}
    assert {"P02", "P03"} < rivals


def test_floats_are_counted_by_the_points_before_the_round() -> None:
    tournament = TournamentRecord(make_entrants(11))
    floats = Counter[str]()
    while round_ := Swiss().next_round(tournament):
        points = sum_points(tournament)
        for one, other in list_pairs(round_):
            if points[one] != points[other]:
                high, low = sorted((one, other), key=lambda player_id: -points[player_id])
                floats.update((f"{high} down", f"{low} up"))
        tournament = play_round(tournament, round_, by_chance(Random(len(tournament.rounds))))
    records = collect_records(tournament).values()
    counted = Counter({f"{record.player_id} down": record.floats_down for record in records})
    counted.update({f"{record.player_id} up": record.floats_up for record in records})
    assert +counted == floats
    assert floats.total() > 20


def test_a_late_entry_joins_with_no_points_and_who_is_out_is_not_paired() -> None:
    tournament = play_all(Swiss(2), TournamentRecord(make_entrants(8)), favourite_wins)
    entrants = [replace(entrant, is_out=entrant.player_id == "P01") for entrant in tournament.entrants]
    round_ = Swiss(3).next_round(replace(tournament, entrants=[*entrants, Entrant("P09", 9, rounds_missed=2)]))
    pairs = list_pairs(round_)
    assert sorted(player_id for pair in pairs for player_id in pair) == [f"P{seed:02}" for seed in range(2, 10)]
    rival = next(other for pair in pairs if "P09" in pair for other in pair if other != "P09")
    assert sum_points(tournament)[rival] == 0


def test_a_void_match_gives_no_points_but_is_a_meeting() -> None:
    tournament = play_all(Swiss(1), TournamentRecord(make_entrants(4), scoring=Scoring(3, 1, 1, 1)), void)
    round_ = Swiss(2).next_round(tournament)
    assert round_ is not None
    assert not set(list_pairs(round_)) & set(list_pairs(tournament.rounds[0]))
    assert all(pairing.reason.startswith("all have 0 points") for pairing in round_.pairings)


def test_reasons_tell_scores_places_floats_and_byes() -> None:
    tournament = TournamentRecord(make_entrants(7))
    rounds = [Swiss(9).next_round(tournament)]
    assert rounds[0] is not None
    assert rounds[0].byes == {"P07": "odd number of players; lowest in the table without a bye"}
    for _ in range(8):
        last = rounds[-1]
        assert last is not None
        tournament = play_round(tournament, last, favourite_wins)
        rounds.append(Swiss(9).next_round(tournament))
    reasons = [why.reason for round_ in rounds if round_ for why in round_.pairings]
    byes = [why for round_ in rounds if round_ for why in round_.byes.values()]
    for words in (
        "all have 0 points; by seed these are 1st and 4th of 7",
        "both have 3 points; by seed they are 1st and 3rd of the 4 with 3 points",
        "both have 6 points, and nobody else has",
        "P01 floated down from 9 points to meet P05 with 3: nobody else has 9 points, and it has met all in between",
        ": it has met everybody else who has ",
        "; they meet for the second time, as new opponents for everybody could not be found",
    ):
        assert any(words in reason for reason in reasons), (words, reasons)
    assert "odd number of players; lowest in the table of those with the fewest byes" in byes


def test_who_would_be_on_one_side_too_often_floats_and_is_told_so() -> None:
    words = re.compile("(P..) floated down .*: it hasn't met (P..) there, but both have been player (A|B) too often")
    tournament = play_all(Swiss(), TournamentRecord(make_entrants(20), lot=5), by_chance(Random(5)))
    told = [
        (round_, found)
        for round_ in tournament.rounds
        for pairing in round_.pairings
        if (found := words.match(pairing.reason))
    ]
    assert told, "no such round was played"
    for round_, found in told:
        balances = count_sides(replace(tournament, rounds=tournament.rounds[: round_.round_id - 1]))
        *players, side = found.groups()
        assert all(balances[player_id] * (1 if side == "A" else -1) >= 2 for player_id in players)


def test_who_is_left_over_by_an_odd_number_is_told_so() -> None:
    tournament = play_all(Swiss(), TournamentRecord(make_entrants(33), lot=1), by_chance(Random(1)))
    reasons = [pairing.reason for round_ in tournament.rounds for pairing in round_.pairings]
    floats = [reason for reason in reasons if "floated" in reason]
    assert any("points, and it was left over" in reason for reason in floats)
    assert any("without the 1 with a bye or an opponent who has more, and it was left over" in one for one in floats)


def test_a_tournament_ends_when_there_is_nobody_left_to_meet() -> None:
    entrants = [replace(entrant, is_out=entrant.seed > 1) for entrant in make_entrants(4)]
    assert Swiss().next_round(TournamentRecord(entrants)) is None
    assert Swiss().next_round(TournamentRecord(make_entrants(1))) is None


def test_many_players_are_paired() -> None:
    tournament = play_all(Swiss(3), TournamentRecord(make_entrants(301)), by_chance(Random(1)))
    met = Counter(pair for round_ in tournament.rounds for pair in list_pairs(round_))
    assert met.total() == len(met) == 450


def test_wrong_rounds_are_named() -> None:
    for rounds in (0, -1, "7", True, 2.0):
        with pytest.raises(ConfigError, match=r"format swiss: rounds: expected a whole number from 1 or null, found"):
            Swiss(rounds)  # type: ignore[arg-type]


def test_it_keeps_the_contract() -> None:
    check_format(Swiss, sizes=(*range(2, 13), 17, 32))
    check_format(Swiss, seeds=(4, 7), sizes=(65,))
    check_format(lambda: Swiss(8), sizes=(2, 3, 4, 5, 6, 9), max_side_gap=None, max_bye_gap=None)
