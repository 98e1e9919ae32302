"""From a frame to the handler of its method, and from whatever happens there back to a frame."""

from typing import Any

import pytest

from agent_league.errors import FrameCode
from agent_league.protocol import v2
from tests.transport.desk import QUERY, Desk, call, refuse


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
    assert (answer["error"]["code"], answer["id"]) == (FrameCode.INTERNAL_ERROR, 3)
    assert "secret" not in str(answer)
    (entry,) = desk.logged()
    assert "secret reason" in entry["error"]


@pytest.mark.parametrize("reply", [{"number": 2**70}, {"thing": object()}])
async def test_an_answer_that_can_not_be_written_is_a_fault_of_ours_too(desk: Desk, reply: dict[str, Any]) -> None:
    desk.reply = reply
    answer = await desk.post(call(request_id="abc"))
    assert (answer["error"]["code"], answer["id"]) == (FrameCode.INTERNAL_ERROR, "abc")
    assert [entry["event_type"] for entry in desk.logged()] == ["answer_not_json"]


async def test_the_methods_are_told_in_order(desk: Desk) -> None:
    assert desk.dispatcher.methods == ["create_schedule", "get_standings", "league_query"]
