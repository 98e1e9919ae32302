"""Steps for agents of every role: the HTTP server and its paths, JSON-RPC framing, and hostile input.

Hostile input must be refused, and the agent must still answer a valid call after each of it.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agent_league.agent.call_failures import OLD_STREAM_SUFFIX
from agent_league.agent.jsonrpc import is_answer_to
from agent_league.check.http_probe import NOT_JSON, format_redacted, format_reply
from agent_league.check.scripted_agents import read_endpoint
from agent_league.check.steps import (
    CheckStep,
    NoReply,
    Severity,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    tolerate,
    warned,
)
from agent_league.check.subject import Exchange, Subject, ValidCall
from agent_league.errors import JsonRpcErrorCode
from agent_league.model.agents import Role

Judge = Callable[[Subject], Awaitable[StepFinding]]
COMMON_PATHS = ("/mcp", "/", "/mcp/", "/rpc", "/jsonrpc", "/api", "/api/mcp")
UNKNOWN_PATH = "/league-check-no-such-path"
PADDING_BYTES = 2 * 1024 * 1024
NESTING_LEVELS = 2000


def _encode_unknown_call(request_id: int) -> bytes:
    frame = {"jsonrpc": "2.0", "method": "league_check_no_such_method", "params": {}, "id": request_id}
    return json.dumps(frame).encode()


async def _judge_listening(subject: Subject) -> StepFinding:
    subject.sent.append(f"a connection to {subject.probe.url}")
    why = await subject.probe.find_connect_problem()
    if why is None:
        return passed("connected")
    return failed(why, await _find_scheme_hint(subject) or _make_caller_hint(subject))


def _make_caller_hint(subject: Subject) -> str:
    """Write a hint on agents that called the checker's manager, for when nothing listens at the address."""
    manager = subject.manager
    if manager is None:
        return ""
    if manager.registrations:
        address = format_redacted(read_endpoint(manager.registrations[-1]), 120)
        return f"An agent registered here and gave the address {address}: check that one, or let it listen."
    if manager.refusals:
        call, sentence = manager.refusals[-1]
        address = format_redacted(read_endpoint(call), 120)
        return f"An agent that gives the address {address} tried to register here and was refused: {sentence}"
    if manager.last_frame_error:
        return f"Somebody called the checker's manager and was not understood: {manager.last_frame_error}"
    return ""


async def _find_scheme_hint(subject: Subject) -> str:
    """Write a hint if the server speaks https and was called over http, or the reverse; else return an empty text."""
    other = await subject.probe.find_other_scheme()
    return f"It speaks {other.partition(':')[0]}: check {other} instead." if other else ""


async def _judge_post(subject: Subject) -> StepFinding:
    """Judge whether POST is served; if an unknown method gets a 404, the agent gets a valid call before it fails."""
    try:
        reply = await subject.probe.post(_encode_unknown_call(7003), subject.get_limit(""))
    except NoReply as error:
        error.hint = error.hint or await _find_scheme_hint(subject)
        if error.hint:
            raise
        await subject.wait_for_registration()
        reply = (await subject.send_first_call()).reply
    is_json_rpc = isinstance(reply.json_value, dict) and "jsonrpc" in reply.json_value
    if reply.status in (404, 405) and not is_json_rpc:
        await subject.wait_for_registration()
        again = (await subject.send_first_call()).reply
        if again.status in (404, 405):
            if subject.role is Role.REFEREE and subject.is_registered:  # it may know only orders
                return warned(format_reply(again), "Answer what you don't know with -32601, and take the notices.")
            return failed(format_reply(again), await _find_path_hint(subject))
    return passed(f"HTTP {reply.status}")


async def _find_path_hint(subject: Subject) -> str:
    """Write a hint that names the path at which the agent does answer, if it is one of the common ones."""
    for url in (subject.probe.url, subject.probe.url_at(OLD_STREAM_SUFFIX)):
        if await subject.probe.opens_endpoint_stream(url):
            return (
                f"{url} is an MCP server that speaks nothing but HTTP+SSE, the transport of 2024-11-05, which MCP has "
                "replaced and no league calls: serve Streamable HTTP at /mcp (in the Python SDK "
                'transport="streamable-http"), and register that address.'
            )
    for path in COMMON_PATHS:
        url = subject.probe.url_at(path)
        if url == subject.probe.url:
            continue
        try:
            reply = await subject.probe.post(_encode_unknown_call(1), subject.get_limit(""), url=url)
        except NoReply:
            continue
        if reply.status not in (404, 405) and reply.status < 500:
            return f"Nothing is served at this path, but {path} answers: serve POST /mcp, or name the address {url}."
    return "A server is there, but it serves nothing at this path: serve POST /mcp, or name the right address."


async def _judge_unknown_path(subject: Subject) -> StepFinding:
    url = subject.probe.url_at(UNKNOWN_PATH)
    reply = await subject.probe.post(_encode_unknown_call(2), subject.get_limit(""), url=url)
    if reply.status in (404, 405):
        return passed(f"HTTP {reply.status}")
    broke_down = "An unknown path must not break the handler: answer 404." if reply.status >= 500 else ""
    return warned(format_reply(reply), broke_down)


async def _judge_health(subject: Subject) -> StepFinding:
    reply = await subject.probe.get(subject.probe.url_at("/health"), subject.get_limit(""))
    is_told = reply.status == 200 and isinstance(reply.json_value, dict)
    return passed(format_redacted(reply.body, 120)) if is_told else warned(format_reply(reply))


async def _judge_get(subject: Subject) -> StepFinding:
    reply = await subject.probe.get(subject.probe.url, subject.get_limit(""))
    return passed(f"HTTP {reply.status}") if reply.status < 500 or reply.status == 501 else warned(format_reply(reply))


SERVER_STEPS: tuple[CheckStep[Subject], ...] = (
    CheckStep(
        "a server listens at the address",
        "a connection",
        "Start the agent first, and check host and port. An agent that registers before it serves needs a manager: "
        "start `league check` first (with --wait 30), then the agent.",
        _judge_listening,
        is_vital=True,
    ),
    CheckStep(
        "the path answers POST",
        "an answer to a JSON-RPC request posted to this path, not HTTP 404 or 405",
        "Serve POST at the path of the address you registered; the protocol uses /mcp.",
        _judge_post,
        is_vital=True,
    ),
    CheckStep(
        "another path is not taken for it",
        "HTTP 404 for a path that doesn't exist",
        "Route only your own path to the handler and answer 404 elsewhere; a wrong address then shows at once.",
        _judge_unknown_path,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "GET /health answers",
        "HTTP 200 and a JSON object with status and role",
        'Add `GET /health` that returns {"status": "ok", "role": "player"}; it lets others see that you are up.',
        _judge_health,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "GET at the path does no harm",
        "HTTP 405 or any other answer below 500",
        "A browser or a health check may come by with GET: answer 405 and go on.",
        _judge_get,
        Severity.UNANSWERED_WARNS,
    ),
)


async def send_valid_call(subject: Subject) -> Exchange:
    """Send a valid call in the call form that the agent understands."""
    call = subject.make_valid_call()
    return await subject.ask(call.method, call.message, wanted=call.wanted, bearer=call.bearer)


def _require_valid_answer(subject: Subject) -> None:
    """Skip the step if the agent never answered a valid call, so that there is nothing to compare with."""
    if not subject.has_valid_answer:
        raise SkipStep("the agent answered no good call, so there is nothing to compare with")


def _require_frame(subject: Subject) -> None:
    if subject.is_frameless:
        raise SkipStep("the agent's answers come without a JSON-RPC frame")


def _encode_changed_frame(subject: Subject, call: ValidCall, **changes: Any) -> bytes:
    """Encode a valid call with changed fields in its JSON-RPC frame; `...` removes a field."""
    if subject.is_bare:
        raise SkipStep("the agent speaks bare messages, without a JSON-RPC frame")
    form = subject.get_call_form(call.method)
    frame = {**json.loads(subject.encode_call(form, call.method, call.message, 1)), **changes}
    return json.dumps({name: value for name, value in frame.items() if value is not ...}).encode()


async def _send_changed_frame(subject: Subject, **changes: Any) -> Exchange:
    _require_valid_answer(subject)
    call = subject.make_valid_call()
    return await subject.post(
        _encode_changed_frame(subject, call, **changes),
        call.method,
        call.message,
        wanted=call.wanted if changes.get("id") is not ... else None,
        call_form=subject.get_call_form(call.method),
        bearer=call.bearer,
    )


def make_no_json_hint(exchange: Exchange) -> str:
    """Write the hint for a reply that is not JSON; empty for JSON and for an empty reply."""
    if exchange.body is not NOT_JSON or not exchange.reply.body:
        return ""
    what = "HTML" if exchange.reply.body.lstrip()[:1] == b"<" else "plain text"
    return f"You answer with {what}, not JSON: catch your error and answer with JSON."


def _judge_frame_refusal(exchange: Exchange, *codes: int) -> StepFinding:
    """Judge whether a call was refused with one of these JSON-RPC codes; another kind of refusal is a warning."""
    status, code = exchange.reply.status, exchange.error.get("code")
    if status >= 500:
        return failed(exchange.reply_text, "The handler broke down: catch this case and answer with a JSON-RPC error.")
    if code in codes and status == 200:
        return passed(f"error {code}")
    if code in codes:
        hint = "Answer with HTTP 200 and put the error into the JSON-RPC body: many clients give up on other statuses."
        return warned(f"error {code}, but HTTP {status}", hint)
    if exchange.is_refused:
        return warned(exchange.reply_text)
    return failed(exchange.reply_text, make_no_json_hint(exchange))


def judge_refusal(exchange: Exchange, *codes: str) -> StepFinding:
    """Judge whether a bad message was refused with one of these error codes; another kind of refusal is a warning."""
    if exchange.league_code in codes:
        return passed(exchange.league_code)
    if exchange.is_breakdown:
        return failed(exchange.reply_text, "The handler broke down: check the fields before you use them.")
    is_rejected = (exchange.answer or {}).get("status") == "REJECTED"
    return warned(exchange.reply_text) if exchange.is_refused or is_rejected else failed(exchange.reply_text)


async def _judge_content_type(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    kind = (await send_valid_call(subject)).reply.content_type
    return passed(kind) if kind == "application/json" else warned(f"Content-Type: {kind}")


async def _judge_version(subject: Subject) -> StepFinding:
    _require_frame(subject)
    exchange = await _send_changed_frame(subject)
    version = exchange.body.get("jsonrpc", "missing") if isinstance(exchange.body, dict) else "no object"
    if version == "2.0":
        return passed('"2.0"')
    found = failed(f'"jsonrpc" is {format_redacted(version, 80)}', make_no_json_hint(exchange))
    return _tolerate_if_valid(subject, exchange, found)


async def _judge_result_or_error(subject: Subject) -> StepFinding:
    _require_frame(subject)
    exchange = await _send_changed_frame(subject)
    if not isinstance(exchange.body, dict):
        return failed(exchange.reply_text, make_no_json_hint(exchange))
    there = [name for name in ("result", "error") if name in exchange.body]
    if len(there) == 1:
        return passed(there[0])
    if there and exchange.body["error"] is None:
        return warned('`result`, and "error": null beside it')
    return _tolerate_if_valid(subject, exchange, failed(" and ".join(there) or "neither `result` nor `error`"))


def _tolerate_if_valid(subject: Subject, exchange: Exchange, found: StepFinding) -> StepFinding:
    """Make a failure a tolerated warning if the answer can be read in the reply all the same."""
    return tolerate(found) if subject.is_valid_answer(exchange) else found


def _judge_id(exchange: Exchange, request_id: Any) -> StepFinding:
    if not isinstance(exchange.body, dict):
        return failed(exchange.reply_text, make_no_json_hint(exchange))
    if "id" not in exchange.body:
        return failed('no "id"')
    found = exchange.body["id"]
    same = type(found) is type(request_id) and found == request_id
    return passed(format_redacted(found, 80)) if same else failed(f'"id" is {format_redacted(found, 80)}')


def _expect_id(request_id: Any) -> Judge:
    async def judge(subject: Subject) -> StepFinding:
        _require_frame(subject)
        exchange = await _send_changed_frame(subject, id=request_id)
        if request_id is None and not exchange.reply.body:
            hint = 'Only a request without "id" is a notification; "id": null wants an answer.'
            return warned("no body: null was taken for a notification", hint)
        found = _judge_id(exchange, request_id)
        if not isinstance(request_id, int):
            return tolerate(found)  # a league's own ids are integers
        is_read = subject.is_valid_answer(exchange) and is_answer_to(exchange.body, request_id)
        return tolerate(found) if is_read else found

    return judge


async def _judge_charset(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    call = subject.make_valid_call()
    form = subject.get_call_form(call.method)
    if form.is_mcp:
        raise SkipStep("the agent is an MCP server, and its SDK reads the headers")
    reply = await subject.probe.post(
        form.encode_request(call.method, call.message, 7),
        subject.get_limit(call.method),
        bearer=call.bearer,
        content_type="application/json; charset=utf-8",
    )
    return passed(f"HTTP {reply.status}") if reply.status == 200 else tolerate(failed(format_reply(reply)))


async def _judge_unknown_method(subject: Subject) -> StepFinding:
    exchange = await subject.post(_encode_unknown_call(7003))
    status = exchange.reply.status
    if subject.is_bare:
        return tolerate(failed(exchange.reply_text) if status >= 500 else passed(f"HTTP {status}"))
    return tolerate(_judge_frame_refusal(exchange, JsonRpcErrorCode.METHOD_NOT_FOUND))


async def _judge_error_id(subject: Subject) -> StepFinding:
    if subject.is_bare:
        raise SkipStep("the agent speaks bare messages, without a JSON-RPC frame")
    if subject.call_form.is_mcp:
        raise SkipStep("the agent is an MCP server, and its SDK writes the frames")
    exchange = await subject.post(_encode_unknown_call(7003))
    if not exchange.error:
        raise SkipStep("the agent gave no JSON-RPC error to look at")
    return tolerate(_judge_id(exchange, 7003))


async def _judge_notification(subject: Subject) -> StepFinding:
    exchange = await _send_changed_frame(subject, id=...)
    is_answered = bool(exchange.reply.body.strip())
    return warned(exchange.reply_text) if is_answered else passed(f"HTTP {exchange.reply.status}, no body")


async def _judge_batch(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    calls = [json.loads(_encode_changed_frame(subject, subject.make_valid_call(), id=at)) for at in (7004, 7005)]
    exchange = await subject.post(json.dumps(calls).encode(), bearer=subject.make_valid_call().bearer)
    if isinstance(exchange.body, list):
        ids = sorted(str(reply.get("id")) for reply in exchange.body if isinstance(reply, dict))
        return passed("both replies") if ids == ["7004", "7005"] else warned(f"replies with the ids {', '.join(ids)}")
    code = exchange.error.get("code")
    return passed(f"error {code}") if code == JsonRpcErrorCode.INVALID_REQUEST else warned(exchange.reply_text)


async def _judge_other_version(subject: Subject) -> StepFinding:
    exchange = await _send_changed_frame(subject, jsonrpc="1.0")
    return passed(f"error {exchange.error.get('code')}") if exchange.error else warned(exchange.reply_text)


_ECHO_ID = 'Copy the request\'s "id" into the reply, with its type: 7 stays a number, "seven" a string.'
JSON_RPC_STEPS: tuple[CheckStep[Subject], ...] = (
    CheckStep(
        "the reply is marked as JSON",
        "Content-Type: application/json",
        "Send the header `Content-Type: application/json`; strict clients refuse to read anything else.",
        _judge_content_type,
    ),
    CheckStep(
        'the reply says "jsonrpc": "2.0"',
        '"jsonrpc": "2.0"',
        'Put "jsonrpc": "2.0" into every reply.',
        _judge_version,
    ),
    CheckStep(
        "the reply has a result or an error, not both",
        "exactly one of `result` and `error`",
        "A reply holds `result` when all is well and `error` when not; leave the other one out.",
        _judge_result_or_error,
    ),
    CheckStep("an integer id comes back", "the id 7001", _ECHO_ID, _expect_id(7001)),
    CheckStep(
        "a string id comes back",
        'the id "check-7002"',
        _ECHO_ID,
        _expect_id("check-7002"),
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep("a null id comes back", "the id null", _ECHO_ID, _expect_id(None), Severity.UNANSWERED_WARNS),
    CheckStep(
        "Content-Type with a charset is accepted",
        "the same answer as without",
        "Compare only the part before the `;`: many clients send `application/json; charset=utf-8`.",
        _judge_charset,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "an unknown method is refused with -32601",
        "a JSON-RPC error with the code -32601 and HTTP 200",
        'Answer a method that you don\'t have with {"jsonrpc": "2.0", "error": {"code": -32601, "message": '
        '"Method not found"}, "id": ...}.',
        _judge_unknown_method,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "the id comes back with an error too", "the id 7003", _ECHO_ID, _judge_error_id, Severity.UNANSWERED_WARNS
    ),
    CheckStep(
        "a notification is not answered",
        "HTTP 202 or 204 without a body",
        'A request without "id" is a notification: do the work and answer with an empty body.',
        _judge_notification,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "a batch is answered as a batch",
        "an array with two replies, or the error -32600",
        "An array of requests wants an array of replies; if you don't serve batches, answer with the error -32600.",
        _judge_batch,
        Severity.UNANSWERED_WARNS,
    ),
    CheckStep(
        "another JSON-RPC version is refused",
        "a JSON-RPC error with the code -32600",
        'Check that "jsonrpc" is "2.0" and refuse everything else with -32600.',
        _judge_other_version,
        Severity.UNANSWERED_WARNS,
    ),
)


def build_survival_step(event: str) -> CheckStep[Subject]:
    return CheckStep(
        f"still answers after {event}",
        "the right answer to a good call",
        f"The agent doesn't recover from {event}: catch the error where it arises, and leave no lock, "
        "connection or half-changed state behind.",
        _judge_survival,
        is_vital=True,
    )


async def _judge_survival(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    exchange = await send_valid_call(subject)
    return passed("the right answer") if subject.is_valid_answer(exchange) else failed(exchange.reply_text)


def _send_raw(body: bytes, *codes: int, shown: str | None = None) -> Judge:
    async def judge(subject: Subject) -> StepFinding:
        exchange = await subject.post(body, shown=shown)
        return _judge_hostile_refusal(subject, exchange, *codes)

    return judge


def _judge_hostile_refusal(subject: Subject, exchange: Exchange, *codes: int) -> StepFinding:
    """Judge a refusal of hostile input; a handler that failed or accepted the input is only a warning.

    Bare messages know no JSON-RPC errors, and MCP asks for HTTP statuses.
    """
    if (subject.is_bare or subject.call_form.is_mcp) and 400 <= exchange.reply.status < 500:
        return passed(f"HTTP {exchange.reply.status}")
    found = _judge_frame_refusal(exchange, *codes)
    is_bad = exchange.is_breakdown or found.verdict is StepVerdict.FAIL
    return warned(exchange.reply_text, make_no_json_hint(exchange)) if is_bad else found


async def _judge_params_list(subject: Subject) -> StepFinding:
    exchange = await _send_changed_frame(subject, params=[1, 2, 3])
    return _judge_hostile_refusal(subject, exchange, JsonRpcErrorCode.INVALID_PARAMS)


async def _judge_wrong_types(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    call = subject.make_valid_call()
    twisted = {"message_type": call.message.get("message_type")}
    twisted |= {
        name: 42 if isinstance(value, str) else [None] for name, value in call.message.items() if name not in twisted
    }
    exchange = await subject.ask(call.method, twisted, wanted=call.wanted)
    if exchange.is_refused and not exchange.is_breakdown:
        return passed(format_redacted(exchange.league_code or exchange.reply_text, 80))
    return warned(exchange.reply_text)


async def _judge_large_body(subject: Subject) -> StepFinding:
    _require_valid_answer(subject)
    call = subject.make_valid_call()
    padded = {**call.message, "padding": "x" * PADDING_BYTES}
    body = subject.get_call_form(call.method).encode_request(call.method, padded, 7)
    exchange = await subject.post(body, call.method, shown="a good call with 2 MiB of padding", bearer=call.bearer)
    if exchange.is_refused:
        return passed(f"HTTP {exchange.reply.status}")
    taken = f"HTTP {exchange.reply.status}: the whole body was read and taken"
    return warned(exchange.reply_text if exchange.is_breakdown else taken)


async def _judge_partial_request(subject: Subject) -> StepFinding:
    if subject.probe.url.startswith("https"):
        raise SkipStep("only over plain http")
    await subject.probe.send_partial_request(subject.get_limit(""))
    return passed("nothing was to be answered")


def _build_hostile_pair(
    name: str, expected: str, hint: str, judge: Judge, outcome: str = "is refused"
) -> tuple[CheckStep[Subject], CheckStep[Subject]]:
    """Build the step on whether hostile input is refused, and the one on whether the agent survives it."""
    step = CheckStep(f"{name} {outcome}", expected, hint, judge, Severity.UNANSWERED_WARNS)
    return step, build_survival_step(name)


_NO_JSON = 'Read the body as JSON inside a try, and answer what isn\'t JSON with the error -32700 and "id": null.'
_PARSE_ERROR, _INVALID_REQUEST = JsonRpcErrorCode.PARSE_ERROR, JsonRpcErrorCode.INVALID_REQUEST
HOSTILE_STEPS: tuple[CheckStep[Subject], ...] = (
    *_build_hostile_pair(
        "a body that is not JSON",
        "a JSON-RPC error with the code -32700 and HTTP 200",
        _NO_JSON,
        _send_raw(b'{"jsonrpc": "2.0", "method": oops', _PARSE_ERROR),
    ),
    *_build_hostile_pair(
        "an empty body",
        "a JSON-RPC error with the code -32700",
        _NO_JSON,
        _send_raw(b"", _PARSE_ERROR, _INVALID_REQUEST, shown="an empty body"),
    ),
    *_build_hostile_pair(
        "a body that is not UTF-8",
        "a JSON-RPC error with the code -32700",
        _NO_JSON,
        _send_raw(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}', _PARSE_ERROR),
    ),
    *_build_hostile_pair(
        "a number for a request",
        "a JSON-RPC error with the code -32600",
        "Check that the body is a JSON object before you look into it, and refuse anything else with -32600.",
        _send_raw(b"42", _INVALID_REQUEST),
    ),
    *_build_hostile_pair(
        "a list for `params`",
        "a JSON-RPC error with the code -32602",
        "Check that `params` is an object before you look into it, and refuse anything else with -32602.",
        _judge_params_list,
    ),
    *_build_hostile_pair(
        "a message with fields of the wrong type",
        "a LEAGUE_ERROR with E002, or a JSON-RPC error",
        "Check the type of each field of the envelope and refuse a wrong one with E002; acting on it hides a fault "
        "of the other side.",
        _judge_wrong_types,
    ),
    *_build_hostile_pair(
        "a body nested 2000 levels deep",
        "a JSON-RPC error",
        "Some JSON readers break on deep nesting: catch that error like any other that says the body is no JSON.",
        _send_raw(
            b"[" * NESTING_LEVELS + b"]" * NESTING_LEVELS,
            _PARSE_ERROR,
            _INVALID_REQUEST,
            shown=f"an array in an array, {NESTING_LEVELS} levels deep",
        ),
    ),
    *_build_hostile_pair(
        "a body of 2 MiB",
        "HTTP 413, or a refusal",
        "Limit the size of what you read (1 MiB is plenty), and answer more with HTTP 413.",
        _judge_large_body,
    ),
    *_build_hostile_pair(
        "a request that breaks off",
        "no harm",
        "A client may hang up in the middle of a request: drop it and go on.",
        _judge_partial_request,
        "does no harm",
    ),
)
