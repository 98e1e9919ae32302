"""Asking a player: limits, three attempts, a GAME_ERROR after each failure, waits, and the breaker."""

import asyncio
import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_league.errors import ErrorCode, PeerUnreachable
from agent_league.referee import requests
from agent_league.testing.peers import (
    Params,
    RawReply,
    Script,
    ScriptedPlayer,
    always_reply,
    never_reply,
    reply_garbage,
)
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time, run_in_virtual_time
from tests.games.sticks import STICKS
from tests.referee.golden import golden, missing
from tests.referee.hall import Hall, hall

NEXT = "Technical loss if no valid answer comes after retries"
LAST = "Technical loss: no attempt is left"


def errors(match: Hall, player_id: str = "P02") -> list[dict[str, Any]]:
    return match.players[player_id].received_params("notify_game_error")


def raw(body: bytes) -> Script:
    async def script(_: Params) -> Any:
        raise RawReply(body)

    return script


def in_turn(*scripts: Script) -> Script:
    """One script a call; the last one stays."""
    waiting = list(scripts)

    async def script(params: Params) -> Any:
        return await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(params)

    return script


def framed(**result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **result}).encode()


def choice(**fields: Any) -> Script:
    return always_reply({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd", **fields})


BAD_CHOICES: dict[str, tuple[Script, str]] = {
    "wrong letter case": (choice(parity_choice="Odd"), "E004"),
    "capitals": (choice(parity_choice="EVEN"), "E004"),
    "a blank before": (choice(parity_choice=" odd"), "E004"),
    "a line end behind": (choice(parity_choice="odd\n"), "E004"),
    "another word": (choice(parity_choice="seven"), "E004"),
    "an empty word": (choice(parity_choice=""), "E004"),
    "a number": (choice(parity_choice=1), "E004"),
    "a list": (choice(parity_choice=["odd"]), "E004"),
    "no choice": (always_reply({"message_type": "CHOOSE_PARITY_RESPONSE"}), "E003"),
    "null as choice": (choice(parity_choice=None), "E003"),
    "an empty object": (always_reply({}), "E003"),
    "another message": (choice(message_type="GAME_JOIN_ACK"), "E002"),
    "a string as result": (always_reply("odd"), "E002"),
    "a list as result": (always_reply(["odd"]), "E002"),
    "null as result": (always_reply(None), "E002"),
    "not JSON": (reply_garbage, "E002"),
    "nothing": (raw(b""), "E002"),
    "a bare list": (raw(b"[]"), "E002"),
    "no result": (raw(framed()), "E002"),
    "endless nesting": (raw(b'{"result":' + b"[" * 900 + b"]" * 900 + b"}"), "E002"),
    "a nested error": (raw(b'{"error":{"message":' + b"[" * 900 + b"]" * 900 + b"}}"), "E002"),
    "a JSON-RPC error": (raw(framed(error={"code": -32601, "message": "no such method"})), "E002"),
    "a local timestamp": (choice(timestamp="2025-01-15T10:30:00"), "E021"),
    "a timestamp with an offset": (choice(timestamp="2025-01-15T10:30:00+02:00"), "E021"),
    "no date as timestamp": (choice(timestamp="yesterday"), "E021"),
    "a number as timestamp": (choice(timestamp=1736937000), "E002"),
    "another protocol": (choice(protocol="league.v1"), "E018"),
    "a number as protocol": (choice(protocol=2), "E018"),
    "a LEAGUE_ERROR": (always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E012", "message": "no"}), "E012"),
    "a LEAGUE_ERROR without a code": (always_reply({"message_type": "LEAGUE_ERROR"}), "E002"),
}


@pytest.mark.parametrize("fault", BAD_CHOICES)
@in_virtual_time
async def test_a_bad_choice_is_told_with_its_code_and_asked_again_at_once_three_times_in_all(
    home: Path, fault: str
) -> None:
    script, code = BAD_CHOICES[fault]
    async with hall(home) as match:
        match.pair(b={"choose_parity": script})
        report = await match.play()
        assert asyncio.get_running_loop().time() == 0
    assert [error["error_code"] for error in errors(match)] == [code] * 3
    assert errors(match)[0]["error_name"] == errors(match)[0]["error_description"] == ErrorCode(code).name
    asked = [params for params in match.players["P02"].received_params("choose_parity") if "message" not in params]
    assert len(asked) == 3
    assert errors(match, "P01") == []
    assert report["result"]["winner"] == "P01"
    assert report["result"]["terminations"] == {"P02": "illegal_move" if code == "E004" else "unreadable_answer"}


BAD_JOINS: dict[str, tuple[Script, str]] = {
    "no accept": (always_reply({"message_type": "GAME_JOIN_ACK"}), "E003"),
    "a word as accept": (always_reply({"accept": "yes"}), "E002"),
    "a number as accept": (always_reply({"accept": 1}), "E002"),
    "a local timestamp": (always_reply({"accept": True, "timestamp": "2025-01-15 10:30"}), "E021"),
    "a local arrival": (always_reply({"accept": True, "arrival_timestamp": "2025-01-15T10:30:00"}), "E021"),
    "another protocol": (always_reply({"accept": True, "protocol": "league.v9"}), "E018"),
    "another message": (always_reply({"accept": True, "message_type": "CHOOSE_PARITY_RESPONSE"}), "E002"),
    "rubbish": (reply_garbage, "E002"),
}


@pytest.mark.parametrize("fault", BAD_JOINS)
@in_virtual_time
async def test_a_bad_answer_to_an_invitation_is_told_with_its_code(home: Path, fault: str) -> None:
    script, code = BAD_JOINS[fault]
    async with hall(home) as match:
        match.pair(b={"handle_game_invitation": script})
        await match.play()
    assert [error["error_code"] for error in errors(match)] == [code] * 3
    assert errors(match)[0]["action_required"] == "GAME_JOIN_ACK"
    assert errors(match)[0]["game_state"] == "WAITING_FOR_PLAYERS"
    assert match.players["P01"].received_params("choose_parity") == []


@pytest.mark.parametrize(
    "answer",
    [
        {"parity_choice": "odd"},
        {"parity_choice": "odd", "timestamp": "2025-01-15T10:30:00.123+00:00"},
        {"parity_choice": "odd", "player_id": "P77", "match_id": "R9M9", "sender": "player:P77"},
        {"parity_choice": "odd", "comment": {"why": [1, 2]}, "league_id": None},
    ],
)
@in_virtual_time
async def test_an_answer_belongs_to_its_call_whatever_its_envelope_says(home: Path, answer: dict[str, Any]) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": always_reply(answer)})
        report = await match.play()
    assert report["result"]["details"]["choices"] == {"P01": "even", "P02": "odd"}
    assert errors(match) == []


@in_virtual_time
async def test_a_game_error_has_every_field_of_the_protocol(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b={"choose_parity": never_reply})
        await match.play(round_id=2)
    first, second, third = errors(match)
    for example in golden("GAME_ERROR"):
        assert missing(example, first) == []
    jitter_free = {key: value for key, value in first.items() if key != "retry_info"}
    assert jitter_free == {
        "protocol": "league.v2",
        "message_type": "GAME_ERROR",
        "sender": "referee:REF01",
        "timestamp": "2025-01-15T10:00:30Z",
        "conversation_id": "conv-r1m1-001",
        "league_id": "league_2025_even_odd",
        "round_id": 2,
        "match_id": "R1M1",
        "error_code": "E001",
        "error_name": "TIMEOUT_ERROR",
        "error_description": "TIMEOUT_ERROR",
        "message": "no answer from http://localhost/P02/mcp within 30 s",
        "affected_player": "P02",
        "player_id": "P02",
        "action_required": "CHOOSE_PARITY_RESPONSE",
        "game_state": "COLLECTING_CHOICES",
        "retryable": True,
        "retry_count": 1,
        "max_retries": 3,
        "consequence": NEXT,
    }
    assert first["retry_info"] == {"retry_count": 1, "max_retries": 3, "next_retry_at": "2025-01-15T10:00:32Z"}
    assert (second["retry_count"], second["retryable"], second["consequence"]) == (2, True, NEXT)
    assert (third["retry_count"], third["retryable"], third["consequence"]) == (3, False, LAST)
    assert third["retry_info"] == {"retry_count": 3, "max_retries": 3, "next_retry_at": None}


@in_virtual_time
async def test_an_illegal_choice_is_announced_to_be_asked_again_at_once(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b={"choose_parity": choice(parity_choice="ODD")})
        await match.play()
    assert [error["retry_info"]["next_retry_at"] for error in errors(match)] == [
        "2025-01-15T10:00:00Z",
        "2025-01-15T10:00:00Z",
        None,
    ]
    assert [error["retryable"] for error in errors(match)] == [True, True, False]
    assert "'even' or 'odd'" in errors(match)[0]["message"]


def timed(script: Script, times: list[float]) -> Script:
    """Notes when it was asked."""

    async def noting(params: Params) -> Any:
        times.append(asyncio.get_running_loop().time())
        return await script(params)

    return noting


@pytest.mark.parametrize(("method", "limit"), [("handle_game_invitation", 5), ("choose_parity", 30)])
@in_virtual_time
async def test_a_silent_player_is_cut_off_at_the_limit_and_given_growing_time(
    home: Path, method: str, limit: int
) -> None:
    times: list[float] = []
    async with hall(home) as match:
        match.pair(b={method: timed(never_reply, times)})
        await match.play()
    assert [error["error_code"] for error in errors(match)] == ["E001"] * 3
    assert len(times) == 3
    for wait, (asked, asked_again) in zip((2, 4), pairwise(times), strict=True):
        assert limit + wait <= asked_again - asked <= limit + wait * 1.1


@in_virtual_time
async def test_a_dead_player_is_tried_again_after_growing_waits_with_e009(home: Path) -> None:
    async with hall(home, {"retry_policy.base_delay_sec": 3.0}) as match:
        match.pair()
        match.network.detach(match.players["P02"].endpoint)
        await match.start()
        (report,) = await match.manager.wait_for_calls("report_match_result")
        assert 3 + 6 <= asyncio.get_running_loop().time() <= (3 + 6) * 1.1
    entries = match.record()["transcript"]
    sent = [entry["message"] for entry in entries if entry.get("method") == "notify_game_error"]
    assert [error["error_code"] for error in sent] == ["E009"] * 3
    assert report["result"]["terminations"] == {"P02": "disconnected"}


@pytest.mark.parametrize(
    ("method", "bad", "code"),
    [("choose_parity", never_reply, "E001"), ("choose_parity", choice(parity_choice="Odd"), "E004")],
)
@in_virtual_time
async def test_every_failure_of_a_player_is_in_the_referee_s_log_with_its_code(
    home: Path, method: str, bad: Script, code: str
) -> None:
    async with hall(home) as match:
        match.pair(b={method: bad})
        await match.play()
    failures = [line for line in match.log() if line["event_type"] == "player_failed"]
    assert [(line["error_code"], line["attempt"]) for line in failures] == [(code, 1), (code, 2), (code, 3)]
    assert {(line["player_id"], line["match_id"], line["method"]) for line in failures} == {("P02", "R1M1", method)}
    assert all(line["message"] and line["error_name"] for line in failures)


@in_virtual_time
async def test_the_waits_differ_by_a_jitter_of_up_to_a_tenth(home: Path) -> None:
    times: list[float] = []
    async with hall(home) as match:
        match.pair(b={"handle_game_invitation": timed(never_reply, times)})
        for number in range(8):
            await match.play(f"R1M{number}")
    waits = [times[first + 1] - times[first] - 5 for first in range(0, 24, 3)]
    assert len(set(waits)) == 8
    assert all(2 <= wait <= 2.2 for wait in waits)


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("bad", [choice(parity_choice="Odd"), reply_garbage, never_reply])
@in_virtual_time
async def test_a_right_answer_at_a_later_attempt_counts(home: Path, failures: int, bad: Script) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": in_turn(*[bad] * failures, choice())})
        report = await match.play()
    assert report["result"]["status"] == "WIN"
    assert report["result"]["details"]["choices"] == {"P01": "even", "P02": "odd"}
    assert len(errors(match)) == failures
    assert report["result"]["failures_in_a_row"] == {"P01": 0, "P02": 0}


@in_virtual_time
async def test_a_choice_that_was_right_is_not_asked_for_again_while_the_other_fails(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": never_reply})
        await match.play()
    assert len(match.players["P01"].received_params("choose_parity")) == 1


@in_virtual_time
async def test_the_number_of_attempts_comes_from_the_settings(home: Path) -> None:
    async with hall(home, {"retry_policy.max_retries": 1}) as match:
        match.pair(b={"choose_parity": never_reply})
        await match.play()
    assert [(error["retry_count"], error["max_retries"], error["retryable"]) for error in errors(match)] == [
        (1, 1, False)
    ]


async def counted_failures(home: Path, before: int, script: Script, **hidden: Script) -> tuple[Hall, dict[str, Any]]:
    async with hall(home) as match:
        match.pair(b={"choose_parity": script, **hidden})
        report = await match.play(P02={"failures_in_a_row": before})
    return match, report


@pytest.mark.parametrize("before", [0, 2, 3, 4])
@in_virtual_time
async def test_failures_of_earlier_matches_count_and_the_three_attempts_are_granted_all_the_same(
    home: Path, before: int
) -> None:
    match, report = await counted_failures(home, before, never_reply)
    assert len(match.players["P02"].received_params("choose_parity")) == 3
    assert report["result"]["failures_in_a_row"]["P02"] == before + 3
    last = errors(match)[-1]
    assert (last["retry_count"], last["retryable"], last["consequence"]) == (3, False, LAST)
    assert last["retry_info"]["next_retry_at"] is None


@in_virtual_time
async def test_an_answer_ends_the_count_of_failures(home: Path) -> None:
    _, report = await counted_failures(home, 4, choice())
    assert report["result"]["failures_in_a_row"]["P02"] == 0


@in_virtual_time
async def test_a_wrong_answer_is_no_failure_to_answer(home: Path) -> None:
    match, report = await counted_failures(home, 4, reply_garbage)
    assert len(errors(match)) == 3
    assert report["result"]["failures_in_a_row"]["P02"] == 4


@in_virtual_time
async def test_joining_alone_does_not_clear_a_player_that_never_chooses(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": never_reply})
        first = await match.play("R1M1")
        count = first["result"]["failures_in_a_row"]["P02"]
        second = await match.play("R2M1", P02={"failures_in_a_row": count})
    assert (count, second["result"]["failures_in_a_row"]["P02"]) == (3, 6)


@in_virtual_time
async def test_a_player_that_takes_no_notices_holds_up_nothing(home: Path) -> None:
    notices = dict.fromkeys(("notify_game_error", "notify_match_result"), never_reply)
    async with hall(home) as match:
        match.pair(b={**notices, "choose_parity": reply_garbage})
        await match.start()
        await match.manager.wait_for_calls("report_match_result")
        assert asyncio.get_running_loop().time() == 0


@in_virtual_time
async def test_a_peers_endless_words_are_cut_short_in_ours(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": always_reply({"message_type": "LEAGUE_ERROR", "message": "x" * 100_000})})
        await match.play()
    assert len(errors(match)[0]["message"]) <= 500


@in_virtual_time
async def test_every_attempt_is_a_new_call_in_the_same_conversation(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b={"choose_parity": never_reply})
        await match.play()
    calls = match.players["P02"].received_params("choose_parity")
    assert {call["conversation_id"] for call in calls} == {"conv-r1m1-001"}
    assert len({call["deadline"] for call in calls}) == 3


@pytest.mark.parametrize("move", [0, 4, True, 1.0, "1", [1], {"take": 1}, [[[]]]])
@in_virtual_time
async def test_a_move_that_the_rules_of_another_game_do_not_allow_is_told_with_e010(home: Path, move: Any) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["sticks"] = STICKS
        match.pair(a={"make_move": always_reply({"move_data": move})})
        report = await match.play(game_type="sticks")
    assert [error["error_code"] for error in errors(match, "P01")] == ["E010"] * 3
    assert errors(match, "P01")[0]["error_name"] == "INVALID_MOVE"
    assert errors(match, "P01")[0]["action_required"] == "GAME_MOVE_RESPONSE"
    assert "[1, 2, 3]" in errors(match, "P01")[0]["message"]
    assert report["result"]["terminations"] == {"P01": "illegal_move"}
    assert match.players["P02"].received_params("make_move") == []


def token_of(match: Hall, state: str, player_id: str = "P02") -> Any:
    """What the player shows as its own token."""
    own = match.players[player_id].token
    return {"ok": own, "wrong": "tok-p02-of-somebody-else", "missing": None, "unknown": own, "no string": 7}[state]


async def played_with_token(home: Path, state: str, *, strict: bool) -> tuple[Hall, dict[str, Any]]:
    """A match in which P02 shows its token like this."""
    async with hall(home, {"security.require_player_tokens": strict}) as match:
        match.pair()
        player = match.players["P02"]
        sha256 = None if state == "unknown" else hashlib.sha256(str(player.token).encode()).hexdigest()
        player.token = token_of(match, state)
        known = {"token_sha256": sha256}
        of_first = {"token_sha256": hashlib.sha256(str(match.players["P01"].token).encode()).hexdigest()}
        report = await match.play(P01=of_first, P02=known)
    return match, report


@pytest.mark.parametrize("state", ["ok", "wrong", "missing", "unknown"])
@in_virtual_time
async def test_whether_an_answer_carried_its_players_own_token_is_recorded(home: Path, state: str) -> None:
    match, report = await played_with_token(home, state, strict=False)
    assert report["result"]["status"] == "WIN"
    received = [entry for entry in match.record()["transcript"] if entry["direction"] == "received"]
    assert [entry["token"] for entry in received if entry["player_id"] == "P02"] == [state] * 2
    assert [entry["token"] for entry in received if entry["player_id"] == "P01"] == ["ok"] * 2
    assert "tok-" not in json.dumps(match.record())


@pytest.mark.parametrize(("state", "error"), [("wrong", "E012"), ("missing", "E011"), ("no string", "E011")])
@in_virtual_time
async def test_where_tokens_are_required_an_answer_without_its_own_is_none(home: Path, state: str, error: str) -> None:
    match, report = await played_with_token(home, state, strict=True)
    assert [told["error_code"] for told in errors(match)] == [error] * 3
    assert report["result"]["winner"] == "P01"
    assert report["result"]["terminations"] == {"P02": "bad_token"}
    assert match.players["P01"].received_params("choose_parity") == []


@pytest.mark.parametrize("state", ["ok", "unknown"])
@in_virtual_time
async def test_where_tokens_are_required_a_good_one_will_do_and_so_will_any_that_cannot_be_judged(
    home: Path, state: str
) -> None:
    match, report = await played_with_token(home, state, strict=True)
    assert report["result"]["status"] == "WIN"
    assert errors(match) == []


def overheard(match: Hall, player_id: str) -> list[str | None]:
    """The tokens that come beside the messages to a player, from here on."""
    player, heard = match.players[player_id], list[str | None]()

    async def answer(body: bytes, bearer: str | None = None) -> bytes | None:
        heard.append(bearer)
        return await player.answer(body, bearer)

    match.network.attach(player.endpoint, answer)
    return heard


@pytest.mark.parametrize("own", [True, False], ids=["a token each", "one for both"])
@in_virtual_time
async def test_each_player_is_shown_its_own_match_token_in_the_message_and_beside_it(home: Path, own: bool) -> None:
    tokens = {player_id: f"signed.for.{player_id}" if own else "signed.for.both" for player_id in ("P01", "P02")}
    async with hall(home) as match:
        match.pair(b={"choose_parity": in_turn(choice(parity_choice="ODD"), choice())})
        heard = {player_id: overheard(match, player_id) for player_id in tokens}
        each = {player_id: {"match_token": token} for player_id, token in tokens.items()}
        more: dict[str, Any] = each if own else {}
        await match.play(match_token="signed.for.both", **more)
        await match.players["P02"].wait_for_calls("notify_game_error")
    for player_id, token in tokens.items():
        assert set(heard[player_id]) == {token}
        shown = [
            params["auth_token"] for _, params in match.players[player_id].received_calls if "auth_token" in params
        ]
        assert len(shown) >= 3
        assert set(shown) == {token}
    assert "signed.for" not in json.dumps(match.record())


@pytest.mark.parametrize("good", [True, False])
@in_virtual_time
async def test_of_an_endless_answer_the_beginning_is_kept(home: Path, good: bool) -> None:
    endless = choice(parity_choice="odd" if good else "ODD", more="x" * 300_000)
    async with hall(home) as match:
        match.pair(b={"choose_parity": endless})
        report = await match.play()
    assert report["result"]["status"] == ("WIN" if good else "TECHNICAL_LOSS")
    kept = [
        entry["message"]
        for entry in match.record()["transcript"]
        if entry.get("player_id") == "P02" and entry.get("method") == "choose_parity" and entry["direction"] != "sent"
    ]
    assert len(kept) == (1 if good else 3)
    for message in kept:
        assert message["cut_from_bytes"] > 300_000
        assert message["beginning"].startswith('{"message_type":"CHOOSE_PARITY_RESPONSE"')
        assert len(message["beginning"]) == 16 * 1024
    assert len(json.dumps(match.record())) < 100_000


@in_virtual_time
async def test_an_answer_of_ordinary_length_is_kept_whole(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": choice(more="x" * 10_000)})
        await match.play()
    kept = [entry["message"] for entry in match.record()["transcript"] if entry["direction"] == "received"]
    assert [message["more"] for message in kept if "more" in message] == ["x" * 10_000]


SEAT = "http://localhost:8000/seats/S0123456789abcdef01234567/mcp"


def dial_out(match: Hall, until: float, failure: str) -> ScriptedPlayer:
    """Let P02 play through a seat whose server fails all calls so until this moment."""
    player = match.players["P02"]
    now = asyncio.get_running_loop().time

    async def answer(frame: bytes, bearer: str | None) -> bytes | None:
        if now() >= until:
            return await player.answer(frame, bearer)
        await asyncio.sleep(3)
        raise PeerUnreachable(failure)

    player.endpoint = SEAT
    match.network.attach(SEAT, answer)
    return player


MOVING, GONE = "HTTP 503: the league is moving to another server", "HTTP 502: the agent isn't connected"


@in_virtual_time
async def test_a_player_that_the_league_s_server_can_t_call_for_a_while_loses_one_attempt_and_no_match(
    home: Path,
) -> None:
    async with hall(home) as match:
        match.pair()
        player = dial_out(match, until=50, failure=MOVING)
        report = await match.play()
        assert 50 <= asyncio.get_running_loop().time() < 60
    assert report["result"]["status"] in ("WIN", "DRAW")
    assert [error["error_code"] for error in player.received_params("notify_game_error")] in ([], ["E009"])
    failed = [line for line in match.record()["transcript"] if line["direction"] == "failed"]
    assert [line["method"] for line in failed] == ["handle_game_invitation"]
    assert player.received_params("get_player_state"), "which tells that it can be called"


@pytest.mark.parametrize("delay", [2.0, 2.144189770960461])
def test_waiting_for_a_seat_ends_whatever_fraction_of_a_second_is_left(
    home: Path, monkeypatch: pytest.MonkeyPatch, delay: float
) -> None:
    monkeypatch.setattr(requests, "delay_before_retry", lambda *_: delay)

    async def play() -> None:
        async with hall(home) as match:
            match.pair()
            dial_out(match, until=10_000, failure=MOVING)
            await match.start()
            await match.manager.wait_for_calls("report_match_result", 1)
            assert asyncio.get_running_loop().time() < 90

    run_in_virtual_time(play())


@pytest.mark.parametrize(("failure", "least", "most"), [(GONE, 9, 30), (MOVING, 60, 90)])
@in_virtual_time
async def test_a_player_whose_seat_stays_without_an_agent_loses_after_its_three_attempts(
    home: Path, failure: str, least: float, most: float
) -> None:
    async with hall(home) as match:
        match.pair()
        dial_out(match, until=10_000, failure=failure)
        await match.start()
        report = (await match.manager.wait_for_calls("report_match_result", 1))[0]
        assert least <= asyncio.get_running_loop().time() <= most
    assert report["result"]["winner"] == "P01"
    failed = [line for line in match.record()["transcript"] if line["direction"] == "failed"]
    assert [line["error_code"] for line in failed] == ["E009"] * 3
