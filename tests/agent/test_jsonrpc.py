"""JSON-RPC frames, as they are read and written."""

import asyncio
import json
from typing import Any

import pytest

from agent_league.agent.dispatcher import MAX_SLOW_CALLS
from agent_league.agent.jsonrpc import MAX_BATCH, count_requests, encode_request, parse_body, parse_result
from agent_league.errors import BadAnswer, CallFailed, ErrorCode, JsonRpcError, JsonRpcErrorCode, PeerRefused
from agent_league.protocol.json_limits import MAX_CONTAINERS, MAX_DEPTH
from agent_league.text import MAX_SENTENCE
from tests.agent.answering_agent import Desk, call, notification
from tests.conftest import BOUND


def nested(levels: int, inside: str = "0") -> bytes:
    """An array in an array in an array."""
    return ("[" * levels + inside + "]" * levels).encode()


@pytest.mark.parametrize("request_id", [0, 1, -7, 2**53, 2**63, "", "abc", "7", "ä", None])
async def test_an_id_comes_back_as_it_was(desk: Desk, request_id: object) -> None:
    answer = await desk.post(call(request_id=request_id))
    assert answer == {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": request_id}
    assert type(answer["id"]) is type(request_id)


@pytest.mark.parametrize("request_id", [1.5, True, False, [], [1], {}, {"id": 1}])
async def test_an_id_of_another_type_is_no_request(desk: Desk, request_id: object) -> None:
    answer = await desk.post(call(request_id=request_id))
    assert answer["error"]["code"] == JsonRpcErrorCode.INVALID_REQUEST
    assert answer["id"] is None
    assert not desk.asked


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"nonsense",
        b"{'a': 1}",
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b"NaN",
        b"[1e999]",
        b'"\\ud800"',
        '{"jsonrpc": "2.0"}'.encode("utf-16"),
        b"\x00" * 100,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        nested(500),
    ],
)
async def test_what_is_not_json_is_a_parse_error(desk: Desk, body: bytes) -> None:
    answer = await desk.post(body)
    assert answer["error"]["code"] == JsonRpcErrorCode.PARSE_ERROR
    assert answer["id"] is None


def test_nesting_is_read_as_deep_as_it_can_be_written_again_and_no_deeper() -> None:
    beside = [json.loads(nested(MAX_DEPTH - 1)), [], []]
    for allowed in (json.loads(nested(MAX_DEPTH)), beside):
        assert parse_body(json.dumps(allowed).encode()) == allowed
    for deep in (nested(MAX_DEPTH + 1), b'{"a":' * (MAX_DEPTH + 1) + b"0" + b"}" * (MAX_DEPTH + 1), nested(1000, "{}")):
        with pytest.raises(JsonRpcError, match="nested deeper than 64 levels"):
            parse_body(deep)


@pytest.mark.parametrize("part", [[], {}, [1], {"a": "b"}], ids=json.dumps)
def test_a_body_has_so_many_arrays_and_objects_and_no_more(part: Any) -> None:
    """A megabyte of empty ones would take twenty, and keep everybody waiting while it is read."""
    allowed = [part] * (MAX_CONTAINERS - 1)
    assert parse_body(json.dumps(allowed).encode()) == allowed
    with pytest.raises(JsonRpcError, match="more than 65536 arrays and objects"):
        parse_body(json.dumps([*allowed, part]).encode())


@pytest.mark.parametrize("text", ["[", "{", '"[', "\\[", '\\"{'])
def test_brackets_in_a_string_are_no_arrays_and_objects(text: str) -> None:
    assert parse_body(json.dumps([text * (MAX_CONTAINERS + 1), "", text]).encode())[2] == text
    many = [[text], []] * (MAX_CONTAINERS // 2)
    with pytest.raises(JsonRpcError, match="more than 65536 arrays and objects"):
        parse_body(json.dumps(many).encode())


@pytest.mark.parametrize("body", [b'"\\"' * 200_000, b'["\\' * 200_000, b'[""' * 200_000, b'["' + b'\\["' * 200_000])
def test_a_body_that_is_no_json_is_not_read_again_and_again(body: bytes) -> None:
    with pytest.raises(JsonRpcError):
        parse_body(body)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert parse_body(json.dumps([[]] * 1000).encode()) == [[]] * 1000
    assert parse_body(b'{"text": "' + b"[" * 1000 + b'"}') == {"text": "[" * 1000}


@pytest.mark.parametrize("frame", [1, "text", None, True, 1.5, {}])
async def test_what_is_no_object_with_a_call_is_an_invalid_request(desk: Desk, frame: object) -> None:
    answer = await desk.post(frame)
    assert answer["error"]["code"] == JsonRpcErrorCode.INVALID_REQUEST
    assert answer["id"] is None


@pytest.mark.parametrize("version", ["1.0", "2", 2, 2.0, None, "", ["2.0"]])
async def test_another_version_of_json_rpc_is_an_invalid_request_with_the_id(desk: Desk, version: object) -> None:
    answer = await desk.post({**call(request_id=7), "jsonrpc": version})
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INVALID_REQUEST, 7)
    assert "jsonrpc" in answer["error"]["message"]


@pytest.mark.parametrize("method", [None, 1, [], {}, True])
async def test_a_method_that_is_no_string_is_an_invalid_request(desk: Desk, method: Any) -> None:
    answer = await desk.post(call(method, "x"))
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INVALID_REQUEST, "x")


async def test_an_unknown_method_is_answered_with_the_list_of_known_ones(desk: Desk) -> None:
    answer = await desk.post(call("get_rich", 5))
    assert answer["id"] == 5
    assert answer["error"]["code"] == JsonRpcErrorCode.METHOD_NOT_FOUND
    assert answer["error"]["data"] == {"methods": ["create_schedule", "get_standings", "league_query"]}


async def test_a_long_unknown_method_is_not_repeated_in_full(desk: Desk) -> None:
    answer = await desk.post(call("x" * 100_000))
    assert len(answer["error"]["message"]) < 200


@pytest.mark.parametrize("params", [[], [1], "text", 7, True, False, 0, ""])
async def test_params_that_are_no_object_are_invalid(desk: Desk, params: object) -> None:
    answer = await desk.post(call(params=params))
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INVALID_PARAMS, 1)


@pytest.mark.parametrize("extra", [{}, {"params": None}, {"params": {}}])
async def test_params_may_be_left_out(desk: Desk, extra: dict[str, Any]) -> None:
    assert (await desk.post(call(**extra)))["result"] == {"status": "ok"}
    assert desk.asked == [{}]


async def test_a_notification_is_carried_out_and_not_answered(desk: Desk) -> None:
    assert await desk.post(notification(params={"a": 1})) is None
    assert desk.asked == [{"a": 1}]


@pytest.mark.parametrize("wrong", [notification("get_rich"), notification(params=[1]), notification("create_schedule")])
async def test_not_even_the_error_of_a_notification_is_answered(desk: Desk, wrong: dict[str, Any]) -> None:
    assert await desk.post(wrong) is None


async def test_a_batch_is_answered_as_a_batch(desk: Desk) -> None:
    answers = await desk.post([call(request_id=1), call("get_rich", "two"), 3, notification(), call(request_id=None)])
    assert isinstance(answers, list)
    assert [answer["id"] for answer in answers] == [1, "two", None, None]
    assert [answer.get("error", {}).get("code") for answer in answers] == [None, -32601, -32600, None]
    assert len(desk.asked) == 3


async def test_a_batch_of_one_is_still_a_batch(desk: Desk) -> None:
    assert [answer["id"] for answer in await desk.post([call(request_id=9)])] == [9]


async def test_a_batch_of_notifications_is_not_answered(desk: Desk) -> None:
    assert await desk.post([notification(), notification()]) is None
    assert len(desk.asked) == 2


async def test_an_empty_batch_is_an_invalid_request(desk: Desk) -> None:
    answer = await desk.post([])
    assert (answer["error"]["code"], answer["id"]) == (JsonRpcErrorCode.INVALID_REQUEST, None)


async def test_a_batch_has_a_limit_and_nothing_beyond_it_is_carried_out(desk: Desk) -> None:
    assert len(await desk.post([call()] * 100)) == 100
    desk.asked.clear()
    answer = await desk.post([call()] * 101)
    assert answer["error"]["code"] == JsonRpcErrorCode.INVALID_REQUEST
    assert "100" in answer["error"]["message"]
    assert not desk.asked


async def test_the_calls_of_a_batch_run_beside_each_other_and_are_answered_in_order(desk: Desk) -> None:
    desk.together = asyncio.Barrier(MAX_SLOW_CALLS)
    async with asyncio.timeout(BOUND):
        answers = await desk.post([call(request_id=number) for number in range(2 * MAX_SLOW_CALLS)])
    assert [answer["id"] for answer in answers] == list(range(2 * MAX_SLOW_CALLS))


def test_a_request_is_written_with_an_integer_id() -> None:
    frame = json.loads(encode_request("get_standings", {"a": [1, None]}, 12))
    assert frame == {"jsonrpc": "2.0", "method": "get_standings", "params": {"a": [1, None]}, "id": 12}


def reply(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()


@pytest.mark.parametrize("result", [{"status": "ok"}, {}, None, [], "text", 0, False])
def test_the_result_of_a_reply_is_read_whatever_it_is(result: object) -> None:
    assert parse_result(200, reply(result=result)) == result


@pytest.mark.parametrize(("status", "body"), [(202, b""), (204, b""), (200, b"")])
def test_an_accepted_call_without_a_body_has_no_result(status: int, body: bytes) -> None:
    assert parse_result(status, body) is None


@pytest.mark.parametrize(
    "stream",
    [
        b'event: message\ndata: {"result": 5}\n\n',
        b'data: {"result": 5}',
        b'event: message\r\ndata:{"result": 5}\r\n\r\n',
        b'id: 1\ndata: \n\ndata: {"method": "notifications/progress"}\n\ndata: {"result":\ndata: 5}\n\n',
        b': a comment\n\ndata: {"result": 5}\n\n: another\n\n',
    ],
)
def test_a_reply_may_come_as_a_stream_of_events_whose_last_one_it_is(stream: bytes) -> None:
    assert parse_result(200, stream) == 5


@pytest.mark.parametrize("stream", [b"event: message\n\n", b": nothing", b"data: {\n\n", b"data:\n\n"])
def test_a_stream_without_a_reply_is_a_bad_answer(stream: bytes) -> None:
    with pytest.raises(BadAnswer):
        parse_result(200, stream)


@pytest.mark.parametrize("status", [200, 404, 500])
def test_an_error_object_is_a_refusal_with_its_sentence_whatever_the_status(status: int) -> None:
    with pytest.raises(PeerRefused, match="no such thing"):
        parse_result(status, reply(error={"code": -32601, "message": "no such thing"}))


@pytest.mark.parametrize("error", ["plain", None, 5, [], {}, {"message": None}, {"message": ["x"]}])
def test_an_error_of_any_form_is_a_refusal(error: object) -> None:
    with pytest.raises(PeerRefused):
        parse_result(200, reply(error=error))


def test_a_league_error_is_a_refusal_with_its_code() -> None:
    result = {"message_type": "LEAGUE_ERROR", "error_code": "E016", "message": "full up"}
    with pytest.raises(PeerRefused, match="E016 full up") as refused:
        parse_result(200, reply(result=result))
    assert refused.value.code is ErrorCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize("code", ["E999", None, 12, ["E012"], {}])
def test_a_league_error_with_an_unknown_code_is_a_refusal_all_the_same(code: object) -> None:
    with pytest.raises(PeerRefused) as refused:
        parse_result(200, reply(result={"message_type": "LEAGUE_ERROR", "error_code": code}))
    assert refused.value.code is ErrorCode.INVALID_MESSAGE_FORMAT


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>"),
        (404, b"Not Found"),
        (500, b""),
        (302, b""),
        (200, b"\xff\xfe"),
        (200, b"[]"),
        (200, b"7"),
        (200, b"null"),
        (200, b"{}"),
        (404, b'{"detail": "Not Found"}'),
        (200, nested(300)),
        (200, b'{"jsonrpc": "2.0", "id": 1, "result": ' + nested(300) + b"}"),
        (200, b"[" * 100_000),
    ],
)
def test_a_reply_that_is_none_is_a_bad_answer(status: int, body: bytes) -> None:
    with pytest.raises(BadAnswer) as bad:
        parse_result(status, body)
    assert bad.value.code is ErrorCode.INVALID_MESSAGE_FORMAT


@pytest.mark.parametrize(
    "fields",
    [
        {"error": {"message": "x" * 100_000}},
        {"error": "x" * 100_000},
        {"result": {"message_type": "LEAGUE_ERROR", "message": "x" * 100_000}},
    ],
)
def test_a_long_sentence_of_a_peer_is_cut(fields: dict[str, Any]) -> None:
    with pytest.raises(CallFailed) as failed:
        parse_result(200, reply(**fields))
    assert len(failed.value.message) < MAX_SENTENCE + 20


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"{}", 1),
        (b'{"a": [1, 2, 3]}', 1),
        (b"[]", 1),
        (b"[1]", 1),
        (b" \n\t[{}, {}, 3]", 3),
        (b"[" + b"1," * 500 + b"1]", MAX_BATCH),
        (b"[1, 2", 1),
        (b"", 1),
        (b'"[1, 2]"', 1),
    ],
)
def test_a_batch_counts_as_the_requests_it_holds(body: bytes, count: int) -> None:
    assert count_requests(body) == count


def broadcast(method: str, **params: Any) -> bytes:
    return encode_request(method, params, 1)


def test_a_broadcast_is_read_once_for_all_who_get_the_same_bytes() -> None:
    body = broadcast("update_standings", round_id=1, standings=[])
    first, second = parse_body(body), parse_body(bytes(bytearray(body)))
    assert first is second
    assert parse_body(broadcast("update_standings", round_id=2, standings=[])) is not first


@pytest.mark.parametrize("method", ["register_player", "make_move", "handle_game_invitation", "start_match"])
def test_what_is_said_to_one_is_read_for_that_one_alone(method: str) -> None:
    body = broadcast(method, context={"deep": [1]})
    assert parse_body(body) is not parse_body(bytes(bytearray(body)))
