"""Steps for agents of every role: the HTTP server, its paths, and JSON-RPC framing."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agent_league.agent.jsonrpc import answers_call
from agent_league.check.http_probe import NOT_JSON, Reply, show, told
from agent_league.check.steps import (
    AnyStep,
    Finding,
    NoReply,
    Skip,
    Step,
    failed,
    passed,
    tolerate,
    warned,
)
from agent_league.check.subject import Bench, Exchange, GoodCall
from agent_league.errors import FrameCode
from agent_league.model.agents import Role

OTHER_PATHS = ("/mcp", "/", "/mcp/", "/rpc", "/jsonrpc", "/api", "/api/mcp")
CLIENTS_GIVE_UP = (
    "Answer with HTTP 200 and put the error into the JSON-RPC body: many clients give up on other statuses."
)


def server_steps() -> list[AnyStep]:
    """Build the steps on the HTTP server: connection, paths and `/health`."""
    return [
        Step(
            "a server listens at the address",
            "a connection",
            "Start the agent first, and check host and port. An agent that registers before it serves needs a manager: "
            "start `league check` first (with --wait 30), then the agent.",
            _listens,
            vital=True,
        ),
        Step(
            "the path answers POST",
            "an answer to a JSON-RPC request posted to this path, not HTTP 404 or 405",
            "Serve POST at the path of the address you registered; the protocol uses /mcp.",
            _answers_post,
            vital=True,
        ),
        Step(
            "another path is not taken for it",
            "HTTP 404 for a path that doesn't exist",
            "Route only your own path to the handler and answer 404 elsewhere; a wrong address then shows at once.",
            mildly(_other_path),
        ),
        Step(
            "GET /health answers",
            "HTTP 200 and a JSON object with status and role",
            'Add `GET /health` that returns {"status": "ok", "role": "player"}; it lets others see that you are up.',
            mildly(_health),
        ),
        Step(
            "GET at the path does no harm",
            "HTTP 405 or any other answer below 500",
            "A browser or a health check may come by with GET: answer 405 and go on.",
            mildly(_get),
        ),
    ]


def mildly(judge: Callable[[Bench], Awaitable[Finding]]) -> Callable[[Bench], Awaitable[Finding]]:
    """Wrap a judge so that a missing HTTP reply is a warning, for calls on which no match depends."""

    async def judged(bench: Bench) -> Finding:
        try:
            return await judge(bench)
        except NoReply as error:
            return no_answer(error)

    return judged


def no_answer(error: NoReply) -> Finding:
    """Make the warning for a bad call without a reply; the following step shows whether it did harm."""
    return replace(warned(error.sentence, error.hint), is_silent=error.silent)


async def _listens(bench: Bench) -> Finding:
    bench.sent.append(f"a connection to {bench.probe.url}")
    why = await bench.probe.connects()
    return passed("connected") if why is None else failed(why, await _scheme_hint(bench) or _who_called(bench))


def _who_called(bench: Bench) -> str:
    """Write a hint on agents that called the checker's manager, for when nothing listens at the address."""
    manager = bench.manager
    if manager is None:
        return ""
    if manager.registrations:
        address = manager.endpoint_of(manager.registrations[-1])
        return f"An agent registered here and gave the address {show(address, 120)}: check that one, or let it listen."
    if manager.refusals:
        call, sentence = manager.refusals[-1]
        address = show(manager.endpoint_of(call), 120)
        return f"An agent that gives the address {address} tried to register here and was refused: {sentence}"
    if manager.misunderstood:
        return f"Somebody called the checker's manager and was not understood: {manager.misunderstood}"
    return ""


async def _scheme_hint(bench: Bench) -> str:
    """Write a hint if the server speaks https and was called over http, or the reverse; else return an empty text."""
    other = await bench.probe.other_scheme()
    return f"It speaks {other.partition(':')[0]}: check {other} instead." if other else ""


async def _answers_post(bench: Bench) -> Finding:
    """Judge whether POST is served; if an unknown method gets a 404, the agent gets a valid call before it fails."""
    try:
        reply = await _unknown(bench)
    except NoReply as error:
        error.hint = error.hint or await _scheme_hint(bench)
        if error.hint:
            raise
        await bench.meet()
        reply = (await bench.knock()).reply
    if reply.status in (404, 405) and not _is_rpc(reply):
        await bench.meet()
        exchange = await bench.knock()
        if exchange.reply.status in (404, 405):
            if bench.role is Role.REFEREE and bench.registration is not None:  # it may know only orders
                return warned(told(exchange.reply), "Answer what you don't know with -32601, and take the notices.")
            return failed(told(exchange.reply), await _where(bench))
    return passed(f"HTTP {reply.status}")


async def _where(bench: Bench) -> str:
    """Write a hint that names the path at which the agent does answer, if it is one of the common ones."""
    for path in OTHER_PATHS:
        url = bench.probe.at(path)
        if url == bench.probe.url:
            continue
        try:
            reply = await bench.probe.post(_call_unknown(1), bench.limit(""), url=url)
        except NoReply:
            continue
        if reply.status not in (404, 405) and reply.status < 500:
            return f"Nothing is served at this path, but {path} answers: serve POST /mcp, or name the address {url}."
    return "A server is there, but it serves nothing at this path: serve POST /mcp, or name the right address."


async def _other_path(bench: Bench) -> Finding:
    reply = await bench.probe.post(_call_unknown(2), bench.limit(""), url=bench.probe.at("/league-check-no-such-path"))
    if reply.status >= 500:
        return warned(told(reply), "An unknown path must not break the handler: answer 404.")
    return passed(f"HTTP {reply.status}") if reply.status in (404, 405) else warned(told(reply))


async def _health(bench: Bench) -> Finding:
    reply = await bench.probe.get(bench.probe.at("/health"), bench.limit(""))
    if reply.status == 200 and isinstance(reply.parsed, dict):
        return passed(show(reply.body, 120))
    return warned(told(reply))


async def _get(bench: Bench) -> Finding:
    reply = await bench.probe.get(bench.probe.url, bench.limit(""))
    return passed(f"HTTP {reply.status}") if reply.status < 500 or reply.status == 501 else warned(told(reply))


def json_rpc_steps() -> list[AnyStep]:
    """Build the steps on JSON-RPC 2.0; strict only where a caller depends on it."""
    echo = 'Copy the request\'s "id" into the reply, with its type: 7 stays a number, "seven" a string.'
    return [
        Step("the reply is marked as JSON", "Content-Type: application/json", CONTENT_TYPE_HINT, _content_type),
        Step('the reply says "jsonrpc": "2.0"', '"jsonrpc": "2.0"', 'Put "jsonrpc": "2.0" into every reply.', _version),
        Step(
            "the reply has a result or an error, not both",
            "exactly one of `result` and `error`",
            "A reply holds `result` when all is well and `error` when not; leave the other one out.",
            _one_of_both,
        ),
        Step("an integer id comes back", "the id 7001", echo, _echoes(7001)),
        Step("a string id comes back", 'the id "check-7002"', echo, mildly(_echoes("check-7002"))),
        Step("a null id comes back", "the id null", echo, mildly(_echoes(None))),
        Step(
            "Content-Type with a charset is accepted",
            "the same answer as without",
            "Compare only the part before the `;`: many clients send `application/json; charset=utf-8`.",
            mildly(_charset),
        ),
        Step(
            "an unknown method is refused with -32601",
            "a JSON-RPC error with the code -32601 and HTTP 200",
            'Answer a method that you don\'t have with {"jsonrpc": "2.0", "error": {"code": -32601, "message": '
            '"Method not found"}, "id": ...}.',
            mildly(_unknown_method),
        ),
        Step("the id comes back with an error too", "the id 7003", echo, mildly(_error_id)),
        Step(
            "a notification is not answered",
            "HTTP 202 or 204 without a body",
            'A request without "id" is a notification: do the work and answer with an empty body.',
            mildly(_notification),
        ),
        Step(
            "a batch is answered as a batch",
            "an array with two replies, or the error -32600",
            "An array of requests wants an array of replies; if you don't serve batches, answer with the error -32600.",
            mildly(_batch),
        ),
        Step(
            "another JSON-RPC version is refused",
            "a JSON-RPC error with the code -32600",
            'Check that "jsonrpc" is "2.0" and refuse everything else with -32600.',
            mildly(_other_version),
        ),
    ]


CONTENT_TYPE_HINT = "Send the header `Content-Type: application/json`; strict clients refuse to read anything else."


async def ask_well(bench: Bench) -> Exchange:
    """Send a valid call in the call form that the agent understands."""
    call = bench.good_call()
    return await bench.ask(call.method, call.message, wanted=call.wanted, bearer=call.bearer)


def in_frame(bench: Bench, call: GoodCall, **changes: Any) -> bytes:
    """Encode a valid call with changed fields in its JSON-RPC frame; `...` removes a field."""
    if bench.is_bare:
        raise Skip("the agent speaks bare messages, without a JSON-RPC frame")
    style = bench.style_of(call.method)
    frame = {**json.loads(style.request(call.method, call.message, 1)), **changes}
    return json.dumps({name: value for name, value in frame.items() if value is not ...}).encode()


def need_good_answer(bench: Bench) -> None:
    """Skip the step if the agent never answered a valid call, so that there is nothing to compare with."""
    if not bench.has_answered_well:
        raise Skip("the agent answered no good call, so there is nothing to compare with")


async def ask_framed(bench: Bench, **changes: Any) -> Exchange:
    need_good_answer(bench)
    call = bench.good_call()
    return await bench.post(
        in_frame(bench, call, **changes),
        call.method,
        call.message,
        wanted=call.wanted,
        style=bench.style_of(call.method),
        bearer=call.bearer,
    )


async def _content_type(bench: Bench) -> Finding:
    need_good_answer(bench)
    exchange = await ask_well(bench)
    kind = exchange.reply.content_type
    return passed(kind) if kind == "application/json" else warned(f"Content-Type: {kind}")


def _must_be_framed(bench: Bench) -> None:
    if bench.frameless:
        raise Skip("the agent's answers come without a JSON-RPC frame")


async def _version(bench: Bench) -> Finding:
    _must_be_framed(bench)
    exchange = await ask_framed(bench)
    version = exchange.body.get("jsonrpc", "missing") if isinstance(exchange.body, dict) else "no object"
    if version == "2.0":
        return passed('"2.0"')
    return _judge_like_caller(bench, exchange, failed(f'"jsonrpc" is {show(version, 80)}', no_json(exchange)))


async def _one_of_both(bench: Bench) -> Finding:
    _must_be_framed(bench)
    exchange = await ask_framed(bench)
    if not isinstance(exchange.body, dict):
        return failed(exchange.came, no_json(exchange))
    there = [name for name in ("result", "error") if name in exchange.body]
    if len(there) == 1:
        return passed(there[0])
    if there and exchange.body["error"] is None:
        return warned('`result`, and "error": null beside it')
    return _judge_like_caller(bench, exchange, failed(" and ".join(there) or "neither `result` nor `error`"))


def _judge_like_caller(bench: Bench, exchange: Exchange, found: Finding) -> Finding:
    """Make a failure a tolerated warning if the answer can be read in the reply all the same."""
    return tolerate(found) if bench.is_good(exchange) else found


def _echoes(request_id: Any) -> Callable[[Bench], Awaitable[Finding]]:
    async def judge(bench: Bench) -> Finding:
        _must_be_framed(bench)
        exchange = await ask_framed(bench, id=request_id)
        if request_id is None and not exchange.reply.body:
            return warned("no body: null was taken for a notification", NULL_ID_HINT)
        found = _same_id(exchange, request_id)
        if not isinstance(request_id, int):
            return tolerate(found)  # a league's own ids are integers
        is_read = bench.is_good(exchange) and answers_call(exchange.body, request_id)
        return tolerate(found) if is_read else found

    return judge


NULL_ID_HINT = 'Only a request without "id" is a notification; "id": null wants an answer.'


def _same_id(exchange: Exchange, request_id: Any) -> Finding:
    if not isinstance(exchange.body, dict):
        return failed(exchange.came, no_json(exchange))
    if "id" not in exchange.body:
        return failed('no "id"')
    found = exchange.body["id"]
    same = type(found) is type(request_id) and found == request_id
    return passed(show(found, 80)) if same else failed(f'"id" is {json.dumps(found)[:80]}')


async def _charset(bench: Bench) -> Finding:
    need_good_answer(bench)
    call = bench.good_call()
    style = bench.style_of(call.method)
    reply = await bench.probe.post(
        style.request(call.method, call.message, 7),
        bench.limit(call.method),
        bearer=call.bearer,
        content_type="application/json; charset=utf-8",
        more_headers=style.headers(call.method),
    )
    return passed(f"HTTP {reply.status}") if reply.status == 200 else tolerate(failed(told(reply)))


def _call_unknown(request_id: int) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "method": "league_check_no_such_method", "params": {}, "id": request_id}
    ).encode()


async def _unknown(bench: Bench) -> Reply:
    return await bench.probe.post(_call_unknown(7003), bench.limit(""))


async def _unknown_method(bench: Bench) -> Finding:
    exchange = await bench.post(_call_unknown(7003))
    if bench.is_bare:
        found = failed(exchange.came) if exchange.reply.status >= 500 else passed(f"HTTP {exchange.reply.status}")
        return tolerate(found)
    return tolerate(judge_frame_refusal(exchange, FrameCode.METHOD_NOT_FOUND))


async def _error_id(bench: Bench) -> Finding:
    if bench.is_bare:
        raise Skip("the agent speaks bare messages, without a JSON-RPC frame")
    if bench.style.is_mcp:
        raise Skip("the agent is an MCP server, and its SDK writes the frames")
    exchange = await bench.post(_call_unknown(7003))
    if not exchange.error:
        raise Skip("the agent gave no JSON-RPC error to look at")
    return tolerate(_same_id(exchange, 7003))


async def _notification(bench: Bench) -> Finding:
    need_good_answer(bench)
    call = bench.good_call()
    exchange = await bench.post(
        in_frame(bench, call, id=...),
        call.method,
        call.message,
        style=bench.style_of(call.method),
        bearer=call.bearer,
    )
    return warned(exchange.came) if exchange.reply.body.strip() else passed(f"HTTP {exchange.reply.status}, no body")


async def _batch(bench: Bench) -> Finding:
    need_good_answer(bench)
    calls = [json.loads(in_frame(bench, bench.good_call(), id=number)) for number in (7004, 7005)]
    exchange = await bench.post(json.dumps(calls).encode(), bearer=bench.good_call().bearer)
    if isinstance(exchange.body, list):
        ids = sorted(str(reply.get("id")) for reply in exchange.body if isinstance(reply, dict))
        return passed("both replies") if ids == ["7004", "7005"] else warned(f"replies with the ids {', '.join(ids)}")
    code = exchange.error.get("code")
    return passed(f"error {code}") if code == FrameCode.INVALID_REQUEST else warned(exchange.came)


async def _other_version(bench: Bench) -> Finding:
    exchange = await ask_framed(bench, jsonrpc="1.0")
    if exchange.error:
        return passed(f"error {exchange.error.get('code')}")
    return warned(exchange.came)


def no_json(exchange: Exchange) -> str:
    """Write the hint for a reply that is not JSON; empty for JSON and for an empty reply."""
    if exchange.body is not NOT_JSON or not exchange.reply.body:
        return ""
    what = "HTML" if exchange.reply.body.lstrip()[:1] == b"<" else "plain text"
    return f"You answer with {what}, not JSON: catch your error and answer with JSON."


def judge_frame_refusal(exchange: Exchange, *codes: int) -> Finding:
    """Judge whether a call was refused with one of these JSON-RPC codes; another kind of refusal is a warning."""
    status = exchange.reply.status
    if status >= 500:
        return failed(exchange.came, "The handler broke down: catch this case and answer with a JSON-RPC error.")
    code = exchange.error.get("code")
    if code in codes:
        return passed(f"error {code}") if status == 200 else warned(f"error {code}, but HTTP {status}", CLIENTS_GIVE_UP)
    if exchange.refused or 400 <= status < 500:
        return warned(exchange.came)
    return failed(exchange.came, no_json(exchange))


def _is_rpc(reply: Reply) -> bool:
    return isinstance(reply.parsed, dict) and "jsonrpc" in reply.parsed
