"""Our player under a manager and referees that aren't ours: what it reads of what they say, and from whom."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.players.events import LeagueOver, StandingsChanged
from agent_league.protocol.tokens import SigningKey
from agent_league.testing.peers import Params, utc_timestamp
from tests.players.chair import LEAGUE, Fixed, chair, game_over, invitation, parity_call

OK = {"status": "ok"}
ELSEWHERE = "203.0.113.9"


async def accept_with_key(params: Params) -> Any:
    """The registration at a manager of ours."""
    given = {"status": "ACCEPTED", "player_id": "P01", "auth_token": "tok-p01-x", "league_id": LEAGUE}
    return {**given, "timestamp": utc_timestamp(), "public_key": SigningKey.generate().public_jwk}


WON = {"status": "WIN", "winner_player_id": "P01"}
LOST = {"status": "WIN", "winner_player_id": "P02"}
RESULTS: dict[str, tuple[Mapping[str, Any], str]] = {
    "in our own words": ({"game_result": WON}, "WIN"),
    "flat": (WON, "WIN"),
    "flat, to the loser": (LOST, "LOSS"),
    "LOSS to the loser": ({"game_result": {"status": "LOSS"}}, "LOSS"),
    "LOSS with a winner": ({"game_result": {"status": "LOSS", "winner_player_id": "P02"}}, "LOSS"),
    "WIN to the winner": ({"game_result": {"status": "WIN"}}, "WIN"),
    "a flat word": ({"result": "LOST"}, "LOSS"),
    "a result under another name": ({"result": {"outcome": "win", "winner": "P02"}}, "LOSS"),
    "no more than a winner": ({"game_result": {"winner_id": "P01"}}, "WIN"),
    "no winner": ({"game_result": {"winner": None}}, "DRAW"),
    "a draw in other words": ({"status": "tie", "winner": "draw"}, "DRAW"),
    "choices that are none": ({"game_result": {**WON, "choices": ["even"], "reason": 7}}, "WIN"),
}


@pytest.mark.parametrize("envelope", ["whole", "half", "none"])
@pytest.mark.parametrize("form", RESULTS)
async def test_a_result_is_read_as_far_as_it_goes(home: Path, form: str, envelope: str) -> None:
    fields, outcome = RESULTS[form]
    missing = {"whole": (), "half": ("timestamp", "sender"), "none": tuple(game_over())}[envelope]
    head = {name: value for name, value in game_over().items() if name not in (*missing, "game_result")}
    async with chair(home) as seat:
        await seat.call("handle_game_invitation", invitation())
        assert await seat.call("notify_match_result", {**head, "match_id": "R1M1", **fields}) == OK
        (game,) = (await seat.state())["matches"]
    assert (game["match_id"], game["outcome"], game["opponent_id"]) == ("R1M1", outcome, "P02")


@pytest.mark.parametrize(
    "fields", [{}, {"game_result": {}}, {"game_result": {"status": "perhaps"}}, {"result": ["WIN"]}, {"status": 7}]
)
async def test_a_result_that_says_nothing_is_refused(home: Path, fields: dict[str, Any]) -> None:
    async with chair(home) as seat:
        refused = await seat.call("notify_match_result", {"match_id": "R1M1", **fields})
        assert refused["error_code"] in ("E002", "E003")
        assert (await seat.state())["matches"] == []


NOTICES: dict[str, dict[str, Any]] = {
    "notify_round": {"matches": [{"match_id": "R1M1", "player1_id": "P01", "player2_id": "P02"}, "rubbish", {}]},
    "update_standings": {"standings": [{"player_id": "P02", "points": 3.0}, {"player_id": "P01", "wins": 1}, 7, "P03"]},
    "notify_round_completed": {"summary": {"wins": 1}},
    "notify_league_completed": {"champion": "P02", "standings": [{"player_id": "P02", "points": 3}, "P01"]},
}


@pytest.mark.parametrize("sender", [None, "league_manager", "league_manager:LM01"])
@pytest.mark.parametrize("method", NOTICES)
async def test_a_notice_is_read_as_far_as_it_goes(home: Path, method: str, sender: str | None) -> None:
    async with chair(home) as seat:
        assert await seat.call(method, {"sender": sender, **NOTICES[method]}) == OK


async def test_a_table_is_taken_with_what_its_rows_have(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("update_standings", NOTICES["update_standings"])
        await seat.call("notify_league_completed", NOTICES["notify_league_completed"])
        (table,) = (told for _, told in seat.told if isinstance(told, StandingsChanged))
        (over,) = (told for _, told in seat.told if isinstance(told, LeagueOver))
    rows = [(row.rank, row.player_id, row.display_name, row.points, row.played) for row in table.rows]
    assert rows == [(1, "P02", "P02", 3, 0), (2, "P01", "P01", 0, 1), (4, "P03", "P03", 0, 0)]
    assert (over.champion_ids, over.rank) == (("P02",), 2)


@pytest.mark.parametrize("sender", ["player:P02", "referee:REF01", "somebody"])
@pytest.mark.parametrize("method", NOTICES)
async def test_a_wrong_sender_is_no_missing_one(home: Path, method: str, sender: str) -> None:
    async with chair(home) as seat:
        refused = await seat.call(method, {"sender": sender, **NOTICES[method]})
    assert refused["error_code"] in ("E002", "E012")


@pytest.mark.parametrize("method", NOTICES)
async def test_a_notice_from_another_address_is_refused(home: Path, method: str) -> None:
    async with chair(home) as seat:
        CALLER_ADDRESS.set((ELSEWHERE, 9))
        assert (await seat.call(method, NOTICES[method]))["error_code"] == "E012"
        assert seat.player.health()["state"] == "REGISTERED"
        CALLER_ADDRESS.set(("127.0.0.1", 9))
        assert await seat.call(method, NOTICES[method]) == OK


async def test_a_result_is_taken_from_where_we_were_asked(home: Path) -> None:
    async with chair(home) as seat:
        CALLER_ADDRESS.set(("198.51.100.7", 9))
        await seat.call("handle_game_invitation", invitation())
        CALLER_ADDRESS.set((ELSEWHERE, 9))
        assert (await seat.call("notify_match_result", game_over()))["error_code"] == "E012"
        assert (await seat.call("notify_match_result", game_over("R9M9")))["error_code"] == "E012"
        CALLER_ADDRESS.set(("198.51.100.7", 9))
        assert await seat.call("notify_match_result", game_over()) == OK
        CALLER_ADDRESS.set(("127.0.0.1", 9))
        assert await seat.call("notify_match_result", game_over("R2M1")) == OK, "the manager is there"
        assert [game["match_id"] for game in (await seat.state())["matches"]] == ["R1M1", "R2M1"]


@pytest.mark.parametrize("method", NOTICES)
async def test_under_a_manager_of_ours_no_notice_is_completed(home: Path, method: str) -> None:
    async with chair(home, manager={"register_player": accept_with_key}) as seat:
        assert (await seat.call(method, NOTICES[method]))["error_code"] == "E003"
        whole = seat.manager.build_message("ROUND_COMPLETED", round_id=1)
        assert (await seat.call("notify_round_completed", whole))["error_code"] == "E011"


async def test_under_a_manager_of_ours_a_result_in_other_words_needs_the_same_proof(home: Path) -> None:
    async with chair(home, manager={"register_player": accept_with_key}) as seat:
        assert (await seat.call("notify_match_result", {"match_id": "R1M1", **WON}))["error_code"] == "E011"
        claimed = {"match_id": "R1M1", "auth_token": "tok-ref01-guess", **WON}
        assert (await seat.call("notify_match_result", claimed))["error_code"] == "E012"
        assert (await seat.state())["matches"] == []


async def test_a_question_that_a_strange_referee_repeats_is_answered_in_both_words(home: Path) -> None:
    async with chair(home, Fixed("odd")) as seat:
        await seat.call("handle_game_invitation", invitation())
        first = await seat.call("choose_parity", parity_call())
        again = await seat.call("choose_parity", parity_call())
        other = await seat.call("choose_parity", parity_call("R2M1"))
    assert ("choice" in first, "choice" in other) == (False, False)
    assert (again["parity_choice"], again["choice"]) == ("odd", "odd")


async def test_a_question_that_our_referee_repeats_is_answered_as_before(home: Path) -> None:
    async with chair(home) as seat:
        await seat.call("handle_game_invitation", invitation(draw_commitment="0" * 64))
        answers = [await seat.call("choose_parity", parity_call()) for _ in range(3)]
    assert not [answer for answer in answers if "choice" in answer]


@pytest.mark.parametrize("role", ["player_a", "Player_B", "challenger", "", 7])
async def test_a_role_is_read_in_any_case_and_is_not_needed_to_play(home: Path, role: Any) -> None:
    async with chair(home) as seat:
        assert (await seat.call("handle_game_invitation", invitation(role_in_match=role)))["accept"] is True
        assert await seat.choice() in ("even", "odd")
