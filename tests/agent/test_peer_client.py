"""Manners: one style after the other within one deadline, and what is learned from it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from agent_league.agent.listed_tools import CUT_DEVIATION
from agent_league.agent.peer_client import (
    PUSH_SECONDS,
    RETRY_FORMS_SECONDS,
    PeerAnswer,
    PeerCall,
    PeerClient,
    PushedAnswer,
)
from agent_league.errors import (
    BadAnswer,
    CallFailed,
    ErrorCode,
    MismatchedAnswer,
    PeerRefused,
    PeerTimeout,
    PeerUnreachable,
)
from agent_league.http.memory import MemoryNetwork
from agent_league.protocol.tolerance import FORM_BY_NAME
from agent_league.testing.peers import ScriptedAgent, always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.protocol.test_tolerance import FRAMES, REPLIES

PEER = "http://localhost:8101/mcp"
ACK = {"message_type": "GAME_JOIN_ACK", "accept": True}
CHOICE = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd"}
OK = {"status": "ok"}
LIMIT = 5.0
INVITE = PeerCall(
    "handle_game_invitation", {"protocol": "league.v2", "message_type": "GAME_INVITATION"}, "GAME_JOIN_ACK"
)
CHOOSE = PeerCall(
    "choose_parity", {"protocol": "league.v2", "message_type": "CHOOSE_PARITY_CALL"}, "CHOOSE_PARITY_RESPONSE"
)
START = {"protocol": "league.v2", "message_type": "START_LEAGUE", "sender": "player:P01"}
OVER = PeerCall("notify_match_result", {"protocol": "league.v2", "message_type": "GAME_OVER"})
PLAY = PeerCall("choose_parity", {"protocol": "league.v1", "message_type": "PLAY_REQUEST"}, "PLAY_RESPONSE")
INVITED = ["handle_game_invitation", "game_invitation", "receive_game_invitation", "GAME_INVITATION"]
IN_FRAMES = ["handle_message", "tools/call", "bare", "tools/call"]
LISTED = ["handle_message", "tools/call", "tools/list", "bare", "tools/call"]
"""As above, where the call of a tool fails: then its tools are asked for."""


def combined(*names: str) -> list[str]:
    """The methods of the styles that put these names into the other frames."""
    return ["tools/call"] * len(names) + list(names)


Script = Callable[[str, dict[str, Any]], Any]
"""From the method (or `bare`) and the whole body to a body of the reply, or its status and body; may wait."""


def result(message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": message, "id": 1}


def fault(code: int = -32601) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": 1}


REFUSED = result({"message_type": "LEAGUE_ERROR", "error_code": "E012", "message": "not yours"})


class Stranger:
    """A carrier with one agent at its other end, who does what a script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[str] = []
        self.limits: list[float] = []
        self.bearers: list[str | None] = []
        self.addresses: list[str] = []

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        body = json.loads(frame)
        name = body.get("method", "bare")
        self.calls.append(name)
        self.limits.append(limit)
        self.bearers.append(bearer)
        self.addresses.append(endpoint)
        try:
            async with asyncio.timeout(limit):
                reply = self.script(name, body)
                if isinstance(reply, Awaitable):
                    reply = await reply
        except TimeoutError:
            raise PeerTimeout(f"no answer from {endpoint} within {limit:g} s") from None
        status, answer = reply if isinstance(reply, tuple) else (200, reply)
        if isinstance(answer, dict) and answer.get("id") == 1:  # as the scripts write it
            answer = {**answer, "id": body.get("id")}
        return status, answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    async def close(self) -> None:
        """Nothing is held open."""


@pytest.mark.parametrize("own", ["the number", "as a text", "as a fraction", "null", "none at all"])
async def test_an_answer_says_its_id_in_any_way_or_not_at_all(own: str) -> None:
    def script(_: str, body: dict[str, Any]) -> Any:
        ids = {"the number": body["id"], "as a text": str(body["id"]), "as a fraction": float(body["id"]), "null": None}
        answer = {"jsonrpc": "2.0", "result": ACK}
        return {**answer, "id": ids[own]} if own in ids else answer

    assert (await PeerClient(Stranger(script)).request_answer(PEER, INVITE, LIMIT)).message == ACK


@pytest.mark.parametrize("other", [lambda number: number - 1, lambda number: f"{number}x", lambda _: [], lambda _: {}])
async def test_an_answer_with_the_id_of_another_call_is_none(other: Callable[[int], Any]) -> None:
    peer = Stranger(lambda _, body: {"jsonrpc": "2.0", "result": ACK, "id": other(body.get("id", 7))})
    with pytest.raises(BadAnswer, match=r"an answer to another call: its id is .*, expected 1"):
        await PeerClient(peer, strict=True).request_answer(PEER, INVITE, LIMIT)


def knows(**answers: Any) -> Script:
    """Knows some methods; whatever else is asked, it has no such method."""
    return lambda name, _: answers.get(name, fault())


@pytest.mark.parametrize("style", [name for name in FRAMES if name != "short"])
@pytest.mark.parametrize("first", ["seeds", "tool", "nobody's"])
@in_virtual_time
async def test_an_agent_of_any_style_is_asked_until_it_answers_and_then_in_its_own(style: str, first: str) -> None:
    wanted = {
        call.method: FORM_BY_NAME[style].encode_request(call.method, call.message, 0) for call in (INVITE, CHOOSE)
    }
    replies = {"handle_game_invitation": ACK, "choose_parity": CHOICE}

    def script(_: str, body: dict[str, Any]) -> Any:
        numbered = {**body, "id": 0} if "id" in body else body
        known = [method for method, frame in wanted.items() if json.loads(frame) == numbered]
        return result(replies[known[0]]) if known else fault()

    peer = Stranger(script)
    manners = PeerClient(peer)
    manners.expect_form(PEER, first)
    heard = await manners.request_answer(PEER, INVITE, LIMIT)
    assert heard.message == ACK
    called = [] if style == "seeds" else [f"called as {FORM_BY_NAME[style].describe_call(INVITE.method)}"]
    assert [note for note in heard.deviations if note.startswith("called")] == called
    before = len(peer.calls)
    assert (await manners.request_answer(PEER, CHOOSE, LIMIT)).message == CHOICE
    assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert len(peer.calls) == before + 2  # what it has answered once is known


@pytest.mark.parametrize(
    ("place", "noted"),
    [
        ("result", ()),
        ("result.structuredContent", ("answer in result.structuredContent",)),
        ("result.content[0].text", ("answer in result.content[0].text",)),
        ("result.message", ("answer in result.message",)),
        ("result.response", ("answer in result.response",)),
        ("params", ("answer in params",)),
        ("the bare body", ("answer in the bare body",)),
    ],
)
@in_virtual_time
async def test_an_answer_is_found_in_each_of_its_places(place: str, noted: tuple[str, ...]) -> None:
    peer = Stranger(knows(handle_game_invitation=REPLIES[place]))
    assert await PeerClient(peer).request_answer(PEER, INVITE, LIMIT) == PeerAnswer(ACK, noted)
    assert peer.calls == ["handle_game_invitation"]


NO_SUCH_METHOD: dict[str, Any] = {
    "method not found": fault(),
    "another error": fault(-32603),
    "an error in words": {"error": "what?"},
    "404": (404, {"detail": "Not Found"}),
    "405": (405, {"detail": "Method Not Allowed"}),
    "422": (422, {"detail": [{"loc": ["body"]}]}),
    "500": (500, {"detail": "oops"}),
    "a page": (500, b"<html>oops</html>"),
    "a status": result(OK),
    "nothing": result(None),
    "an empty body": b"",
    "a number": b"7",
    "a failed tool": result({"content": [{"type": "text", "text": "Unknown tool"}], "isError": True}),
}


@pytest.mark.parametrize("how", NO_SUCH_METHOD)
@in_virtual_time
async def test_each_way_to_know_no_method_makes_us_try_the_next(how: str) -> None:
    def script(name: str, _: dict[str, Any]) -> Any:
        return result(ACK) if name == "GAME_INVITATION" else NO_SUCH_METHOD[how]

    peer = Stranger(script)
    assert (await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert peer.calls == INVITED


@pytest.mark.parametrize("how", NO_SUCH_METHOD)
@in_virtual_time
async def test_an_agent_with_names_of_two_styles_is_understood_whatever_it_says_to_the_others(how: str) -> None:
    def script(name: str, _: dict[str, Any]) -> Any:
        known = {"game_invitation": ACK, "parity_choose": CHOICE}
        return result(known[name]) if name in known else NO_SUCH_METHOD[how]

    manners = PeerClient(Stranger(script))
    for call, answer in ((INVITE, ACK), (CHOOSE, CHOICE), (INVITE, ACK), (CHOOSE, CHOICE)):
        assert (await manners.request_answer(PEER, call, LIMIT)).message == answer


@in_virtual_time
async def test_what_is_wrong_with_the_first_style_is_told_in_the_end() -> None:
    with pytest.raises(MismatchedAnswer, match="GAME_JOIN_ACK: missing: accept") as caught:
        await PeerClient(Stranger(lambda *_: result({"moin": 1}))).request_answer(PEER, INVITE, LIMIT)
    assert (caught.value.code, caught.value.answer) == (ErrorCode.MISSING_REQUIRED_FIELD, {"moin": 1})
    peer = Stranger(knows(handle_game_invitation=(500, b"oops")))
    with pytest.raises(BadAnswer, match="HTTP 500"):
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)
    assert peer.calls == [*INVITED, *LISTED, *combined(*INVITED)]


async def test_an_agent_that_forgets_a_method_is_asked_for_it_in_combined_forms_once() -> None:
    peer = Stranger(knows(handle_game_invitation=result(ACK)))
    client = PeerClient(peer)
    for _ in range(2):
        await client.request_answer(PEER, INVITE, LIMIT)
    assert peer.calls == INVITED[:1] * 2
    peer.script = lambda *_: fault()
    tried = []
    for _ in range(2):
        peer.calls = []
        with pytest.raises(CallFailed):
            await client.request_answer(PEER, INVITE, LIMIT)
        tried.append(peer.calls)
    assert tried == [[*INVITED, *LISTED, *combined(*INVITED)], [*INVITED, *IN_FRAMES]]


@in_virtual_time
async def test_who_refuses_with_a_league_error_has_understood() -> None:
    peer = Stranger(lambda *_: REFUSED)
    with pytest.raises(PeerRefused, match="E012 not yours") as caught:
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)
    assert caught.value.code is ErrorCode.AUTH_TOKEN_INVALID
    assert len(peer.calls) == 1


NAMES = {
    "handle_game_invitation": INVITED,
    "choose_parity": ["choose_parity", "choose_parity_call", "parity_choose", "receive_parity_call"],
    "notify_match_result": ["notify_match_result", "game_over", "receive_game_over", "GAME_OVER"],
}
MESSAGES_IN: dict[str, Callable[[dict[str, Any]], tuple[Any, Any]]] = {
    "params.message": lambda body: (body.get("method"), (body.get("params") or {}).get("message")),
    "params.arguments": lambda body: (
        ((body.get("params") or {}).get("name"), body["params"].get("arguments"))
        if body.get("method") == "tools/call" and "_meta" not in body["params"]
        else (None, None)
    ),
}
UNKNOWN_TOOL = {
    "error": {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Unknown tool: that"}, "id": 1},
    "result": result({"content": [{"type": "text", "text": "Unknown tool: that"}], "isError": True}),
    "404": (404, b'{"detail": "Not Found"}'),
}


@pytest.mark.parametrize("frame", MESSAGES_IN)
@pytest.mark.parametrize("said", UNKNOWN_TOOL)
@pytest.mark.parametrize("call", [INVITE, CHOOSE], ids=lambda call: call.method)
@in_virtual_time
async def test_any_name_of_the_table_is_tried_in_any_frame_and_remembered(
    call: PeerCall, said: str, frame: str
) -> None:
    answers = {"handle_game_invitation": ACK, "choose_parity": CHOICE}
    for name in NAMES[call.method]:

        def script(_: str, body: dict[str, Any], name: str = name) -> Any:
            called, message = MESSAGES_IN[frame](body)
            known = called == name and message == call.message
            return result(answers[call.method]) if known else UNKNOWN_TOOL[said]

        peer = Stranger(script)
        manners = PeerClient(peer)
        heard = await manners.request_answer(PEER, call, LIMIT)
        assert heard.message == answers[call.method]
        assert len(peer.calls) <= 20, "every form once, and the list of tools"
        before = len(peer.calls)
        assert await manners.request_answer(PEER, call, LIMIT) == heard
        assert len(peer.calls) == before + 1
        assert len(heard.deviations) == 1
        assert heard.deviations[0].startswith("called as ")


@in_virtual_time
async def test_a_server_of_mcp_tells_the_names_of_its_tools_and_is_called_by_them() -> None:
    tools = {"receive_game_invitation": ACK, "receive_parity_call": CHOICE}
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]

    def script(name: str, body: dict[str, Any]) -> Any:
        if name == "tools/list":
            return result({"tools": [*listed, "odd", {"name": 5}]})
        called = body["params"].get("name") if name == "tools/call" else None
        return result(tools[called]) if called in tools else fault()

    peer = Stranger(script)
    manners = PeerClient(peer)
    heard = await manners.request_answer(PEER, INVITE, LIMIT)
    assert heard == PeerAnswer(ACK, ("called as 'tools/call' of 'receive_game_invitation'",))
    assert peer.calls[-3:] == ["tools/call", "tools/list", "tools/call"], "straight to the tool that it lists"
    before = len(peer.calls)
    assert (await manners.request_answer(PEER, CHOOSE, LIMIT)).message == CHOICE
    assert peer.calls[before:] == ["tools/call"]


@in_virtual_time
async def test_a_tool_that_takes_no_other_arguments_gets_those_alone() -> None:
    tools = {"handle_game_invitation": ACK, "choose_parity": CHOICE}
    closed = {"type": "object", "properties": {"message_type": {}}, "additionalProperties": False}
    sent: list[Any] = []

    def script(name: str, body: dict[str, Any]) -> Any:
        if name == "tools/list":
            return result({"tools": [{"name": tool, "inputSchema": closed} for tool in tools]})
        if name != "tools/call" or body["params"]["name"] not in tools:
            return fault()
        sent.append(body["params"]["arguments"])
        if sent[-1].keys() - {"message_type"}:
            return result({"isError": True, "content": [{"type": "text", "text": "unexpected argument"}]})
        return result({"structuredContent": tools[body["params"]["name"]]})

    peer = Stranger(script)
    client = PeerClient(peer)
    heard = await client.request_answer(PEER, INVITE, LIMIT)
    assert heard == PeerAnswer(ACK, ("called as 'tools/call'", CUT_DEVIATION))
    assert sent == [INVITE.message, {"message_type": "GAME_INVITATION"}]
    before = len(peer.calls)
    assert (await client.request_answer(PEER, CHOOSE, LIMIT)).message == CHOICE
    assert peer.calls[before:] == ["tools/call"]


@in_virtual_time
@pytest.mark.parametrize(("path", "is_named"), [("/sse", True), ("/mcp", False)])
async def test_an_address_of_the_oldest_mcp_transport_is_named_as_such(path: str, is_named: bool) -> None:
    peer = Stranger(lambda *_: (405, {"detail": "Method Not Allowed"}))
    with pytest.raises(BadAnswer) as raised:
        await PeerClient(peer).request_answer(PEER.replace("/mcp", path), INVITE, LIMIT)
    assert raised.value.message.startswith("HTTP 405")
    assert ("serve Streamable HTTP (2025-03-26 or newer)" in raised.value.message) is is_named


@in_virtual_time
async def test_an_unknown_tool_brings_the_other_calls_of_tools_forward() -> None:
    def script(name: str, body: dict[str, Any]) -> Any:
        if name != "tools/call":
            return fault()
        return result(ACK) if body["params"]["name"] == "GAME_INVITATION" else UNKNOWN_TOOL["result"]

    peer = Stranger(script)
    assert (await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert peer.calls == [*INVITED, "handle_message", "tools/call", "tools/list", *["tools/call"] * 3]


@in_virtual_time
async def test_a_tool_that_is_gone_is_looked_for_under_its_other_names() -> None:
    """Another agent at the same address: what it once answered to is unknown now, and that is no breakdown."""

    def only(name: str, said: Any) -> Script:
        return lambda _, body: result(ACK) if body.get("params", {}).get("name") == name else said

    peer = Stranger(only("game_invitation", fault()))
    manners = PeerClient(peer)
    assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK
    for name, said in (("handle_game_invitation", "error"), ("receive_game_invitation", "result")):
        peer.script = only(name, UNKNOWN_TOOL[said])
        assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK


@in_virtual_time
async def test_who_answers_in_no_form_at_all_is_not_asked_in_all_of_them_at_every_attempt() -> None:
    peer = Stranger(lambda *_: fault())
    manners = PeerClient(peer)
    asked = []
    for _ in range(3):
        before = len(peer.calls)
        with pytest.raises(PeerRefused):
            await manners.request_answer(PEER, INVITE, LIMIT)
        asked.append(len(peer.calls) - before)
    assert asked == [17, 8, 8]


@in_virtual_time
async def test_a_null_result_beside_an_error_is_that_error_and_its_sentence_is_told() -> None:
    said = {"jsonrpc": "2.0", "result": None, "error": {"code": -32000, "message": "Registration is closed"}, "id": 1}
    for method in ("request_answer", "send_notice"):
        with pytest.raises(PeerRefused, match="refused: Registration is closed"):
            await getattr(PeerClient(Stranger(lambda *_: said)), method)(PEER, INVITE, LIMIT)


@in_virtual_time
async def test_who_is_not_there_is_not_asked_again() -> None:
    def script(*_: Any) -> Any:
        raise PeerUnreachable("gone")

    peer = Stranger(script)
    with pytest.raises(PeerUnreachable):
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)
    assert len(peer.calls) == 1


async def slowly(seconds: float, reply: Any) -> Any:
    await asyncio.sleep(seconds)
    return reply


@pytest.mark.parametrize("method", ["request_answer", "send_notice"])
@in_virtual_time
async def test_all_styles_share_one_deadline(method: str) -> None:
    peer = Stranger(lambda *_: slowly(2, fault()))
    with pytest.raises(PeerRefused):
        await getattr(PeerClient(peer), method)(PEER, INVITE, LIMIT)
    assert asyncio.get_running_loop().time() == LIMIT
    assert peer.limits == [5, 3, 1]


@in_virtual_time
async def test_one_that_never_answers_costs_the_deadline_once() -> None:
    peer = Stranger(lambda *_: slowly(1e9, OK))
    with pytest.raises(PeerTimeout):
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT)
    assert (asyncio.get_running_loop().time(), len(peer.calls)) == (LIMIT, 1)


@pytest.mark.parametrize("reply", [result(OK), OK, (202, b""), (204, b""), result({"status": "received"})])
@in_virtual_time
async def test_one_that_acknowledges_everything_and_answers_nothing_costs_the_deadline_and_no_more(reply: Any) -> None:
    peer, push = Stranger(lambda *_: reply), future()
    manners = PeerClient(peer)
    with pytest.raises(PeerTimeout, match="within 5 s"):
        await manners.request_answer(PEER, INVITE, LIMIT, push=push)
    assert asyncio.get_running_loop().time() == LIMIT
    assert peer.calls == [*INVITED, *IN_FRAMES]
    with pytest.raises(PeerTimeout):
        await manners.request_answer(PEER, INVITE, 0.5, push=future())
    assert asyncio.get_running_loop().time() == LIMIT + 0.5


@in_virtual_time
async def test_a_call_that_ran_out_of_time_goes_on_with_the_forms_that_were_not_tried_yet() -> None:
    """The agent acknowledges everything and knows one name alone."""
    peer = Stranger(lambda name, _: result(ACK if name == "receive_game_invitation" else OK))
    manners = PeerClient(peer)
    with pytest.raises(PeerTimeout):
        await manners.request_answer(PEER, INVITE, 2 * PUSH_SECONDS, push=future())
    assert (await manners.request_answer(PEER, INVITE, LIMIT, push=future())).message == ACK
    assert peer.calls == INVITED[:3]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((500, b"KeyError: 'context'"), "HTTP 500 and no JSON"),
        ((500, b'{"detail": "oops"}'), "HTTP 500: .*oops"),
        (fault(-32603), "refused: "),
        (fault(-32601), "no answer from .* within 5 s"),
        (result({"status": "error"}), "no answer from .* within 5 s"),
    ],
)
@pytest.mark.parametrize("at", [0, 1])
@in_virtual_time
async def test_one_that_breaks_down_and_acknowledges_the_rest_is_told_by_its_breakdown(
    at: int, said: Any, told: str
) -> None:
    """To know no method is none: then what it acknowledged is what it understood."""
    peer = Stranger(lambda *_: said if len(peer.calls) == at + 1 else result(OK))
    with pytest.raises(CallFailed, match=told) as failed:
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT, push=future())
    assert (failed.value.answer is None) is isinstance(failed.value, PeerTimeout)
    assert asyncio.get_running_loop().time() == LIMIT


@pytest.mark.parametrize("status", ["error", "failed", "FAILURE"])
@in_virtual_time
async def test_a_status_that_says_failure_is_no_acknowledgement(status: str) -> None:
    peer = Stranger(lambda *_: result({"status": status}))
    with pytest.raises(MismatchedAnswer):
        await PeerClient(peer).request_answer(PEER, INVITE, LIMIT, push=future())
    assert asyncio.get_running_loop().time() == 0


def future() -> PushedAnswer:
    return asyncio.get_running_loop().create_future()


def pushing(push: PushedAnswer, after: float, reply: Any = None, *, only: str | None = None) -> Script:
    """Acknowledges every call (or has one method only), and sends its answer so many seconds after the first."""

    def send() -> None:
        if not push.done():
            push.set_result(ACK)

    def script(name: str, _: dict[str, Any]) -> Any:
        if only not in (None, name):
            return fault()
        if not push.done():
            asyncio.get_running_loop().call_later(after, send)
        return reply or result(OK)

    return script


@pytest.mark.parametrize("after", [0.0, PUSH_SECONDS / 2, 1.0, 4.9])
@in_virtual_time
async def test_an_answer_that_comes_by_itself_is_taken_whenever_it_comes(after: float) -> None:
    push = future()
    peer = Stranger(pushing(push, after, only="handle_game_invitation"))
    manners = PeerClient(peer)
    heard = await manners.request_answer(PEER, INVITE, LIMIT, push=push)
    assert heard == PeerAnswer(ACK, ("answer in a call of its own",))
    assert asyncio.get_running_loop().time() == after
    for question in (INVITE, CHOOSE):
        before, push = len(peer.calls), future()
        peer.script = pushing(push, 3.0)
        assert (await manners.request_answer(PEER, question, LIMIT, push=push)).message == ACK
        assert len(peer.calls) == before + 1  # it is known to push, and given its time


@in_virtual_time
async def test_an_answer_that_comes_too_late_is_none() -> None:
    push = future()
    with pytest.raises(PeerTimeout):
        await PeerClient(Stranger(pushing(push, LIMIT + 1))).request_answer(PEER, INVITE, LIMIT, push=push)


@pytest.mark.parametrize("reply", [result(OK), result(None), b"", (500, b"oops"), fault(-32603)])
@in_virtual_time
async def test_an_answer_that_comes_before_the_reply_is_taken_whatever_that_says(reply: Any) -> None:
    push = future()

    def script(*_: Any) -> Any:
        push.set_result(ACK)
        return reply

    peer = Stranger(script)
    assert (await PeerClient(peer).request_answer(PEER, INVITE, LIMIT, push=push)).message == ACK
    assert len(peer.calls) == 1


@in_virtual_time
async def test_an_answer_that_comes_by_itself_is_taken_also_where_the_reply_never_comes() -> None:
    push = future()

    def script(*_: Any) -> Any:
        push.set_result(ACK)
        return slowly(1e9, OK)

    assert (await PeerClient(Stranger(script)).request_answer(PEER, INVITE, LIMIT, push=push)).message == ACK


@in_virtual_time
async def test_a_reply_with_the_answer_counts_more_than_one_that_came_by_itself() -> None:
    push = future()
    push.set_result({**ACK, "accept": False})
    heard = await PeerClient(Stranger(knows(handle_game_invitation=result(ACK)))).request_answer(
        PEER, INVITE, LIMIT, push=push
    )
    assert heard == PeerAnswer(ACK)


@in_virtual_time
async def test_where_several_styles_were_acknowledged_none_is_taken_for_the_right_one() -> None:
    """It understands bare messages alone, acknowledges whatever comes, and takes its time."""
    manners = PeerClient(peer := Stranger(lambda *_: result(OK)))
    for question in (INVITE, CHOOSE):
        push = future()

        def script(name: str, _: dict[str, Any], push: PushedAnswer = push) -> Any:
            if name == "bare":
                asyncio.get_running_loop().call_later(1, push.set_result, ACK)
            return result(OK)

        peer.script = script
        assert (await manners.request_answer(PEER, question, LIMIT, push=push)).message == ACK


@pytest.mark.parametrize("odd", [result(OK), result(None), (500, b"oops"), fault(-32603), REFUSED, b"<html>"])
@in_virtual_time
async def test_one_odd_reply_does_not_change_what_is_known_of_an_agent(odd: Any) -> None:
    peer = Stranger(knows(GAME_INVITATION=result(ACK)))
    manners = PeerClient(peer)
    await manners.request_answer(PEER, INVITE, LIMIT)
    known, peer.script = peer.script, lambda *_: odd
    before = len(peer.calls)
    with pytest.raises(CallFailed):
        await manners.request_answer(PEER, INVITE, LIMIT, push=future())
    assert peer.calls[before:] == ["GAME_INVITATION"]
    peer.script = known
    assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert peer.calls[before:] == ["GAME_INVITATION"] * 2


@in_virtual_time
async def test_one_odd_method_not_found_does_not_either() -> None:
    peer = Stranger(knows(GAME_INVITATION=result(ACK)))
    manners = PeerClient(peer)
    await manners.request_answer(PEER, INVITE, LIMIT)
    known, peer.script = peer.script, knows()
    with pytest.raises(PeerRefused):
        await manners.request_answer(PEER, INVITE, LIMIT)
    peer.script = known
    before = len(peer.calls)
    assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert peer.calls[before:] == ["GAME_INVITATION"]


@in_virtual_time
async def test_another_agent_at_the_same_address_is_understood_again() -> None:
    peer = Stranger(knows(GAME_INVITATION=result(ACK)))
    manners = PeerClient(peer)
    await manners.request_answer(PEER, INVITE, LIMIT)
    peer.script = knows(game_invitation=result(ACK))
    for _ in range(2):
        assert (await manners.request_answer(PEER, INVITE, LIMIT)).message == ACK
    assert peer.calls[-2:] == ["game_invitation", "game_invitation"]


@in_virtual_time
async def test_what_a_registration_showed_is_a_guess_and_an_answer_is_not() -> None:
    peer = Stranger(knows(GAME_INVITATION=result(ACK)))
    manners = PeerClient(peer)
    manners.expect_form(PEER, "bare")
    await manners.request_answer(PEER, INVITE, LIMIT)
    assert peer.calls[0] == "bare"
    manners.expect_form(PEER, "bare")
    await manners.request_answer(PEER, INVITE, LIMIT)
    assert peer.calls[-1] == "GAME_INVITATION"


@in_virtual_time
async def test_a_method_that_is_new_to_an_agent_is_called_first_in_a_style_that_it_has_answered() -> None:
    """Whatever it doesn't know is fine with it, so that the first style that it acknowledges is the last tried."""
    known = {"game_invitation": ACK, "parity_choose": CHOICE, "game_over": OK}
    peer = Stranger(lambda name, _: result(known.get(name, OK)))
    manners = PeerClient(peer)
    await manners.request_answer(PEER, INVITE, LIMIT)
    await manners.request_answer(PEER, CHOOSE, LIMIT)
    await manners.send_notice(PEER, OVER, LIMIT)
    assert peer.calls[-1] == "game_over"


@in_virtual_time
async def test_each_address_is_learned_for_itself() -> None:
    peer = Stranger(knows(GAME_INVITATION=result(ACK)))
    manners = PeerClient(peer)
    await manners.request_answer(PEER, INVITE, LIMIT)
    await manners.request_answer("http://localhost:8102/mcp", INVITE, LIMIT)
    assert peer.calls == [*INVITED, *INVITED]


@in_virtual_time
async def test_a_question_of_v1_goes_bare_and_an_answer_in_a_frame_is_accepted() -> None:
    play = {"message_type": "PLAY_RESPONSE", "play": {"value": "odd"}}
    assert await PeerClient(Stranger(knows(bare=play))).request_answer(PEER, PLAY, LIMIT) == PeerAnswer(play)
    framed = await PeerClient(Stranger(knows(bare=result(play)))).request_answer(PEER, PLAY, LIMIT)
    assert framed == PeerAnswer(play, ("answer in result",))
    handled = await PeerClient(Stranger(knows(handle_message=result(play)))).request_answer(PEER, PLAY, LIMIT)
    assert handled == PeerAnswer(play, ("called as 'handle_message'",))


@in_virtual_time
async def test_what_is_learned_in_one_protocol_does_not_hold_for_the_other() -> None:
    """Our own manager takes the report of a match in both."""
    peer = Stranger(knows(bare=OK, report_match_result=result(OK)))
    manners = PeerClient(peer)
    for protocol in ("league.v1", "league.v2", "league.v1", "league.v2"):
        await manners.send_notice(PEER, PeerCall("report_match_result", {"protocol": protocol}), LIMIT)
    assert peer.calls == ["bare", "report_match_result"] * 2
    assert manners.find_deviations(PEER, PeerCall("report_match_result", {"protocol": "league.v2"})) == ()


@in_virtual_time
async def test_the_token_beside_a_call_goes_to_the_address_that_was_called_and_no_other() -> None:
    peer = Stranger(knows())
    register = PeerCall("register_player", {"protocol": "league.v2"}, "LEAGUE_REGISTER_RESPONSE")
    with pytest.raises(PeerRefused):
        await PeerClient(peer).request_answer("http://localhost:8000/some/mcp", register, LIMIT, "tok-beside")
    assert set(peer.bearers) == {"tok-beside"}
    others = [address for address in peer.addresses if address != "http://localhost:8000/some/mcp"]
    assert others == ["http://localhost:8000/register"] * 2


@in_virtual_time
async def test_a_result_is_told_in_other_styles_until_one_is_taken_and_that_is_remembered() -> None:
    peer = Stranger(knows(game_over=result(OK)))
    manners = PeerClient(peer)
    for _ in range(2):
        assert (await manners.send_notice(PEER, OVER, LIMIT))["result"] == OK
    assert peer.calls == ["notify_match_result", "game_over", "game_over"]


@pytest.mark.parametrize("how", [how for how in NO_SUCH_METHOD if how not in ("a status", "nothing", "a number")])
@in_virtual_time
async def test_each_way_to_know_no_notice_makes_us_try_the_next(how: str) -> None:
    def script(name: str, _: dict[str, Any]) -> Any:
        return OK if name == "bare" else NO_SUCH_METHOD[how]

    peer = Stranger(script)
    reply = await PeerClient(peer).send_notice(PEER, OVER, LIMIT)
    assert reply == (None if how == "an empty body" else OK)


@in_virtual_time
async def test_one_that_has_no_such_method_in_any_style_is_told_once_from_then_on() -> None:
    peer = Stranger(knows())
    manners = PeerClient(peer)
    for _ in range(3):
        with pytest.raises(PeerRefused):
            await manners.send_notice(PEER, OVER, LIMIT)
    names = ["notify_match_result", "game_over", "receive_game_over", "GAME_OVER"]
    assert peer.calls == [*names, *LISTED, *combined(*names)] + ["notify_match_result"] * 2


@in_virtual_time
async def test_one_that_was_only_out_of_order_is_tried_again_in_all_styles_after_a_while() -> None:
    peer = Stranger(lambda *_: (500, b"oops"))
    manners = PeerClient(peer)
    for _ in range(2):
        with pytest.raises(BadAnswer):
            await manners.send_notice(PEER, OVER, LIMIT)
    assert len(peer.calls) == 16 + 1 + 1, "all styles, the list of its tools, and one"
    peer.script = knows(game_over=result(OK))
    await asyncio.sleep(RETRY_FORMS_SECONDS)
    assert (await manners.send_notice(PEER, OVER, LIMIT))["result"] == OK


@in_virtual_time
async def test_without_insistence_a_notice_is_said_once() -> None:
    peer = Stranger(knows(game_over=result(OK)))
    with pytest.raises(PeerRefused):
        await PeerClient(peer).send_notice(PEER, OVER, LIMIT, insist=False)
    assert peer.calls == ["notify_match_result"]


@in_virtual_time
async def test_a_refused_notice_is_not_said_in_another_style() -> None:
    peer = Stranger(lambda *_: REFUSED)
    with pytest.raises(PeerRefused, match="E012"):
        await PeerClient(peer).send_notice(PEER, OVER, LIMIT)
    assert len(peer.calls) == 1


STRICT_FAULTS: dict[str, Any] = {
    "method not found": fault(),
    "a bare answer": ACK,
    "an answer in params": REPLIES["params"],
    "a league error": REFUSED,
    "a page": b"<html>",
    "202": (202, b""),
}


@pytest.mark.parametrize("how", STRICT_FAULTS)
@in_virtual_time
async def test_a_strict_one_asks_in_the_seeds_form_and_takes_an_answer_nowhere_but_in_the_result(how: str) -> None:
    peer = Stranger(lambda *_: STRICT_FAULTS[how])
    manners = PeerClient(peer, strict=True)
    manners.expect_form(PEER, "bare")
    with pytest.raises(CallFailed):
        await manners.request_answer(PEER, INVITE, LIMIT)
    assert peer.calls == ["handle_game_invitation"]


@pytest.mark.parametrize("message", [ACK, OK, {"message": ACK}, {"structuredContent": ACK}])
@in_virtual_time
async def test_a_strict_one_passes_on_what_the_result_holds_so_that_the_envelope_is_judged(message: Any) -> None:
    manners = PeerClient(Stranger(lambda *_: result(message)), strict=True)
    assert await manners.request_answer(PEER, INVITE, LIMIT) == PeerAnswer(message)


@in_virtual_time
async def test_a_strict_one_speaks_v1_bare() -> None:
    play = {"message_type": "PLAY_RESPONSE", "play": {"value": "odd"}}
    peer = Stranger(lambda *_: play)
    assert await PeerClient(peer, strict=True).request_answer(PEER, PLAY, LIMIT) == PeerAnswer(play)
    assert peer.calls == ["bare"]


@in_virtual_time
async def test_a_game_s_own_words_are_asked_and_answered_in_the_seeds_form() -> None:
    roll = PeerCall("roll_dice", {"protocol": "league.v2"}, "DICE")
    peer = Stranger(knows(roll_dice=result({"message_type": "DICE", "dice": 3})))
    assert (await PeerClient(peer).request_answer(PEER, roll, LIMIT)).message["dice"] == 3
    with pytest.raises(MismatchedAnswer, match="DICE: missing: message_type"):
        await PeerClient(Stranger(knows(roll_dice=result({"dice": 3})))).request_answer(PEER, roll, LIMIT)


def test_a_frame_for_many_is_in_their_style_where_it_has_a_word_for_it() -> None:
    manners = PeerClient(Stranger(knows()))
    assert json.loads(manners.encode_notice(OVER, "type"))["method"] == "GAME_OVER"
    assert json.loads(manners.encode_notice(OVER, "short"))["method"] == "notify_match_result"
    assert json.loads(manners.encode_notice(OVER, "bare")) == OVER.message


@in_virtual_time
async def test_what_is_unusual_about_a_call_is_told_once_it_is_known() -> None:
    peer = Stranger(knows(assign_match=result(OK)))
    manners = PeerClient(peer)
    start = PeerCall("start_match", {"protocol": "league.v2"})
    assert manners.find_deviations(PEER, start) == ()
    await manners.send_notice(PEER, start, LIMIT)
    assert manners.find_deviations(PEER, start) == ("called as 'assign_match'",)


@in_virtual_time
async def test_request_ids_are_numbers_that_never_come_twice() -> None:
    numbers: list[int] = []

    def script(_: str, body: dict[str, Any]) -> Any:
        numbers.extend([body["id"]] if "id" in body else [])
        return fault()

    manners = PeerClient(Stranger(script))
    for call in (INVITE, CHOOSE):
        with pytest.raises(PeerRefused):
            await manners.request_answer(PEER, call, LIMIT)
    assert len(set(numbers)) == len(numbers) == 15 + 1 + 19 - 1, "plain and combined ones, and one list of tools"


async def test_a_message_is_carried_and_its_result_read() -> None:
    network = MemoryNetwork()
    peer = ScriptedAgent(PEER, {"start_league": always_reply({"status": "ok"})})
    network.attach(PEER, peer.answer)
    assert await PeerClient(network).call_method(PEER, "start_league", START, 1) == {"status": "ok"}
    assert peer.received_params("start_league") == [START]


async def test_the_bearer_s_token_goes_beside_the_message() -> None:
    seen: list[str | None] = []

    async def note(_: bytes, bearer: str | None) -> bytes | None:
        seen.append(bearer)
        return None

    network = MemoryNetwork()
    network.attach(PEER, note)
    await PeerClient(network).call_method(PEER, "start_league", START, 1, "tok-1")
    await PeerClient(network).send_frame(PEER, b"{}", 1, bearer="tok-2")
    await PeerClient(network).send_frame(PEER, b"{}", 1)
    assert seen == ["tok-1", "tok-2", None]


async def test_a_refusal_is_an_error_with_the_whole_answer() -> None:
    refusal = {"message_type": "LEAGUE_ERROR", "error_code": "E012"}
    network = MemoryNetwork()
    network.attach(PEER, ScriptedAgent(PEER, {"start_league": always_reply(refusal)}).answer)
    with pytest.raises(PeerRefused) as refused:
        await PeerClient(network).call_method(PEER, "start_league", START, 1)
    assert refused.value.answer["result"] == refusal


@pytest.mark.parametrize("what", ["result", "error"])
async def test_an_answer_to_another_call_is_none(what: str) -> None:
    async def answer_another(_: bytes, __: str | None) -> bytes | None:
        return json.dumps({"jsonrpc": "2.0", what: {"status": "ok", "code": 1, "message": "no"}, "id": 99}).encode()

    network = MemoryNetwork()
    network.attach(PEER, answer_another)
    with pytest.raises(BadAnswer, match="an answer to another call: its id is '99', expected 1"):
        await PeerClient(network).call_method(PEER, "start_league", START, 1)
