"""The referee's tools: who may call them, what they take, and what they give away while a match runs."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.protocol.tokens import SigningKey
from agent_league.testing.peers import Params, Script, always_reply, never_reply, utc_timestamp
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import LEAGUE, SIGNED, Hall, accept_with_key, hall

STEPS = ["register_to_league", "collect_choices", "draw_number", "finalize_match"]


def held_until(event: asyncio.Event, answer: Any) -> Script:
    async def script(_: Params) -> Any:
        await event.wait()
        return answer

    return script


def code(answer: dict[str, Any]) -> str:
    assert answer["message_type"] == "LEAGUE_ERROR"
    text: str = answer["error_code"]
    return text


@in_virtual_time
async def test_a_full_referee_refuses_with_e016_and_takes_the_match_once_there_is_room(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home, max_concurrent_matches=1) as match:
        match.pair(a={"choose_parity": held_until(go, {"parity_choice": "even"})})
        match.seat("P03")
        match.seat("P04")
        assert await match.start("R1M1") == {"status": "ok"}
        refused = await match.start("R1M2", who=("P03", "P04"))
        assert code(refused) == "E016"
        assert "its limit" in refused["message"]
        assert match.players["P03"].received_calls == []
        go.set()
        await match.manager.wait_for_calls("report_match_result")
        await match.play("R1M2", who=("P03", "P04"))


@in_virtual_time
async def test_several_matches_run_at_once_up_to_the_limit(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home, max_concurrent_matches=3) as match:
        answers: list[dict[str, Any]] = []
        for number in range(4):
            a, b = f"P{2 * number + 1:02}", f"P{2 * number + 2:02}"
            match.seat(a, choose_parity=held_until(go, {"parity_choice": "even"}))
            match.seat(b)
            answers.append(await match.start(f"R1M{number + 1}", who=(a, b)))
        assert answers[:3] == [{"status": "ok"}] * 3
        assert code(answers[3]) == "E016"
        for number in range(3):
            await match.players[f"P{2 * number + 1:02}"].wait_for_calls("choose_parity")
        assert match.referee.health()["running_matches"] == 3
        go.set()
        reports = await match.manager.wait_for_calls("report_match_result", 3)
    assert {report["match_id"] for report in reports} == {"R1M1", "R1M2", "R1M3"}


@in_virtual_time
async def test_starting_a_running_match_again_changes_nothing(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home, max_concurrent_matches=1) as match:
        match.pair(a={"choose_parity": held_until(go, {"parity_choice": "even"})})
        assert await match.start() == {"status": "ok"}
        await match.players["P01"].wait_for_calls("choose_parity")
        assert await match.start() == {"status": "ok"}
        go.set()
        await match.players["P02"].wait_for_calls("notify_match_result")
        await match.manager.wait_for_calls("report_match_result")
    assert len(match.players["P01"].received_params("handle_game_invitation")) == 1
    assert len(match.manager.received_params("report_match_result")) == 1


async def test_the_order_of_a_finished_match_said_again_changes_nothing(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        assert await match.start() == {"status": "ok"}
        await match.manager.wait_for_calls("report_match_result")
        assert await match.start() == {"status": "ok"}
        for player in match.players.values():
            await player.wait_for_calls("notify_match_result")
    assert len(match.players["P01"].received_params("handle_game_invitation")) == 1
    assert len(match.manager.received_params("report_match_result")) == 1


BAD_ORDERS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown game": ({"game_type": "chess"}, "E002"),
    "another league": ({"league_id": "league_2024_chess"}, "E008"),
    "a player as sender": ({"sender": "player:P01"}, "E012"),
    "a referee as sender": ({"sender": "referee:REF02"}, "E012"),
    "a local timestamp": ({"timestamp": "2025-01-15T10:00:00"}, "E021"),
    "another protocol": ({"protocol": "league.v1"}, "E018"),
    "no match": ({"match_id": None}, "E003"),
    "a match that can't name a file": ({"match_id": "../../etc/passwd"}, "E002"),
    "no players": ({"player_A": None}, "E003"),
    "a round that is no number": ({"round_id": "1"}, "E002"),
}


@pytest.mark.parametrize("fault", BAD_ORDERS)
@in_virtual_time
async def test_an_order_that_is_not_right_is_refused_and_nobody_is_called(home: Path, fault: str) -> None:
    fields, expected = BAD_ORDERS[fault]
    async with hall(home) as match:
        match.pair()
        order = {**match.order(), **fields}
        answer = await match.call("start_match", {name: value for name, value in order.items() if value is not None})
        assert code(answer) == expected
        assert answer["original_message_type"] == "START_MATCH"
        assert match.players["P01"].received_calls == []
        assert match.referee.health()["running_matches"] == 0
        await match.play()


@in_virtual_time
async def test_a_player_against_itself_is_no_match(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await match.start(who=("P01", "P01"))
        assert code(answer) == "E002"
        assert answer["context"]["field"] == "player_B.player_id"


@in_virtual_time
async def test_a_refused_order_names_the_games_that_are_known(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await match.start(game_type="chess")
    told = {"field": "game_type", "expected": ["even_odd"], "received": "chess"}
    assert answer["context"] == {"action": "START_MATCH", **told}
    assert answer["conversation_id"] == "conv-r1m1-001"


async def asked_halfway(match: Hall, go: asyncio.Event) -> dict[str, Any]:
    """The state of a match in which P01 has chosen, P02 erred once, and is still thinking."""
    calls = 0

    async def slow(_: Params) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            return {"parity_choice": "ODD"}
        await go.wait()
        return {"parity_choice": "odd"}

    match.pair(b={"choose_parity": slow})
    await match.start()
    await match.players["P02"].wait_for_calls("choose_parity", 2)
    return await match.call("get_match_state", {"match_id": "R1M1"})


@in_virtual_time
async def test_while_a_match_runs_its_state_shows_no_choice_to_anybody(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home) as match:
        state = await asked_halfway(match, go)
        go.set()
        await match.manager.wait_for_calls("report_match_result")
    assert state["state"] == "COLLECTING_CHOICES"
    assert state["result"] is None
    assert [entry["state"] for entry in state["lifecycle"]] == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES"]
    received = [entry for entry in state["transcript"] if entry["direction"] == "received"]
    assert {"P01", "P02"} == {entry["player_id"] for entry in received}
    for entry in state["transcript"]:
        assert not {"message", "error", "outcome"} & set(entry)
    for word in ('"even"', '"odd"', "ODD", "'even'", "parity_choice"):
        assert word not in json.dumps(state)


@in_virtual_time
async def test_once_a_match_is_over_its_state_shows_everything_but_tokens(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        report = await match.play()
        state = await match.call("get_match_state", {"match_id": "R1M1"})
    assert state["state"] == "FINISHED"
    assert state["players"] == ["P01", "P02"]
    assert state["result"]["winner_player_id"] == report["result"]["winner"]
    choices = [
        entry["message"]["parity_choice"]
        for entry in state["transcript"]
        if entry["direction"] == "received" and entry["method"] == "choose_parity"
    ]
    assert sorted(choices) == ["even", "odd"]
    assert "tok-" not in json.dumps(state)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"match_id": "R9M9"}, "E007"),
        ({"match_id": 7}, "E007"),
        ({"match_id": ["R1M1"]}, "E007"),
        ({}, "E003"),
        ({"match_id": None}, "E003"),
    ],
)
@in_virtual_time
async def test_a_match_that_is_not_here_has_no_state(home: Path, params: dict[str, Any], expected: str) -> None:
    async with hall(home) as match:
        assert code(await match.call("get_match_state", params)) == expected


@pytest.mark.parametrize("step", STEPS)
@in_virtual_time
async def test_the_steps_of_a_match_answer_only_to_the_manager(home: Path, step: str) -> None:
    go = asyncio.Event()
    async with hall(home) as match:
        await asked_halfway(match, go)
        for sender in ("player:P01", "referee:REF01", None, 7):
            refused = await match.call(step, {"sender": sender, "match_id": "R1M1"})
            assert code(refused) == "E012"
            assert "COLLECTING" not in json.dumps(refused)
        told = await match.call(step, {"sender": "league_manager", "match_id": "R1M1"})
        assert told == {"status": "ok", "match_id": "R1M1", "state": "COLLECTING_CHOICES"}
        every = await match.call(step, {"sender": "league_manager"})
        assert every == {"status": "ok", "matches": {"R1M1": "COLLECTING_CHOICES"}}
        assert code(await match.call(step, {"sender": "league_manager", "match_id": "R9M9"})) == "E007"
        go.set()
        await match.manager.wait_for_calls("report_match_result")


NOTICES: dict[str, dict[str, Any]] = {
    "notify_round": {"message_type": "ROUND_ANNOUNCEMENT", "round_id": 1, "matches": []},
    "update_standings": {"message_type": "LEAGUE_STANDINGS_UPDATE", "round_id": 1, "standings": []},
    "notify_round_completed": {"message_type": "ROUND_COMPLETED", "round_id": 1},
}
END: dict[str, Any] = {
    "message_type": "LEAGUE_COMPLETED",
    "total_rounds": 3,
    "total_matches": 6,
    "champion": {"player_id": "P01", "display_name": "Alpha", "points": 9},
    "final_standings": [],
}


@pytest.mark.parametrize("method", NOTICES)
@in_virtual_time
async def test_notices_of_the_manager_are_acknowledged_and_those_of_others_are_not(home: Path, method: str) -> None:
    async with hall(home) as match:
        message = match.manager.build_message(**NOTICES[method])
        assert await match.call(method, message) == {"status": "ok"}
        assert code(await match.call(method, {**message, "sender": "player:P01"})) == "E012"


@in_virtual_time
async def test_after_the_end_of_the_league_no_match_is_taken(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        assert await match.call("notify_league_completed", match.manager.build_message(**END)) == {"status": "ok"}
        assert match.referee.health()["state"] == "SHUTDOWN"
        assert code(await match.start()) == "E016"


@pytest.mark.parametrize("exit_when_done", [True, False])
@in_virtual_time
async def test_what_a_referee_is_still_at_when_the_league_is_over_is_dropped(home: Path, exit_when_done: bool) -> None:
    """All results are in, so the match was given to another."""
    async with hall(home, exit_when_done=exit_when_done) as match:
        match.pair(a={"choose_parity": never_reply})
        await match.start()
        await match.players["P01"].wait_for_calls("choose_parity")
        assert await match.call("notify_league_completed", match.manager.build_message(**END)) == {"status": "ok"}
        await asyncio.sleep(1)
        assert match.referee.health()["running_matches"] == 0
        assert match.referee.health()["state"] == "SHUTDOWN"
    assert match.manager.received_params("report_match_result") == []
    assert match.players["P02"].received_params("notify_match_result") == []


@in_virtual_time
async def test_the_manager_may_ask_for_many_matches_at_once(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home) as match:
        match.pair(a={"choose_parity": held_until(go, {"parity_choice": "even"})})
        match.seat("P03")
        match.seat("P04")
        await match.play("R1M2", who=("P03", "P04"))
        await asyncio.gather(*match.referee._match_tasks.values())
        await match.start("R1M1")
        await match.players["P01"].wait_for_calls("choose_parity")
        answer = await match.call("get_match_state", {"match_ids": ["R1M1", "R1M2", "R9M9"]})
        assert answer == {"matches": {"R1M1": "COLLECTING_CHOICES", "R1M2": None, "R9M9": None}}
        assert await match.call("get_match_state", {"match_ids": []}) == {"matches": {}}
        odd = await match.call("get_match_state", {"match_ids": [7, None, ["R1M1"]]})
        assert set(odd["matches"].values()) == {None}
        go.set()
        await match.manager.wait_for_calls("report_match_result", 2)


@in_virtual_time
async def test_positions_are_what_both_players_see_of_running_and_watched_matches(home: Path) -> None:
    go = asyncio.Event()
    async with hall(home) as match:
        match.pair(a={"choose_parity": held_until(go, {"parity_choice": "even"})})
        await match.start("R1M1")
        await match.players["P01"].wait_for_calls("choose_parity")
        asked = {"match_ids": ["R1M1", "R9M9"], "positions": True}
        answer = await match.call("get_match_state", asked)
        assert answer["matches"] == {"R1M1": "COLLECTING_CHOICES", "R9M9": None}
        (position,) = answer["positions"].values()
        assert position["view"]["choices"] is None, "one of them has chosen already"
        assert (position["moves"], position["last"], position["waiting_for"]) == (0, {}, ["P01", "P02"])
        go.set()
        await match.manager.wait_for_calls("report_match_result")
        await asyncio.gather(*match.referee._match_tasks.values())
        last = (await match.call("get_match_state", asked))["positions"]["R1M1"]
        assert last["view"]["number"] is not None
        assert last["last"] == {"P01": "even", "P02": last["last"]["P02"]}


@in_virtual_time
async def test_of_a_league_that_hides_something_no_position_is_told(home: Path) -> None:
    async with hall(home) as match:
        match.pair(a={"choose_parity": never_reply})
        await match.start("R1M1", hides_transcript=True)
        await match.players["P01"].wait_for_calls("choose_parity")
        answer = await match.call("get_match_state", {"match_ids": ["R1M1"], "positions": True})
        assert answer["positions"] == {}


@in_virtual_time
async def test_a_match_is_a_referees_until_its_report_is_acknowledged(home: Path) -> None:
    """The match is over, but the manager is away: it must not give it to another."""
    async with hall(home, manager={"report_match_result": never_reply}) as match:
        match.pair()
        await match.start()
        await match.manager.wait_for_calls("report_match_result", 2)
        assert (await match.call("get_match_state", {"match_ids": ["R1M1"]}))["matches"] == {"R1M1": "FINISHED"}
        match.manager._scripts["report_match_result"] = always_reply({"status": "ok"})
        await match.manager.wait_for_calls("report_match_result", 3)
        await asyncio.sleep(1)
        assert (await match.call("get_match_state", {"match_ids": ["R1M1"]}))["matches"] == {"R1M1": None}


KEY, STRANGER = SigningKey.generate(), SigningKey.generate()


def signed(key: SigningKey = KEY, **changes: Any) -> str:
    """The manager's own token for this referee."""
    claims: dict[str, Any] = {"league_id": LEAGUE, "audience": "REF01", "now": datetime.now(UTC), "lifetime": 60}
    return key.sign_manager_token(**{**claims, **changes})


async def sign(_: Params) -> Any:
    """A manager whose calls can be told from others'."""
    given = {"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok-ref01-x", "league_id": LEAGUE}
    return {**given, "timestamp": utc_timestamp(), "public_key": KEY.public_jwk}


FORGED: dict[str, str | None] = {
    "nothing": None,
    "a word": "league_manager",
    "for another agent": signed(audience="REF02"),
    "of another league": signed(league_id="league_1999"),
    "of another manager": signed(STRANGER),
    "expired": signed(now=datetime(2020, 1, 1, tzinfo=UTC)),
    "a match token": KEY.sign_match_token(
        league_id=LEAGUE,
        match_id="R1M1",
        referee_id="REF01",
        players=("P01", "P02"),
        audience=["REF01"],
        now=datetime.now(UTC),
        lifetime=60,
    ),
}


@pytest.mark.parametrize("forgery", FORGED)
@in_virtual_time
async def test_what_the_manager_did_not_sign_is_refused_and_changes_nothing(home: Path, forgery: str) -> None:
    token = FORGED[forgery]
    expected = "E011" if token is None else "E012"
    async with hall(home, manager={"register_referee": sign}) as match:
        match.pair()
        notices = {**NOTICES, "notify_league_completed": END}
        calls: dict[str, dict[str, Any]] = {
            "start_match": match.order(),
            **{method: match.manager.build_message(**notice) for method, notice in notices.items()},
            **{step: {"sender": "league_manager"} for step in STEPS},
        }
        for method, params in calls.items():
            assert code(await match.call(method, params, token)) == expected
            if method != "start_match":
                continue
            assert code(await match.call(method, {**params, "auth_token": signed()}, token)) == expected
        assert match.referee.health()["state"] == "REGISTERED"
        assert match.players["P01"].received_calls == []
        for method, params in calls.items():
            assert (await match.call(method, params, signed()))["status"] == "ok"


@in_virtual_time
async def test_an_agent_that_answers_anybody_takes_orders_without_a_signature(home: Path) -> None:
    async with hall(home, {"security.verify_callers": False}, manager={"register_referee": sign}) as match:
        match.pair()
        await match.play()


@in_virtual_time
async def test_the_state_of_the_referee_follows_its_life(home: Path) -> None:
    async with hall(home) as match:
        assert match.referee.health()["state"] == "REGISTERED"
        match.pair(b={"handle_game_invitation": always_reply({"accept": False})})
        await match.play()
        health = match.referee.health()
    assert (health["role"], health["id"], health["state"]) == ("referee", "REF01", "ACTIVE")


@in_virtual_time
async def test_the_oldest_finished_matches_are_forgotten_but_their_files_stay(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.referee.finished_matches.KEPT_MATCHES", 2)
    async with hall(home) as match:
        match.pair()
        for number in range(1, 6):
            await match.play(f"R{number}M1")
        assert code(await match.call("get_match_state", {"match_id": "R1M1"})) == "E007"
        assert (await match.call("get_match_state", {"match_id": "R5M1"}))["state"] == "FINISHED"
    assert match.record("R1M1")["match_id"] == "R1M1"


@in_virtual_time
async def test_a_match_that_is_played_again_is_not_forgotten_as_an_old_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.referee.finished_matches.KEPT_MATCHES", 1)
    async with hall(home, SIGNED, manager={"register_referee": accept_with_key}) as match:
        match.pair()
        match.seat("P03")
        match.seat("P04")
        await asyncio.gather(match.play("R1M1"), match.play("R1M2", who=("P03", "P04")))
        await asyncio.gather(*match.referee._match_tasks.values())
        match.seat("P01", choose_parity=never_reply)
        assert await match.start("R1M1", match_token="tok-r1m1-given-out-again") == {"status": "ok"}
        state = await match.call("get_match_state", {"match_id": "R1M1"})
        assert state["state"] == "WAITING_FOR_PLAYERS"
        assert await match.start("R1M2", who=("P03", "P04")) == {"status": "ok"}


@in_virtual_time
async def test_ending_the_referee_ends_its_matches(home: Path) -> None:
    async with hall(home) as match:
        match.pair(a={"choose_parity": never_reply})
        await match.start()
        await match.players["P01"].wait_for_calls("choose_parity")
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert others == []
    assert match.manager.received_params("report_match_result") == []


async def test_a_league_error_pushed_to_a_referee_is_logged_and_acknowledged(home: Path) -> None:
    async with hall(home) as match:
        error = {"message_type": "LEAGUE_ERROR", "sender": "league_manager", "error_code": "E013"}
        assert await match.call("notify_league_error", error) == {"status": "ok"}
        assert "league_error_received" in {line["event_type"] for line in match.log()}
