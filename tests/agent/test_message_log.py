"""Messages in the log: a line for each, with time, peer and latency, never a token, and none without a bound."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.agent.app import AgentApp
from agent_league.agent.dispatcher import Dispatcher
from agent_league.agent.message_log import (
    MAX_ADDRESSES,
    MAX_LOGGED_MESSAGE,
    MAX_OPEN_LINES,
    MAX_REFUSED_LINES,
    MINUTE_SECONDS,
    OTHER_ADDRESSES,
    CallLogLimit,
    MessageLog,
    ReceivedCall,
)
from agent_league.clock import parse_utc
from agent_league.errors import CallFailed
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.log import JsonLogger
from agent_league.protocol.methods import Caller
from agent_league.testing.virtual_time import in_virtual_time
from agent_league.text import REDACTED, CutLine, redact_lines, redact_text, redact_tokens
from tests.agent.answering_agent import QUERY, Desk, call, refuse
from tests.protocol.examples import requests_by_method

TOKEN = "tok-p01-abcdef0123456789"
SIGNED = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJQMDEifQ.c2lnbmF0dXJl"


class LoggedDesk(Desk):
    """A small agent that logs its messages, behind a real server."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.messages = MessageLog(self.log)
        tools = {"league_query": self.take, "get_standings": self.take, "register_player": self.take}
        self.dispatcher = Dispatcher(self, tools, self.clock, self.log, message_log=self.messages)
        self.caller_log = JsonLogger("caller", log_root=folder)
        self.server = HttpServer(AgentApp(self.dispatcher.answer_request, dict), "127.0.0.1", 0, "a test")

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"

    def lines(self, log: JsonLogger) -> list[dict[str, Any]]:
        log.flush()
        path = log.log_file
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LoggedDesk]:
    desk = LoggedDesk(tmp_path)
    await desk.server.start()
    yield desk
    await desk.server.stop()
    desk.log.close()
    desk.caller_log.close()


@pytest.fixture
async def carrier(desk: LoggedDesk) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        carrier = MessageLog(desk.caller_log).wrap_carrier(HttpCarrier())
        stack.push_async_callback(carrier.close)
        yield carrier


def query(**fields: Any) -> bytes:
    return json.dumps(call("league_query", params={**QUERY["params"], **fields}), separators=(",", ":")).encode()


async def test_a_message_is_a_line_in_the_logs_of_both_its_ends_and_so_is_its_answer(
    desk: LoggedDesk, carrier: Any
) -> None:
    await carrier.exchange(desk.endpoint, query(), 10)
    ours, theirs = desk.lines(desk.caller_log), desk.lines(desk.log)
    assert [line["event_type"] for line in ours] == ["message_sent", "message_received"]
    assert [line["event_type"] for line in theirs] == ["message_received", "message_sent"]
    assert ours[0]["message"] == theirs[0]["message"] == redact_tokens(json.loads(query()))
    assert ours[1]["message"] == theirs[1]["message"] == {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}
    assert {line["peer"] for line in ours} == {desk.endpoint}
    assert all(line["peer"].startswith("127.0.0.1:") for line in theirs)
    for line in (*ours, *theirs):
        assert parse_utc(line["timestamp"])
        assert 0 <= line["microsecond"] < 1_000_000
        assert line["level"] == "INFO"
    assert all(line["latency_ms"] > 0 for line in (ours[1], theirs[1]))
    assert ours[1]["latency_ms"] > theirs[1]["latency_ms"]


async def test_a_message_that_gets_no_answer_says_why(desk: LoggedDesk, carrier: Any) -> None:
    desk.together = asyncio.Barrier(2)
    with pytest.raises(CallFailed):
        await carrier.exchange(desk.endpoint, query(), 0.05)
    last = desk.lines(desk.caller_log)[-1]
    assert (last["event_type"], last["error_code"]) == ("message_unanswered", "E001")
    assert last["latency_ms"] >= 50
    assert desk.endpoint in last["error"]


@pytest.mark.parametrize("token", [TOKEN, SIGNED, 'odd "secret"', "sécret", 4711, ["a", "b"], {"a": TOKEN}])
async def test_no_token_is_in_a_line_whatever_its_form(desk: LoggedDesk, carrier: Any, token: Any) -> None:
    await carrier.exchange(desk.endpoint, query(auth_token=token), 10, TOKEN)
    for line in (*desk.lines(desk.caller_log), *desk.lines(desk.log)):
        if "params" in line["message"]:
            assert line["message"]["params"]["auth_token"] == REDACTED
        assert "tok-" not in json.dumps(line)


async def test_what_is_no_json_stands_there_as_text(desk: LoggedDesk, carrier: Any) -> None:
    await carrier.exchange(desk.endpoint, b'{"auth_token": "s3cret", "x": \x1b[2J\xff', 10)
    received = desk.lines(desk.log)[0]
    assert (received["bytes"], received["cut"]) == (35, False)
    assert received["text"].startswith('{"auth_token": "[redacted]", "x": ')
    raw = desk.log.log_file.read_bytes()
    assert b"\x1b" not in raw
    assert b"s3cret" not in raw


async def test_of_a_huge_message_the_line_has_the_beginning_and_the_length(desk: LoggedDesk, carrier: Any) -> None:
    huge = query(auth_token=TOKEN, blob="x" * 500_000)
    await carrier.exchange(desk.endpoint, huge, 10)
    for line in (desk.lines(desk.caller_log)[0], desk.lines(desk.log)[0]):
        assert (line["bytes"], line["cut"]) == (len(huge), True)
        assert line["text"].startswith('{"jsonrpc":"2.0","method":"league_query"')
        assert len(json.dumps(line)) < MAX_LOGGED_MESSAGE
        assert "tok-" not in json.dumps(line)


@pytest.mark.parametrize("place", range(960, 1001))
def test_a_token_that_is_cut_in_two_is_left_out(place: int) -> None:
    text = f'{"x" * (place - 20)} {{"note": "{SIGNED}", "a_token": "so secret"}}'[:1000]
    assert "eyJ" not in redact_text(text, is_cut=True)
    assert "secret" not in redact_text(text, is_cut=True)


@pytest.mark.parametrize(
    "text",
    [
        '"token": "so secret"',
        "'auth_token': 'so secret'",
        r"{\"auth_token\":\"so secret\"}",
        "?token=secret&x=1",
        '"match_key":"secret"',
    ],
)
def test_in_a_text_a_token_is_known_by_the_word_before_it(text: str) -> None:
    assert "secret" not in redact_text(text)


async def test_refused_calls_without_a_good_token_are_counted_beyond_the_first_ten(
    desk: LoggedDesk, carrier: Any
) -> None:
    desk.refusal = refuse()
    for _ in range(100):
        await carrier.exchange(desk.endpoint, query(), 10)
    for _ in range(50):
        await carrier.exchange(desk.endpoint, b"[1", 10)
    events = Counter(line["event_type"] for line in desk.lines(desk.log))
    assert events == {"message_received": 10, "message_sent": 10, "message_refused": MAX_REFUSED_LINES}
    desk.log.close()
    told = desk.lines(desk.log)[-1]
    assert (told["event_type"], told["address"], told["calls"]) == ("calls_refused", "127.0.0.1", 150)
    assert told["in_full"] == 10
    assert told["error_codes"] == {"E012": 100, "-32700": 50}


async def test_rejected_applications_are_counted_beyond_the_first_ten_and_accepted_ones_never(
    desk: LoggedDesk, carrier: Any
) -> None:
    application = json.dumps(requests_by_method()["register_player"]).encode()
    desk.reply = {"status": "REJECTED"}
    for _ in range(30):
        await carrier.exchange(desk.endpoint, application, 10)
    assert Counter(line["event_type"] for line in desk.lines(desk.log)) == {"message_received": 10, "message_sent": 10}
    desk.reply = {"status": "ACCEPTED"}
    for _ in range(30):
        await carrier.exchange(desk.endpoint, application, 10)
    assert Counter(line["event_type"] for line in desk.lines(desk.log)) == {"message_received": 40, "message_sent": 40}
    desk.log.close()
    told = desk.lines(desk.log)[-1]
    assert (told["calls"], told["error_codes"]) == (30, {"REJECTED": 30})


@in_virtual_time
async def test_every_minute_the_number_is_told_and_calls_are_written_in_full_again(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    counted = CallLogLimit(log, "calls_refused", MAX_REFUSED_LINES)
    written = [counted.count_call("10.0.0.1", ["E012"]) for _ in range(12)]
    assert (written, log.log_file.exists()) == ([True] * 10 + [False] * 2, False)
    assert counted.full_addresses == {"10.0.0.1"}
    await asyncio.sleep(MINUTE_SECONDS + 1)
    (told,) = map(json.loads, log.log_file.read_text("utf-8").splitlines())
    assert (told["address"], told["calls"], told["error_codes"]) == ("10.0.0.1", 12, {"E012": 12})
    assert not counted.full_addresses
    assert counted.count_call("10.0.0.1", ["E012"])
    log.close()


async def test_calls_of_very_many_addresses_are_counted_together(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    counted = CallLogLimit(log, "calls_refused", MAX_REFUSED_LINES)
    for number in range(MAX_ADDRESSES + 20):
        counted.count_call(f"10.0.{number // 256}.{number % 256}", ["E012"])
    log.close()
    (told,) = map(json.loads, log.log_file.read_text("utf-8").splitlines())
    assert (told["address"], told["calls"]) == (OTHER_ADDRESSES, 20)


async def test_calls_that_anybody_may_make_are_counted_beyond_a_number(desk: LoggedDesk) -> None:
    for _ in range(MAX_OPEN_LINES + 5):
        asked = ReceivedCall(desk.messages, b"{}")
        asked.log_received()
        asked.mark_admitted(Caller.ANYBODY)
        asked.log_answer(b"{}")
    events = Counter(line["event_type"] for line in desk.lines(desk.log))
    assert events == {"message_received": MAX_OPEN_LINES, "message_sent": MAX_OPEN_LINES}
    desk.log.close()
    told = desk.lines(desk.log)[-1]
    assert (told["event_type"], told["calls"]) == ("open_calls", MAX_OPEN_LINES + 5)


async def test_a_player_is_known_only_when_its_answer_is_taken(desk: LoggedDesk) -> None:
    answer = ReceivedCall(desk.messages, b"{}")
    answer.mark_admitted(Caller.MATCH_PLAYER)
    assert not answer.is_known
    answer.mark_admitted(Caller.MATCH_REFEREE)
    assert answer.is_known


async def test_a_frame_that_only_mcp_understands_is_a_line_where_nobody_takes_it(
    desk: LoggedDesk, carrier: Any
) -> None:
    frames: list[Any] = [
        call("tools/call", params={"name": "get_standings", "arguments": {}}),
        [call("ping")],
        {**call(), "method": 7},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for frame in frames:
        await carrier.exchange(desk.endpoint, json.dumps(frame).encode(), 10)
    events = [line["event_type"] for line in desk.lines(desk.log)]
    assert events == [*["message_received", "message_sent"] * 3, "message_received"]


async def test_who_has_a_good_token_is_logged_in_full_beside_a_flood_from_the_same_address(
    desk: LoggedDesk, carrier: Any
) -> None:
    desk.refusal = refuse()
    for _ in range(20):
        await carrier.exchange(desk.endpoint, query(), 10)
    desk.refusal = None
    before = len(desk.lines(desk.log))
    for _ in range(20):
        await carrier.exchange(desk.endpoint, query(), 10)
    assert [line["event_type"] for line in desk.lines(desk.log)[before:]] == ["message_received", "message_sent"] * 20


async def test_where_messages_are_not_wanted_there_is_no_line_and_floods_are_counted_all_the_same(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    desk.refusal = refuse()
    for _ in range(30):
        await desk.post(QUERY)
    assert [line["event_type"] for line in desk.logged()] == ["message_refused"] * MAX_REFUSED_LINES
    desk.log.close()
    assert desk.logged()[-1]["calls"] == 30


@pytest.mark.parametrize(
    "member",
    [
        f'"text":"a {TOKEN}"',
        f'"text":"{TOKEN.upper()}"',
        f'"text":"a {SIGNED}"',
        '"AUTH_TOKEN":"open sesame"',
        '"match_key":"open sesame"',
        '"Application-Key":"open sesame"',
        '"text":"http://localhost:8000/join/abcdef"',
        '"text":"%2FJOIN%2Fabcdef"',
        '"text":"KEY-abcdefghijklmnop234567"',
        '"text":"sesame"',
        '"text":"\\u0074ok-p01-abcdef0123456789"',
    ],
)
def test_among_many_lines_each_secret_is_found_and_the_other_lines_stay_as_they_are(member: str) -> None:
    others = [b'{"auth_token":"x","text":"Kelly, 5"}\n', b'{"token":null}\n']
    first, second, third = redact_lines([others[0], b"{%b}\n" % member.encode(), others[1]], [b"sesame"]).splitlines()
    assert (first, third) == (b'{"auth_token":"[redacted]","text":"Kelly, 5"}', b'{"token":null}')
    (value,) = json.loads(second).values()
    assert "[redacted]" in value or "[key]" in value
    assert not any(secret in value.lower() for secret in ("abcdef", "sesame", "eyj"))


ALMOST_TOKENS = ["Kelly of the stock", "tok", "token", "tok-short", "eyj", "monkey", "join", "join-us", "50%", "Token"]
"""Text that has the letters of a token's signs, and is none."""
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.sampled_from([TOKEN, SIGNED, f"a {TOKEN}", *ALMOST_TOKENS]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text() | st.sampled_from(["auth_token", "token", "match_key", "public_key", "sender", TOKEN]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=JSON, compact=st.booleans(), escaped=st.booleans())
def test_by_its_bytes_a_message_is_redacted_as_by_its_fields(value: Any, compact: bool, escaped: bool) -> None:
    document = json.dumps(value, separators=(",", ":") if compact else None, ensure_ascii=escaped)
    try:
        raw = document.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which no message of UTF-8 holds
        return
    line = b'{"message":%b}\n' % raw
    found = redact_lines([line])
    assert redact_lines([b'{"auth_token":"x"}\n', line, b'{"token":null}\n']) == (
        b'{"auth_token":"[redacted]"}\n%b{"token":null}\n' % found
    )
    cut = CutLine(line, b',"text":"of a message"')
    assert redact_lines([line, cut, b'{"auth_token":"x"}\n', cut]) == (
        b'%b%b,"text":"of a message"}\n{"auth_token":"[redacted]"}\n%b,"text":"of a message"}\n'
        % (found, found[:-2], found[:-2])
    )
    assert json.loads(found) == {"message": redact_tokens(json.loads(document))}
    assert found.endswith(b"\n")
    assert found[:-1].decode().isprintable()
