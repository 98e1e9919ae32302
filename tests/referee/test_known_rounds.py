"""Questions that leave out the rounds a player knows: to whom they go, and what happens if it lacks them after all."""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_league.referee.known_rounds import MAX_LACKS
from agent_league.referee.transcript import MAX_ANSWER_BYTES
from agent_league.testing.peers import Params, Script, ScriptedPlayer, utc_timestamp
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.referee.hall import Hall, hall
from tests.referee.tampering import Content, wrong

DILEMMA: dict[str, Any] = {"game_type": "prisoners_dilemma", "game_parameters": {"repeat": 7}}
MOVE = "make_move"
LACKS = {"protocol": "league.v2", "message_type": "LEAGUE_ERROR", "error_code": "E016", "message": "rounds are missing"}


def keep_rounds(hall: Hall, player_id: str, **fields: Any) -> ScriptedPlayer:
    """A player that says that it keeps the rounds; `fields` are further ones of its GAME_JOIN_ACK."""

    async def join(params: Params) -> Any:
        own = {"arrival_timestamp": utc_timestamp(), "accept": True, "rounds_since": True, **fields}
        return player.build_reply("GAME_JOIN_ACK", params, **own)

    player = hall.seat(player_id, handle_game_invitation=join)
    return player


def fail_at(player: ScriptedPlayer, fails: Callable[[int, bool], Any]) -> None:
    """Replace its answer to a question by what `fails` returns for its step and whether it leaves out rounds.

    None answers as usual; a script is run.
    """
    answer: Script = player._scripts[MOVE]

    async def move(params: Params) -> Any:
        instead = fails(params["move_request"]["step"], "rounds_since" in params["context"])
        if instead is None:
            return await answer(params)
        return await instead(params) if callable(instead) else instead

    player._scripts[MOVE] = move


def shown(player: ScriptedPlayer) -> list[tuple[int, int | None, int]]:
    """Step, rounds left out and rounds shown, of each question."""
    return [
        (
            asked["move_request"]["step"],
            asked["context"].get("rounds_since"),
            len(asked["move_request"]["context"]["rounds"]),
        )
        for asked in player.received_params(MOVE)
    ]


async def never(_: Params) -> Any:
    await asyncio.Event().wait()


WHOLE = [(step, None, step) for step in range(7)]
SHORT = [*WHOLE[:2], *((step, step - 1, 1) for step in range(2, 7))]
"""The first question that a player knows rounds of is the third."""


@in_virtual_time
async def test_a_player_that_keeps_rounds_is_shown_each_of_them_once_and_another_all_of_them(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        new, old = keep_rounds(match, "P01"), match.seat("P02")
        report = await match.play(**DILEMMA)
    assert report["result"]["terminations"] == {}
    assert shown(new) == SHORT
    assert shown(old) == WHOLE
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_a_game_without_rounds_is_asked_for_as_ever(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        players = [keep_rounds(match, player_id) for player_id in ("P01", "P02")]
        await match.play(game_type="tic_tac_toe")
    asked = [params for player in players for params in player.received_params(MOVE)]
    assert asked
    assert not any("rounds_since" in params["context"] for params in asked)


@in_virtual_time
async def test_who_lacks_rounds_gets_the_whole_view_in_the_same_attempt(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        player = keep_rounds(match, "P01")
        match.seat("P02")
        fail_at(player, lambda step, is_short: LACKS if step == 4 and is_short else None)
        report = await match.play(**DILEMMA)
    assert report["result"]["terminations"] == {}
    assert report["result"]["failures_in_a_row"]["P01"] == 0
    assert shown(player) == [*SHORT[:5], WHOLE[4], *SHORT[5:]]
    assert not player.received_params("notify_game_error")
    record = match.record()
    asked = [entry for entry in record["transcript"] if entry["direction"] == "sent" and entry["player_id"] == "P01"]
    assert {entry["attempt"] for entry in asked} == {1}
    assert [entry["error_code"] for entry in record["transcript"] if entry["direction"] == "failed"] == ["E016"]
    assert wrong(record) == {}


@in_virtual_time
async def test_who_lacks_them_again_and_again_is_shown_all_rounds_from_then_on(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        player = keep_rounds(match, "P01")
        match.seat("P02")
        fail_at(player, lambda _, is_short: LACKS if is_short else None)
        report = await match.play(**DILEMMA)
    refused = range(2, 2 + MAX_LACKS)
    assert report["result"]["terminations"] == {}
    assert [row for row in shown(player) if row[1] is not None] == [SHORT[step] for step in refused]
    assert [row for row in shown(player) if row[1] is None] == WHOLE
    assert wrong(match.record()) == {}


@pytest.mark.parametrize(("instead", "code"), [(never, "E001"), ({"move_data": "betray"}, "E010")])
@in_virtual_time
async def test_a_second_attempt_has_the_whole_view(home: Path, instead: Any, code: str) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        player = keep_rounds(match, "P01")
        match.seat("P02")
        fail_at(player, lambda step, is_short: instead if step == 3 and is_short else None)
        report = await match.play(**DILEMMA)
    assert report["result"]["terminations"] == {}
    assert shown(player) == [*SHORT[:4], WHOLE[3], *SHORT[4:]]
    (error,) = player.received_params("notify_game_error")
    assert (error["error_code"], error["retry_count"]) == (code, 1)
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_lacking_rounds_costs_no_attempt_but_is_no_excuse_for_the_whole_view(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        player = keep_rounds(match, "P01")
        match.seat("P02")
        fail_at(player, lambda step, _: LACKS if step == 5 else None)
        report = await match.play(**DILEMMA)
    assert report["result"]["terminations"] == {"P01": "unreadable_answer"}
    assert shown(player) == [*SHORT[:6], WHOLE[5], WHOLE[5], WHOLE[5]]
    assert len(player.received_params("notify_game_error")) == 3
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_what_was_left_out_holds_also_where_the_answer_to_the_invitation_was_too_long_to_keep(
    home: Path,
) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        player = keep_rounds(match, "P01", note="x" * MAX_ANSWER_BYTES)
        match.seat("P02")
        await match.play(**DILEMMA)
    assert shown(player) == SHORT
    assert wrong(match.record()) == {}


def question(content: Content, step: int, player_id: str) -> Any:
    """The message of a match file that asks a player for its move of a step."""
    messages = [
        entry["message"]
        for entry in content["transcript"]
        if entry["direction"] == "sent" and (entry["player_id"], entry["method"]) == (player_id, MOVE)
    ]
    return next(message for message in messages if message["move_request"]["step"] == step)


@in_virtual_time
async def test_a_file_that_leaves_out_other_rounds_than_the_player_knew_does_not_hold(home: Path) -> None:
    async with hall(home, clock=VirtualClock(), game_types=("*",)) as match:
        keep_rounds(match, "P01")
        match.seat("P02")
        await match.play(**DILEMMA)

    def change(player_id: str, **context: Any) -> Content:
        record = copy.deepcopy(match.record())
        question(record, 4, player_id)["context"] |= context
        return record

    assert wrong(change("P01", rounds_since=3)) == {}
    assert "context.rounds_since is 2" in wrong(change("P01", rounds_since=2))["messages"][0]
    assert "no question has 'rounds_since'" in wrong(change("P02", rounds_since=3))["messages"][0]
    short = copy.deepcopy(match.record())
    del question(short, 4, "P02")["move_request"]["context"]["rounds"][:3]
    assert "rounds" in wrong(short)["messages"][0]
