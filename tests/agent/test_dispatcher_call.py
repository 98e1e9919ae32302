"""A call by name alone, as MCP makes it: the envelope is written in, everything else is as for a bare call."""

from typing import Any

import pytest

from agent_league.errors import JsonRpcError, JsonRpcErrorCode
from agent_league.protocol import v2
from tests.agent.answering_agent import QUERY, Desk, refuse

BARE = {"query_type": "GET_STANDINGS"}


async def asked(desk: Desk, arguments: dict[str, Any], bearer: str | None = None) -> v2.LeagueQuery:
    assert await desk.dispatcher.call_method("league_query", arguments, bearer) == {"status": "ok"}
    message = desk.asked.pop()
    assert isinstance(message, v2.LeagueQuery)
    return message


async def test_what_an_envelope_needs_is_written_in(desk: Desk) -> None:
    message = await asked(desk, BARE)
    assert (message.protocol, message.message_type) == ("league.v2", "LEAGUE_QUERY")
    assert message.timestamp.endswith("Z")
    assert message.conversation_id == "conv-mcp-001"
    assert (await asked(desk, BARE)).conversation_id == "conv-mcp-002"


async def test_what_the_caller_says_itself_stays_as_it_is(desk: Desk) -> None:
    assert (await asked(desk, dict(QUERY["params"]))).to_wire() == QUERY["params"]


@pytest.mark.parametrize("field", ["sender", "timestamp", "conversation_id"])
async def test_a_null_in_the_envelope_is_written_over(desk: Desk, field: str) -> None:
    assert getattr(await asked(desk, {**BARE, field: None}), field)


async def test_the_sender_is_whose_token_it_is_in_the_message_or_beside_it(desk: Desk) -> None:
    assert (await asked(desk, BARE, "tok-1")).sender == "player:P01"
    assert (await asked(desk, {**BARE, "auth_token": "tok-2"})).sender == "referee:REF01"
    assert (await asked(desk, {**BARE, "auth_token": "tok-2"}, "tok-1")).sender == "referee:REF01"
    assert (await asked(desk, {**BARE, "auth_token": "nobody's"})).sender == "player:anonymous"


async def test_a_token_counts_alike_among_the_arguments_and_beside_them(desk: Desk) -> None:
    assert (await asked(desk, BARE, "tok-1")).auth_token == "tok-1"
    assert (await asked(desk, {**BARE, "auth_token": "tok-1"})).auth_token == "tok-1"
    await desk.dispatcher.call_method("get_standings", {"auth_token": "tok-1"})
    await desk.dispatcher.call_method("get_standings", {}, "tok-1")
    assert desk.bearers == ["tok-1"] * 4
    assert "auth_token" not in (await asked(desk, BARE)).to_wire()


async def test_it_is_no_tolerated_spelling(desk: Desk) -> None:
    await asked(desk, BARE)
    assert not desk.logged()


async def test_a_strict_agent_answers_it_too(tmp_path: Any) -> None:
    desk = Desk(tmp_path, strict=True)
    await asked(desk, BARE)


async def test_a_plain_method_gets_its_arguments_as_they_are(desk: Desk) -> None:
    await desk.dispatcher.call_method("get_standings", {"anything": [1]})
    assert desk.asked == [{"anything": [1]}]


async def test_a_refusal_is_the_answer(desk: Desk) -> None:
    desk.refusal = refuse()
    answer = await desk.dispatcher.call_method("league_query", BARE)
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E012")
    assert answer["conversation_id"] == "conv-mcp-001"


@pytest.mark.parametrize(
    ("name", "code"),
    [("no_such_tool", JsonRpcErrorCode.METHOD_NOT_FOUND), ("create_schedule", JsonRpcErrorCode.INTERNAL_ERROR)],
)
async def test_what_no_handler_answers_is_an_error_of_the_frame(desk: Desk, name: str, code: JsonRpcErrorCode) -> None:
    with pytest.raises(JsonRpcError) as caught:
        await desk.dispatcher.call_method(name, {})
    assert caught.value.code is code
