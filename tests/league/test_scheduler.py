"""The scheduler: who meets whom, and when."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.formats import base
from agent_league.formats.base import Entrant, TournamentRecord
from agent_league.formats.round_robin import RoundRobin
from agent_league.league.tournament import lay_out_rounds
from agent_league.model.schedule import Pairing, Schedule

SIZES = range(2, 61)

TABLE_16 = [
    ("R1M1", "P01", "P02"),
    ("R1M2", "P03", "P04"),
    ("R2M1", "P03", "P01"),
    ("R2M2", "P04", "P02"),
    ("R3M1", "P04", "P01"),
    ("R3M2", "P03", "P02"),
]


def make_schedule(
    player_ids: Sequence[str], limit: int | None = None, *, double: bool = False, max_rounds: int | None = None
) -> Schedule:
    chosen = RoundRobin(2 if double else 1, limit, max_rounds)
    entrants = [Entrant(player_id, seed) for seed, player_id in enumerate(player_ids, start=1)]
    return Schedule(tuple(lay_out_rounds(chosen, TournamentRecord(entrants))))


def ids(players: int) -> list[str]:
    return [f"P{number:02}" for number in range(1, players + 1)]


def meetings(schedule: Schedule) -> Counter[frozenset[str]]:
    return Counter(frozenset(pairing.players) for pairing in schedule.pairings)


def test_the_board_for_four_is_table_16_of_seed_003() -> None:
    schedule = make_schedule(ids(4))
    assert [(p.match_id, p.player_a, p.player_b) for p in schedule.pairings] == TABLE_16
    assert [round_.round_id for round_ in schedule.rounds] == [1, 2, 3]


def test_a_double_round_robin_of_four_is_the_board_and_then_the_board_with_sides_swapped() -> None:
    schedule = make_schedule(ids(4), double=True)
    again = [(f"R{int(match_id[1]) + 3}{match_id[2:]}", b, a) for match_id, a, b in TABLE_16]
    assert [(p.match_id, p.player_a, p.player_b) for p in schedule.pairings] == TABLE_16 + again
    assert [round_.round_id for round_ in schedule.rounds] == [1, 2, 3, 4, 5, 6]
    assert len(schedule.pairings) == 12


@given(players=st.integers(0, 24), limit=st.none() | st.integers(1, 15))
def test_in_a_double_round_robin_every_pair_meets_once_on_each_side(players: int, limit: int | None) -> None:
    single, double = make_schedule(ids(players), limit), make_schedule(ids(players), limit, double=True)
    plain = [[pairing.players for pairing in round_.pairings] for round_ in double.rounds]
    assert plain[: len(single.rounds)] == [[one.players for one in round_.pairings] for round_ in single.rounds]
    assert len(double.rounds) == 2 * len(single.rounds)
    met = Counter(pairing.players for pairing in double.pairings)
    assert met == Counter((a, b) for a in ids(players) for b in ids(players) if a != b)
    assert len({pairing.match_id for pairing in double.pairings}) == len(double.pairings)


def test_every_pair_meets_exactly_once() -> None:
    for players in SIZES:
        expected = Counter(frozenset(pair) for pair in combinations(ids(players), 2))
        assert meetings(make_schedule(ids(players))) == expected, players


def test_nobody_plays_twice_in_a_round_and_an_odd_number_gives_one_bye() -> None:
    for players in SIZES:
        for round_ in make_schedule(ids(players)).rounds:
            seated = [player for pairing in round_.pairings for player in pairing.players]
            assert len(seated) == len(set(seated)) == players - players % 2


def test_with_an_odd_number_everybody_has_one_free_round() -> None:
    for players in [size for size in SIZES if size % 2]:
        schedule = make_schedule(ids(players))
        free = Counter(
            player
            for round_ in schedule.rounds
            for player in set(ids(players)) - {seated for p in round_.pairings for seated in p.players}
        )
        assert free == Counter(ids(players)), players


def test_there_are_as_few_rounds_as_possible() -> None:
    for players in SIZES:
        assert len(make_schedule(ids(players)).rounds) == players - 1 + players % 2, players


def test_everybody_is_player_a_as_often_as_player_b_to_within_one() -> None:
    for players in [size for size in SIZES if size != 4]:
        pairings = make_schedule(ids(players)).pairings
        as_a = Counter(pairing.player_a for pairing in pairings)
        as_b = Counter(pairing.player_b for pairing in pairings)
        assert all(abs(as_a[player] - as_b[player]) <= 1 for player in ids(players)), players


@pytest.mark.parametrize("players", [0, 1])
def test_without_opponents_there_are_no_rounds(players: int) -> None:
    assert make_schedule(ids(players)).rounds == ()


@given(players=st.integers(2, 24), limit=st.none() | st.integers(1, 15))
def test_matches_per_round_splits_rounds_and_loses_nothing(players: int, limit: int | None) -> None:
    whole, split = make_schedule(ids(players)), make_schedule(ids(players), limit)
    assert [p.players for p in split.pairings] == [p.players for p in whole.pairings]
    size = players // 2
    assert len(split.rounds) == len(whole.rounds) * ceil(size / min(limit or size, size))
    assert all(0 < len(round_.pairings) <= (limit or size) for round_ in split.rounds)


@given(players=st.integers(2, 24), limit=st.none() | st.integers(1, 15), most=st.integers(1, 60), double=st.booleans())
def test_a_league_of_few_rounds_plays_the_first_of_the_schedule(
    players: int, limit: int | None, most: int, double: bool
) -> None:
    whole = make_schedule(ids(players), limit, double=double)
    assert make_schedule(ids(players), limit, double=double, max_rounds=most).rounds == whole.rounds[:most]


def test_rounds_that_are_not_played_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(match_id: str, *more: Any) -> Pairing:
        made.append(match_id)
        return Pairing(match_id, *more)

    monkeypatch.setattr(base, "Pairing", make)
    assert len(make_schedule(ids(1000), max_rounds=3).pairings) == len(made) == 1500


@given(players=st.integers(2, 24), limit=st.none() | st.integers(1, 15))
def test_match_ids_tell_round_and_number(players: int, limit: int | None) -> None:
    rounds = make_schedule(ids(players), limit).rounds
    assert [round_.round_id for round_ in rounds] == list(range(1, len(rounds) + 1))
    for round_ in rounds:
        expected = [f"R{round_.round_id}M{number}" for number in range(1, len(round_.pairings) + 1)]
        assert [pairing.match_id for pairing in round_.pairings] == expected
        assert {pairing.round_id for pairing in round_.pairings} == {round_.round_id}


@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=12, unique=True))
def test_any_ids_will_do(player_ids: list[str]) -> None:
    assert meetings(make_schedule(player_ids)) == Counter(frozenset(pair) for pair in combinations(player_ids, 2))


def test_the_round_after_the_last_is_none() -> None:
    schedule = make_schedule(ids(4))
    assert [schedule.next_round_id(round_id) for round_id in (1, 2, 3)] == [2, 3, None]
