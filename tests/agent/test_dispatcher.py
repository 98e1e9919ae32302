"""From a frame to the handler of its method, and from whatever happens there back to a frame."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent import dispatcher, jsonrpc
from agent_league.errors import ErrorCode, JsonRpcErrorCode, Refusal
from agent_league.protocol import v2
from tests.agent.answering_agent import QUERY, Desk, call, notification, refuse
from tests.conftest import BOUND
from tests.protocol.examples_v1 import example as v1


async def test_a_handler_gets_the_message_of_its_method(desk: Desk) -> None:
    assert (await desk.post(QUERY))["result"] == {"status": "ok"}
    (message,) = desk.asked
    assert isinstance(message, v2.LeagueQuery)
    assert message.to_wire() == QUERY["params"]


async def test_a_handler_of_a_plain_method_gets_the_params(desk: Desk) -> None:
    await desk.post(call(params={"anything": [1]}))
    assert desk.asked == [{"anything": [1]}]


async def test_a_message_as_reply_travels_as_a_result(desk: Desk) -> None:
    reply = v2.LeagueQueryResponse.write(
        sender="league_manager",
        timestamp="2025-01-15T10:00:00Z",
        conversation_id="conv-1",
        query_type="GET_STANDINGS",
        success=True,
        data=None,
    )
    desk.reply = reply
    assert (await desk.post(QUERY))["result"] == reply.to_wire()


async def test_the_caller_is_checked_after_the_envelope_and_before_the_own_fields(desk: Desk) -> None:
    desk.refusal = refuse()
    bad_fields = {**QUERY["params"], "query_type": 5}
    answer = await desk.post({**QUERY, "params": bad_fields})
    assert answer["result"]["error_code"] == "E012"
    bad_envelope = {**bad_fields, "timestamp": "late"}
    answer = await desk.post({**QUERY, "params": bad_envelope})
    assert answer["result"]["error_code"] == "E021"
    desk.refusal = None
    answer = await desk.post({**QUERY, "params": bad_fields})
    assert answer["result"]["error_code"] == "E002"
    assert not desk.asked


async def test_the_host_judges_by_the_bearer_s_token_too(desk: Desk) -> None:
    await desk.post(QUERY, "tok-1")
    await desk.post([call(), QUERY], "tok-2")
    await desk.post(call())
    assert desk.bearers == ["tok-1", "tok-2", "tok-2", None]


async def test_the_caller_of_a_plain_method_is_checked_too(desk: Desk) -> None:
    desk.refusal = refuse()
    assert (await desk.post(call()))["result"]["error_code"] == "E012"
    assert not desk.asked


async def test_a_refusal_is_a_result_with_a_league_error(desk: Desk) -> None:
    desk.refusal = refuse()
    answer = await desk.post(QUERY)
    assert "error" not in answer
    result = answer["result"]
    assert result["message_type"] == "LEAGUE_ERROR"
    assert result["sender"] == "league_manager"
    assert result["original_message_type"] == "LEAGUE_QUERY"
    assert result["conversation_id"] == QUERY["params"]["conversation_id"]
    assert answer["id"] == QUERY["id"]


@pytest.mark.parametrize("conversation", [None, 7, ["x"], {}])
async def test_a_refusal_without_a_conversation_gets_one_of_our_own(desk: Desk, conversation: object) -> None:
    answer = await desk.post({**QUERY, "params": {**QUERY["params"], "conversation_id": conversation}})
    assert answer["result"]["conversation_id"] == "conv-error-001"


@pytest.mark.parametrize("claimed", [None, 5, ["x"]])
async def test_a_refused_message_without_a_type_has_the_type_of_its_method(desk: Desk, claimed: object) -> None:
    answer = await desk.post({**QUERY, "params": {**QUERY["params"], "message_type": claimed}})
    assert answer["result"]["original_message_type"] == "LEAGUE_QUERY"


PUSHED = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_ERROR",
    "sender": "league_manager",
    "timestamp": "2025-01-15T10:00:00Z",
    "conversation_id": "conv-9",
    "error_code": "E012",
    "message": "the token tok-p01-0123456789abcdef is not valid",
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("method", ["LEAGUE_ERROR", "league_error", "notify_league_error", "league_query"])
async def test_a_league_error_that_is_pushed_is_logged_and_acknowledged(
    tmp_path: Path, method: str, strict: bool
) -> None:
    desk = Desk(tmp_path, strict=strict)
    answer = await desk.post(call(method, 7, params=PUSHED))
    assert answer == {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7}
    assert await desk.post(notification(method, params=PUSHED)) is None
    desk.log.close()
    first, second = desk.logged()
    assert (first["event_type"], first["level"]) == ("league_error_received", "WARNING")
    assert (first["error_code"], first["sender"]) == ("E012", "league_manager")
    assert "0123456789abcdef" not in str(first)
    assert second["event_type"] == first["event_type"]
    assert not desk.asked


async def test_a_league_error_is_taken_in_every_frame(desk: Desk) -> None:
    assert await desk.post(PUSHED) == {"status": "ok"}
    handled = await desk.post(call("handle_message", params={"message": PUSHED}))
    called = await desk.post(call("tools/call", params={"name": "league_error", "arguments": PUSHED}))
    assert handled["result"] == called["result"]["structuredContent"] == {"status": "ok"}
    assert [line["event_type"] for line in desk.logged()] == ["league_error_received"] * 3


async def test_a_league_error_of_any_shape_is_taken(desk: Desk) -> None:
    odd = {"message_type": "LEAGUE_ERROR", "sender": ["x"], "error_code": {"a": 1}, "message": 5}
    assert (await desk.post(call("LEAGUE_ERROR", params=odd)))["result"] == {"status": "ok"}
    long = {"message_type": "LEAGUE_ERROR", "error_description": "x" * 10_000, "sender": "y" * 10_000}
    assert (await desk.post(call("LEAGUE_ERROR", params=long)))["result"] == {"status": "ok"}
    assert len(json.dumps(desk.logged())) < 2_000


async def test_a_refused_token_is_spoken_of_and_never_shown(desk: Desk) -> None:
    desk.refusal = refuse()
    without = {name: value for name, value in QUERY["params"].items() if name != "auth_token"}
    for params, bearer, told in (
        (QUERY["params"], None, "[redacted]"),
        (without, "tok-1-beside", "[redacted]"),
        (without, None, None),
    ):
        answer = await desk.post({**QUERY, "params": params}, bearer)
        assert answer["result"]["context"].get("provided_token") == told
        assert "tok-" not in json.dumps(answer)


async def test_a_refusal_is_logged_without_the_token(desk: Desk) -> None:
    desk.refusal = refuse()
    await desk.post(QUERY)
    (entry,) = desk.logged()
    assert (entry["event_type"], entry["error_code"]) == ("message_refused", "E012")
    assert entry["sender"] == "player:P01"
    assert QUERY["params"]["auth_token"] not in str(entry)


@pytest.mark.parametrize("sender", ["x" * 100_000, ["x"] * 100_000, {"x": "y" * 100_000}])
async def test_a_huge_sender_fills_no_log(desk: Desk, sender: object) -> None:
    desk.refusal = refuse()
    answer = await desk.post(call(params={"sender": sender}))
    assert answer["result"]["error_code"] == "E012"
    assert len(str(desk.logged())) < 1000


async def test_a_fault_of_ours_is_answered_without_its_reason_which_is_in_the_log(desk: Desk) -> None:
    answer = await desk.post(call("create_schedule", 3))
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INTERNAL_ERROR, 3)
    assert "secret" not in str(answer)
    (entry,) = desk.logged()
    assert "secret reason" in entry["error"]


@pytest.mark.parametrize("reply", [{"number": 2**70}, {"thing": object()}])
async def test_an_answer_that_can_not_be_written_is_a_fault_of_ours_too(desk: Desk, reply: dict[str, Any]) -> None:
    desk.reply = reply
    answer = await desk.post(call(request_id="abc"))
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INTERNAL_ERROR, "abc")
    assert [entry["event_type"] for entry in desk.logged()] == ["answer_not_json"]


TOO_MANY = Refusal(ErrorCode.RATE_LIMIT_EXCEEDED, "too many", retry_after_sec=2)


def turned_away(desk: Desk, body: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = desk.dispatcher.refuse_requests(raw, TOO_MANY)
    return None if answer is None else json.loads(answer)


def test_a_request_that_is_turned_away_gets_a_league_error_and_is_not_handled(desk: Desk) -> None:
    answer = turned_away(desk, QUERY)
    result = answer["result"]
    assert answer["id"] == QUERY["id"]
    assert (result["message_type"], result["error_code"]) == ("LEAGUE_ERROR", "E014")
    assert (result["retryable"], result["context"]) == (True, {"action": "LEAGUE_QUERY", "retry_after_sec": 2})
    assert (result["conversation_id"], result["sender"]) == (QUERY["params"]["conversation_id"], "league_manager")
    assert result["original_message_type"] == "LEAGUE_QUERY"
    assert not desk.order


@pytest.mark.parametrize("params", [None, 5, [1], {"conversation_id": 7, "message_type": 8}])
def test_odd_params_are_turned_away_like_others(desk: Desk, params: object) -> None:
    for method in ("get_standings", "nonsense"):
        answer = turned_away(desk, call(method, params=params))
        assert (answer["result"]["error_code"], answer["id"]) == ("E014", 1)


def test_every_request_of_a_batch_is_turned_away_and_notifications_are_not_answered(desk: Desk) -> None:
    answers = turned_away(desk, [call(request_id=1), notification(), 5, call(request_id="b")])
    assert [answer["id"] for answer in answers] == [1, None, "b"]
    assert [answers[0]["result"]["error_code"], answers[2]["result"]["error_code"]] == ["E014", "E014"]
    assert answers[1]["error"]["code"] == JsonRpcErrorCode.INVALID_REQUEST
    assert turned_away(desk, notification()) is None
    assert turned_away(desk, [notification()]) is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", JsonRpcErrorCode.PARSE_ERROR),
        (b"[]", JsonRpcErrorCode.INVALID_REQUEST),
        (b"[1" + b",1" * 100 + b"]", -32600),
    ],
)
def test_a_body_that_is_no_request_is_turned_away_with_both_reasons(desk: Desk, body: bytes, code: int) -> None:
    error = turned_away(desk, body)["error"]
    assert (error["code"], error["data"]) == (code, {"retry_after_sec": 2})
    assert error["message"].endswith("; and too many")


def test_turning_away_fills_no_log(desk: Desk) -> None:
    turned_away(desk, QUERY)
    assert desk.logged() == []


async def test_the_methods_are_told_in_order(desk: Desk) -> None:
    assert desk.dispatcher.methods == ["create_schedule", "get_standings", "league_query"]


MESSAGE = QUERY["params"]
BARE = MESSAGE
HANDLED = call("handle_message", params={"message": MESSAGE})
TOOL = call("tools/call", params={"name": "league_query", "arguments": MESSAGE})


async def test_a_bare_message_is_answered_bare(desk: Desk) -> None:
    assert await desk.post(BARE) == {"status": "ok"}
    desk.refusal = refuse()
    answer = await desk.post(BARE)
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E012")
    assert (answer["conversation_id"], answer["original_message_type"]) == (MESSAGE["conversation_id"], "LEAGUE_QUERY")


async def test_one_method_for_everything_is_answered_with_a_result(desk: Desk) -> None:
    assert await desk.post(HANDLED) == {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}
    desk.refusal = refuse()
    assert (await desk.post(HANDLED))["result"]["conversation_id"] == MESSAGE["conversation_id"]


async def test_a_tool_is_answered_as_a_tool(desk: Desk) -> None:
    answer = await desk.post(TOOL)
    assert (answer["result"]["structuredContent"], answer["result"]["isError"]) == ({"status": "ok"}, False)
    desk.refusal = refuse()
    answer = await desk.post(TOOL)
    assert answer["id"] == 1
    assert answer["result"]["isError"] is True
    assert answer["result"]["structuredContent"]["error_code"] == "E012"
    assert json.loads(answer["result"]["content"][0]["text"]) == answer["result"]["structuredContent"]


@pytest.mark.parametrize("body", [BARE, HANDLED, TOOL])
async def test_in_every_shape_the_handler_gets_the_same_message_and_the_host_is_asked(desk: Desk, body: Any) -> None:
    await desk.post(body, "tok-beside")
    (message,) = desk.asked
    assert message.to_wire() == MESSAGE
    assert (desk.bearers, desk.order) == (["tok-beside"], ["authorize", "handle"])


@pytest.mark.parametrize("body", [HANDLED, TOOL, call("LEAGUE_QUERY", params=MESSAGE)])
async def test_a_notification_in_another_shape_is_done_and_not_answered(desk: Desk, body: dict[str, Any]) -> None:
    assert await desk.post({name: value for name, value in body.items() if name != "id"}) is None
    assert len(desk.asked) == 1


async def test_a_batch_may_hold_bare_messages_and_each_is_answered_in_its_own_shape(desk: Desk) -> None:
    bare, framed, tool, unknown = await desk.post(
        [BARE, HANDLED, TOOL, notification(), {"message_type": "NOBODY_KNOWS"}]
    )
    assert bare == {"status": "ok"}
    assert framed["result"] == {"status": "ok"}
    assert tool["result"]["structuredContent"] == {"status": "ok"}
    assert (unknown["error"]["code"], unknown["id"]) == (JsonRpcErrorCode.METHOD_NOT_FOUND, None)


async def test_the_answers_to_a_batch_have_one_bound_however_large_one_of_them_is(desk: Desk) -> None:
    desk.reply = {"long": "x" * (jsonrpc.MAX_BATCH_ANSWER // 2)}
    fits, too_large, bare = await desk.post([call(), call(), BARE, notification()])
    assert fits["result"] == desk.reply
    assert "ask for it alone" in too_large["error"]["message"]
    assert "nothing was done" in bare["error"]["message"]
    assert len(desk.asked) == 2


async def test_others_get_their_turn_between_the_calls_of_a_batch(desk: Desk) -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(take_turns())
    assert len(await desk.post([call() for _ in range(50)])) == 50
    other.cancel()
    assert turns >= 50


@pytest.mark.parametrize("body", [BARE, HANDLED, TOOL])
async def test_what_was_put_up_with_is_logged_and_shows_no_token(desk: Desk, body: dict[str, Any]) -> None:
    await desk.post(body)
    (entry,) = desk.logged()
    assert (entry["event_type"], entry["method"], entry["sender"]) == ("tolerated", "league_query", "player:P01")
    assert entry["how"][0].startswith("message in ")
    assert MESSAGE["auth_token"] not in str(entry)


async def test_a_plain_request_leaves_nothing_in_the_log(desk: Desk) -> None:
    await desk.post(QUERY)
    assert desk.logged() == []


async def test_a_huge_sender_in_another_shape_fills_no_log(desk: Desk) -> None:
    await desk.post({**BARE, "sender": "player:" + "x" * 100_000})
    assert len(str(desk.logged())) < 1000


@pytest.mark.parametrize("body", [BARE, HANDLED, TOOL])
async def test_an_answer_that_can_not_be_written_is_a_fault_of_ours_in_every_shape(desk: Desk, body: Any) -> None:
    desk.reply = {"number": 2**70}
    answer = await desk.post(body)
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INTERNAL_ERROR, body.get("id"))
    assert [entry["event_type"] for entry in desk.logged()][-1] == "answer_not_json"


@pytest.mark.parametrize("body", [BARE, HANDLED, TOOL, call("LEAGUE_QUERY", params=MESSAGE)])
async def test_a_strict_one_does_nothing_of_what_comes_in_another_shape(tmp_path: Path, body: Any) -> None:
    strict = Desk(tmp_path, strict=True)
    answer = await strict.post(body)
    assert answer["error"]["code"] in (JsonRpcErrorCode.METHOD_NOT_FOUND, JsonRpcErrorCode.INVALID_REQUEST)
    assert strict.order == []
    assert (await strict.post(QUERY))["result"] == {"status": "ok"}
    strict.log.close()


BROKEN = v1("GAME_RESULT", timestamp="soon")


async def test_a_broken_message_of_v1_is_refused_in_the_shape_in_which_it_came(desk: Desk) -> None:
    bare = await desk.post(BROKEN)
    assert (bare["error_code"], bare["conversation_id"]) == ("E021", BROKEN["conversation_id"])
    assert bare["original_message_type"] == "GAME_RESULT"
    framed = await desk.post(call("handle_message", 5, params={"message": BROKEN}))
    assert (framed["id"], framed["result"]["error_code"]) == (5, "E021")
    assert framed["result"]["conversation_id"] == BROKEN["conversation_id"]
    tool = await desk.post(call("tools/call", params={"name": "x", "arguments": BROKEN}))
    assert (tool["result"]["isError"], tool["result"]["structuredContent"]["error_code"]) == (True, "E021")
    assert {entry["event_type"] for entry in desk.logged()} == {"message_refused"}


async def test_a_broken_message_of_v1_that_asks_for_no_answer_gets_none(desk: Desk) -> None:
    assert await desk.post(notification("handle_message", params={"message": BROKEN})) is None


def test_every_shape_is_turned_away_in_itself(desk: Desk) -> None:
    assert turned_away(desk, BARE)["error_code"] == "E014"
    assert turned_away(desk, HANDLED)["result"]["error_code"] == "E014"
    assert turned_away(desk, TOOL)["result"]["isError"] is True
    assert turned_away(desk, BROKEN)["error_code"] == "E014"
    assert turned_away(desk, {"message_type": "NOBODY_KNOWS"})["result"]["error_code"] == "E014"
    assert not desk.order


async def test_slow_calls_of_a_batch_hold_up_the_next_for_a_moment_and_are_never_many(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "BATCH_PATIENCE", 0.001)
    desk.together = asyncio.Barrier(dispatcher.MAX_SLOW_CALLS)
    async with asyncio.timeout(BOUND):
        assert (
            len(await desk.post([call() for _ in range(3 * dispatcher.MAX_SLOW_CALLS)]))
            == 3 * dispatcher.MAX_SLOW_CALLS
        )
    desk.together = asyncio.Barrier(dispatcher.MAX_SLOW_CALLS + 1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await desk.post([call() for _ in range(3 * dispatcher.MAX_SLOW_CALLS)])
    assert len(desk.asked) <= 4 * dispatcher.MAX_SLOW_CALLS
