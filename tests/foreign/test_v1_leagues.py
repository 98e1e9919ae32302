"""Leagues of `league.v1` to the letter of seed 001, over real HTTP: rules, ids and times, whatever made them v1."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.launch.league_start import start_new_league
from tests.conftest import PlanMaker
from tests.foreign.players import ForeignPlayer
from tests.foreign.stage import Played, planned, play_with_players
from tests.foreign.v1_player import V1FramedPlayer, V1MovePlayer, V1Player
from tests.foreign.web import Message


class V1SecondPlayer(V1Player):
    """One more of them."""

    name = "V1 Second"


class V1WrongPlayer(V1Player):
    """Its first choice in each match is none."""

    name = "V1 Wrong"

    def play(self, message: Message) -> Message:
        is_first = message["match_id"] not in self.choices
        answer = super().play(message)
        return {**answer, "play": {"action": "choose", "value": "EVEN"}} if is_first else answer


ALL_V1: tuple[type[ForeignPlayer], ...] = (V1Player, V1SecondPlayer, V1FramedPlayer, V1MovePlayer)


def say_v1_in_the_league_file(home: Path) -> None:
    path = home / "config" / "leagues" / "league_2025_even_odd.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"protocol": "league.v1"}))


def numbers(played: Played) -> set[tuple[int, int]]:
    """The draws of all matches as their files have them."""
    chosen = [match["game_parameters"] for match in played.files.values()]
    return {(parameters["min_number"], parameters["max_number"]) for parameters in chosen}


@pytest.mark.parametrize("because_of", ["its players", "an option", "its file"])
async def test_a_v1_league_plays_the_rules_of_001_however_it_was_started(
    home: Path, plan: PlanMaker, because_of: str
) -> None:
    if because_of == "its file":
        say_v1_in_the_league_file(home)
    made = planned(plan, protocol="v1" if because_of == "an option" else None)
    kinds = ALL_V1 if because_of == "its players" else ALL_V1[:1]
    played, [guest, *_] = await play_with_players(made, *kinds)
    played.assert_played(players=4, meetings=2)
    assert (played.completed.rounds, played.completed.matches) == (6, 12)
    assert numbers(played) == {(0, 99)}
    assert isinstance(guest, V1Player)
    assert not guest.faults
    assert guest.final
    assert (guest.final["total_rounds"], guest.final["total_matches"]) == (6, 12)


@pytest.mark.parametrize("says_so", [False, True])
async def test_a_mixed_league_plays_the_rules_of_v2_whatever_its_file_says(
    home: Path, plan: PlanMaker, says_so: bool
) -> None:
    if says_so:
        say_v1_in_the_league_file(home)
    played, guests = await play_with_players(planned(plan, protocol="v2"), V1Player, V1SecondPlayer)
    played.assert_played(players=4)
    assert (played.completed.rounds, played.completed.matches) == (3, 6)
    assert numbers(played) == {(1, 10)}
    assert not [fault for guest in guests for fault in guest.faults]


def heard(guest: ForeignPlayer, kind: str) -> list[Any]:
    return [message for message in guest.received if message.get("message_type") == kind]


async def test_ids_are_of_this_instance_alone_and_times_have_real_milliseconds(plan: PlanMaker) -> None:
    leagues: list[set[str]] = []
    conversations: list[set[str]] = []
    for _ in range(2):
        made = planned(plan)
        start_new_league(made.home, made.league.league_id, None)
        played, guests = await play_with_players(made, V1Player, V1SecondPlayer, V1FramedPlayer, V1WrongPlayer)
        assert not [fault for guest in guests for fault in guest.faults]
        everything = [*played.registrations[:2], *(message for guest in guests for message in guest.received)]
        leagues.append({message["league_id"] for message in everything})
        conversations.append({message["conversation_id"] for message in everything})
        thousandths = {message["timestamp"][-4:-1] for message in everything}
        assert len(thousandths) > len(everything) / 20, "they aren't all .000Z"
    assert [len(ids) for ids in leagues] == [1, 1], "all that is said in a league names it"
    assert leagues[0] != leagues[1]
    assert not conversations[0] & conversations[1]


async def test_every_invitation_says_30_seconds_and_every_validation_goes_to_both(plan: PlanMaker) -> None:
    kinds = (V1Player, V1SecondPlayer, V1FramedPlayer, V1WrongPlayer)
    played, guests = await play_with_players(planned(plan), *kinds)
    for guest in guests:
        assert {m["game_info"]["timeout_seconds"] for m in heard(guest, "GAME_INVITATION")} == {30}
    told = {guest: heard(guest, "PLAY_VALIDATION") for guest in guests}
    wrong = next(guest for guest in guests if isinstance(guest, V1WrongPlayer))
    invalid = {guest: [m for m in notices if m["validation"]["status"] == "INVALID"] for guest, notices in told.items()}
    assert len(invalid[wrong]) == 6
    assert sum(len(invalid[guest]) for guest in guests if guest is not wrong) == 6, "each opponent twice"
    for guest in guests:
        for notice in invalid[guest]:
            validation = notice["validation"]
            assert validation["player_id"] == wrong.player_id
            assert validation["error"] == "Choice not in allowed values"
            assert validation["play"] == {"action": "choose", "value": "EVEN" if guest is wrong else None}
    assert {len(notices) - len(invalid[guest]) for guest, notices in told.items()} == {12}
    assert len(played.results) == 12
