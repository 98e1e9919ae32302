"""The contract of a ladder: ours keeps it, and each way to break it is found."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import ClassVar

import pytest

from agent_league.errors import ConfigError
from agent_league.ladders.base import FreePlayer, LadderPairing, LadderSituation, MatchRequest
from agent_league.ladders.nearest import Nearest
from agent_league.ladders.registry import LADDERS, load_ladder
from agent_league.testing.ladder_contract import check_ladder


def test_every_installed_ladder_keeps_the_contract() -> None:
    assert "nearest" in LADDERS.names
    for name in LADDERS.names:
        check_ladder(lambda name=name: load_ladder(name), seeds=range(2))  # type: ignore[misc]


Change = Callable[[LadderSituation, list[LadderPairing]], Sequence[LadderPairing]]


class Broken:
    """Our ladder with one promise broken."""

    name: ClassVar[str] = "broken"

    def __init__(self, change: Change) -> None:
        self._change = change

    def next_pairings(self, situation: LadderSituation) -> Sequence[LadderPairing]:
        return self._change(situation, list(Nearest().next_pairings(situation)))


def _pair_house_bots(situation: LadderSituation) -> list[LadderPairing]:
    bots = [one.player_id for one in situation.players if one.is_house]
    return [LadderPairing(bots[0], bots[1], "two bots")] if len(bots) > 1 else []


def _hide_ratings(situation: LadderSituation, _: list[LadderPairing]) -> Sequence[LadderPairing]:
    blind = [replace(one, rating=0.0) for one in situation.players]
    return Nearest().next_pairings(replace(situation, players=blind))


def _pair_sorted_seats(_: LadderSituation, found: list[LadderPairing]) -> list[LadderPairing]:
    return [LadderPairing(min(one.players), max(one.players), one.reason, one.is_requested) for one in found]


CALLS = count()
BREACHES: dict[str, Change] = {
    "paired 2 times at once": lambda _, found: [*found, *found[:1]],
    "is not free": lambda _, found: [LadderPairing("P999", one.player_b, one.reason) for one in found[:1]],
    "are free and due, but not paired": lambda _, found: found[1:],
    "a reason in words": lambda _, found: [LadderPairing(*one.players, " ", one.is_requested) for one in found],
    "had one seat": _pair_sorted_seats,
    "nobody asked for": lambda _, found: [LadderPairing(*one.players, one.reason, True) for one in found],
    "are both house bots": lambda situation, found: _pair_house_bots(situation) or found,
    "asked twice": lambda _, found: found[: -1 if next(CALLS) % 2 else None],
}


@pytest.mark.parametrize("words", BREACHES)
def test_each_broken_promise_is_found(words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_ladder(lambda: Broken(BREACHES[words]), sizes=(8, 13, 30))


def test_a_ladder_that_does_not_see_ratings_is_told_how_far_apart_its_players_are() -> None:
    with pytest.raises(AssertionError, match="Elo apart on average"):
        check_ladder(lambda: Broken(_hide_ratings), seeds=[0], sizes=(30,), max_side_gap=None)


def test_a_ladder_that_forgets_who_waits_is_found_where_referees_are_few() -> None:
    def pass_over_one(situation: LadderSituation, _: list[LadderPairing]) -> Sequence[LadderPairing]:
        others = [one for one in situation.players if one.player_id != "P07"]
        return Nearest().next_pairings(replace(situation, players=others))

    with pytest.raises(AssertionError, match="P07 was passed over for"):
        check_ladder(lambda: Broken(pass_over_one), seeds=[1], sizes=(100,))


def test_the_nearest_of_those_who_wait_meet_and_the_reason_says_so() -> None:
    players = [FreePlayer("P01", 0, 9), FreePlayer("P02", 400, 9), FreePlayer("P03", 20, 9), FreePlayer("P04", 390, 9)]
    pairings = Nearest().next_pairings(LadderSituation(players))
    assert {frozenset(one.players) for one in pairings} == {frozenset({"P01", "P03"}), frozenset({"P02", "P04"})}
    assert any(one.reason == "nearest ratings: 20 Elo apart, not met recently" for one in pairings)


def test_those_who_met_often_seem_further_apart() -> None:
    players = [FreePlayer("P01", 0, 9, waiting_sec=9), FreePlayer("P02", 10, 9), FreePlayer("P03", 60, 9)]
    pairings = Nearest().next_pairings(LadderSituation(players, {("P01", "P02"): 2}))
    assert set(pairings[0].players) == {"P01", "P03"}


def test_newcomers_begin_with_a_house_bot_each_and_requests_come_first() -> None:
    players = [
        *(FreePlayer(f"P0{number}") for number in (1, 2, 3)),
        FreePlayer("P04", games=9, is_due=False),
        FreePlayer("P09", is_house=True, slots=8),
    ]
    situation = LadderSituation(players, requests=[MatchRequest("P03", "P04")])
    pairings = Nearest().next_pairings(situation)
    assert set(pairings[0].players) == {"P03", "P04"}
    assert pairings[0].is_requested
    assert {frozenset(one.players) for one in pairings[1:]} == {frozenset({"P01", "P09"}), frozenset({"P02", "P09"})}


def test_who_has_not_passed_its_check_meets_house_bots_alone() -> None:
    players = [FreePlayer("P01", games=9, only_house=True), FreePlayer("P02", games=9)]
    assert Nearest().next_pairings(LadderSituation(players)) == []
    bot = FreePlayer("P09", is_house=True, slots=1)
    [pairing] = Nearest().next_pairings(
        LadderSituation([*players, bot], max_pairings=1, requests=[MatchRequest("P02", "P01")])
    )
    assert "P09" in pairing.players


def test_wrong_names_and_settings_are_told() -> None:
    with pytest.raises(ConfigError, match="no ladder 'swiss' is installed"):
        load_ladder("swiss")
    with pytest.raises(ConfigError, match=r"ladder nearest: house_games: expected a whole number from 0, found '2'"):
        load_ladder("nearest", {"house_games": "2"})
    with pytest.raises(ConfigError, match="expected a setting of this ladder"):
        load_ladder("nearest", {"near": 1})
