"""Steps for agents of every role: the HTTP server, its paths, and JSON-RPC framing."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agent_league.agent.jsonrpc import is_answer_to
from agent_league.check.http_probe import NOT_JSON, ProbeReply, format_redacted, format_reply
from agent_league.check.steps import (
    AnyStep,
    CheckStep,
    NoReply,
    SkipStep,
    StepFinding,
    failed,
    passed,
    tolerate,
    warned,
)
from agent_league.check.subject import Exchange, Subject, ValidCall
from agent_league.errors import JsonRpcErrorCode
from agent_league.model.agents import Role

COMMON_PATHS = ("/mcp", "/", "/mcp/", "/rpc", "/jsonrpc", "/api", "/api/mcp")
HTTP_STATUS_HINT = (
    "Answer with HTTP 200 and put the error into the JSON-RPC body: many clients give up on other statuses."
)


def build_server_steps() -> list[AnyStep]:
    """Build the steps on the HTTP server: connection, paths and `/health`."""
    return [
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
            warn_without_reply(_judge_unknown_path),
        ),
        CheckStep(
            "GET /health answers",
            "HTTP 200 and a JSON object with status and role",
            'Add `GET /health` that returns {"status": "ok", "role": "player"}; it lets others see that you are up.',
            warn_without_reply(_judge_health),
        ),
        CheckStep(
            "GET at the path does no harm",
            "HTTP 405 or any other answer below 500",
            "A browser or a health check may come by with GET: answer 405 and go on.",
            warn_without_reply(_judge_get),
        ),
    ]


def warn_without_reply(
    judge: Callable[[Subject], Awaitable[StepFinding]],
) -> Callable[[Subject], Awaitable[StepFinding]]:
    """Wrap a judge so that a missing HTTP reply is a warning, for calls on which no match depends."""

    async def judged(subject: Subject) -> StepFinding:
        try:
            return await judge(subject)
        except NoReply as error:
            return make_no_reply_warning(error)

    return judged


def make_no_reply_warning(error: NoReply) -> StepFinding:
    """Make the warning for a bad call without a reply; the following step shows whether it did harm."""
    return replace(warned(error.sentence, error.hint), is_silent=error.silent)


async def _judge_listening(subject: Subject) -> StepFinding:
    subject.sent.append(f"a connection to {subject.probe.url}")
    why = await subject.probe.find_connect_problem()
    return (
        passed("connected")
        if why is None
        else failed(why, await _find_scheme_hint(subject) or _make_caller_hint(subject))
    )


def _make_caller_hint(subject: Subject) -> str:
    """Write a hint on agents that called the checker's manager, for when nothing listens at the address."""
    manager = subject.manager
    if manager is None:
        return ""
    if manager.registrations:
        address = manager.get_endpoint(manager.registrations[-1])
        return (
            f"An agent registered here and gave the address {format_redacted(address, 120)}: check that one, or let "
            "it listen."
        )
    if manager.refusals:
        call, sentence = manager.refusals[-1]
        address = format_redacted(manager.get_endpoint(call), 120)
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
        reply = await _send_unknown_call(subject)
    except NoReply as error:
        error.hint = error.hint or await _find_scheme_hint(subject)
        if error.hint:
            raise
        await subject.wait_for_registration()
        reply = (await subject.send_first_call()).reply
    if reply.status in (404, 405) and not _is_json_rpc(reply):
        await subject.wait_for_registration()
        exchange = await subject.send_first_call()
        if exchange.reply.status in (404, 405):
            if subject.role is Role.REFEREE and subject.registration is not None:  # it may know only orders
                return warned(
                    format_reply(exchange.reply), "Answer what you don't know with -32601, and take the notices."
                )
            return failed(format_reply(exchange.reply), await _find_path_hint(subject))
    return passed(f"HTTP {reply.status}")


async def _find_path_hint(subject: Subject) -> str:
    """Write a hint that names the path at which the agent does answer, if it is one of the common ones."""
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
    reply = await subject.probe.post(
        _encode_unknown_call(2), subject.get_limit(""), url=subject.probe.url_at("/league-check-no-such-path")
    )
    if reply.status >= 500:
        return warned(format_reply(reply), "An unknown path must not break the handler: answer 404.")
    return passed(f"HTTP {reply.status}") if reply.status in (404, 405) else warned(format_reply(reply))


async def _judge_health(subject: Subject) -> StepFinding:
    reply = await subject.probe.get(subject.probe.url_at("/health"), subject.get_limit(""))
    if reply.status == 200 and isinstance(reply.json_value, dict):
        return passed(format_redacted(reply.body, 120))
    return warned(format_reply(reply))


async def _judge_get(subject: Subject) -> StepFinding:
    reply = await subject.probe.get(subject.probe.url, subject.get_limit(""))
    return passed(f"HTTP {reply.status}") if reply.status < 500 or reply.status == 501 else warned(format_reply(reply))


def build_json_rpc_steps() -> list[AnyStep]:
    """Build the steps on JSON-RPC 2.0; strict only where a caller depends on it."""
    echo = 'Copy the request\'s "id" into the reply, with its type: 7 stays a number, "seven" a string.'
    return [
        CheckStep(
            "the reply is marked as JSON", "Content-Type: application/json", CONTENT_TYPE_HINT, _judge_content_type
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
        CheckStep("an integer id comes back", "the id 7001", echo, _make_id_judge(7001)),
        CheckStep(
            "a string id comes back", 'the id "check-7002"', echo, warn_without_reply(_make_id_judge("check-7002"))
        ),
        CheckStep("a null id comes back", "the id null", echo, warn_without_reply(_make_id_judge(None))),
        CheckStep(
            "Content-Type with a charset is accepted",
            "the same answer as without",
            "Compare only the part before the `;`: many clients send `application/json; charset=utf-8`.",
            warn_without_reply(_judge_charset),
        ),
        CheckStep(
            "an unknown method is refused with -32601",
            "a JSON-RPC error with the code -32601 and HTTP 200",
            'Answer a method that you don\'t have with {"jsonrpc": "2.0", "error": {"code": -32601, "message": '
            '"Method not found"}, "id": ...}.',
            warn_without_reply(_judge_unknown_method),
        ),
        CheckStep("the id comes back with an error too", "the id 7003", echo, warn_without_reply(_judge_error_id)),
        CheckStep(
            "a notification is not answered",
            "HTTP 202 or 204 without a body",
            'A request without "id" is a notification: do the work and answer with an empty body.',
            warn_without_reply(_judge_notification),
        ),
        CheckStep(
            "a batch is answered as a batch",
            "an array with two replies, or the error -32600",
            "An array of requests wants an array of replies; if you don't serve batches, answer with the error -32600.",
            warn_without_reply(_judge_batch),
        ),
        CheckStep(
            "another JSON-RPC version is refused",
            "a JSON-RPC error with the code -32600",
            'Check that "jsonrpc" is "2.0" and refuse everything else with -32600.',
            warn_without_reply(_judge_other_version),
        ),
    ]


CONTENT_TYPE_HINT = "Send the header `Content-Type: application/json`; strict clients refuse to read anything else."


async def send_valid_call(subject: Subject) -> Exchange:
    """Send a valid call in the call form that the agent understands."""
    call = subject.make_valid_call()
    return await subject.ask(call.method, call.message, wanted=call.wanted, bearer=call.bearer)


def encode_changed_frame(subject: Subject, call: ValidCall, **changes: Any) -> bytes:
    """Encode a valid call with changed fields in its JSON-RPC frame; `...` removes a field."""
    if subject.is_bare:
        raise SkipStep("the agent speaks bare messages, without a JSON-RPC frame")
    style = subject.get_call_form(call.method)
    frame = {**json.loads(style.encode_request(call.method, call.message, 1)), **changes}
    return json.dumps({name: value for name, value in frame.items() if value is not ...}).encode()


def require_valid_answer(subject: Subject) -> None:
    """Skip the step if the agent never answered a valid call, so that there is nothing to compare with."""
    if not subject.has_valid_answer:
        raise SkipStep("the agent answered no good call, so there is nothing to compare with")


async def send_changed_frame(subject: Subject, **changes: Any) -> Exchange:
    require_valid_answer(subject)
    call = subject.make_valid_call()
    return await subject.post(
        encode_changed_frame(subject, call, **changes),
        call.method,
        call.message,
        wanted=call.wanted,
        call_form=subject.get_call_form(call.method),
        bearer=call.bearer,
    )


async def _judge_content_type(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    exchange = await send_valid_call(subject)
    kind = exchange.reply.content_type
    return passed(kind) if kind == "application/json" else warned(f"Content-Type: {kind}")


def _require_frame(subject: Subject) -> None:
    if subject.is_frameless:
        raise SkipStep("the agent's answers come without a JSON-RPC frame")


async def _judge_version(subject: Subject) -> StepFinding:
    _require_frame(subject)
    exchange = await send_changed_frame(subject)
    version = exchange.body.get("jsonrpc", "missing") if isinstance(exchange.body, dict) else "no object"
    if version == "2.0":
        return passed('"2.0"')
    return _tolerate_if_valid(
        subject, exchange, failed(f'"jsonrpc" is {format_redacted(version, 80)}', make_no_json_hint(exchange))
    )


async def _judge_result_or_error(subject: Subject) -> StepFinding:
    _require_frame(subject)
    exchange = await send_changed_frame(subject)
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


def _make_id_judge(request_id: Any) -> Callable[[Subject], Awaitable[StepFinding]]:
    async def judge(subject: Subject) -> StepFinding:
        _require_frame(subject)
        exchange = await send_changed_frame(subject, id=request_id)
        if request_id is None and not exchange.reply.body:
            return warned("no body: null was taken for a notification", NULL_ID_HINT)
        found = _judge_id(exchange, request_id)
        if not isinstance(request_id, int):
            return tolerate(found)  # a league's own ids are integers
        is_read = subject.is_valid_answer(exchange) and is_answer_to(exchange.body, request_id)
        return tolerate(found) if is_read else found

    return judge


NULL_ID_HINT = 'Only a request without "id" is a notification; "id": null wants an answer.'


def _judge_id(exchange: Exchange, request_id: Any) -> StepFinding:
    if not isinstance(exchange.body, dict):
        return failed(exchange.reply_text, make_no_json_hint(exchange))
    if "id" not in exchange.body:
        return failed('no "id"')
    found = exchange.body["id"]
    same = type(found) is type(request_id) and found == request_id
    return passed(format_redacted(found, 80)) if same else failed(f'"id" is {json.dumps(found)[:80]}')


async def _judge_charset(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    call = subject.make_valid_call()
    style = subject.get_call_form(call.method)
    reply = await subject.probe.post(
        style.encode_request(call.method, call.message, 7),
        subject.get_limit(call.method),
        bearer=call.bearer,
        content_type="application/json; charset=utf-8",
        more_headers=style.build_headers(call.method),
    )
    return passed(f"HTTP {reply.status}") if reply.status == 200 else tolerate(failed(format_reply(reply)))


def _encode_unknown_call(request_id: int) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "method": "league_check_no_such_method", "params": {}, "id": request_id}
    ).encode()


async def _send_unknown_call(subject: Subject) -> ProbeReply:
    return await subject.probe.post(_encode_unknown_call(7003), subject.get_limit(""))


async def _judge_unknown_method(subject: Subject) -> StepFinding:
    exchange = await subject.post(_encode_unknown_call(7003))
    if subject.is_bare:
        found = failed(exchange.reply_text) if exchange.reply.status >= 500 else passed(f"HTTP {exchange.reply.status}")
        return tolerate(found)
    return tolerate(judge_frame_refusal(exchange, JsonRpcErrorCode.METHOD_NOT_FOUND))


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
    require_valid_answer(subject)
    call = subject.make_valid_call()
    exchange = await subject.post(
        encode_changed_frame(subject, call, id=...),
        call.method,
        call.message,
        call_form=subject.get_call_form(call.method),
        bearer=call.bearer,
    )
    return (
        warned(exchange.reply_text) if exchange.reply.body.strip() else passed(f"HTTP {exchange.reply.status}, no body")
    )


async def _judge_batch(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    calls = [json.loads(encode_changed_frame(subject, subject.make_valid_call(), id=number)) for number in (7004, 7005)]
    exchange = await subject.post(json.dumps(calls).encode(), bearer=subject.make_valid_call().bearer)
    if isinstance(exchange.body, list):
        ids = sorted(str(reply.get("id")) for reply in exchange.body if isinstance(reply, dict))
        return passed("both replies") if ids == ["7004", "7005"] else warned(f"replies with the ids {', '.join(ids)}")
    code = exchange.error.get("code")
    return passed(f"error {code}") if code == JsonRpcErrorCode.INVALID_REQUEST else warned(exchange.reply_text)


async def _judge_other_version(subject: Subject) -> StepFinding:
    exchange = await send_changed_frame(subject, jsonrpc="1.0")
    if exchange.error:
        return passed(f"error {exchange.error.get('code')}")
    return warned(exchange.reply_text)


def make_no_json_hint(exchange: Exchange) -> str:
    """Write the hint for a reply that is not JSON; empty for JSON and for an empty reply."""
    if exchange.body is not NOT_JSON or not exchange.reply.body:
        return ""
    what = "HTML" if exchange.reply.body.lstrip()[:1] == b"<" else "plain text"
    return f"You answer with {what}, not JSON: catch your error and answer with JSON."


def judge_frame_refusal(exchange: Exchange, *codes: int) -> StepFinding:
    """Judge whether a call was refused with one of these JSON-RPC codes; another kind of refusal is a warning."""
    status = exchange.reply.status
    if status >= 500:
        return failed(exchange.reply_text, "The handler broke down: catch this case and answer with a JSON-RPC error.")
    code = exchange.error.get("code")
    if code in codes:
        return (
            passed(f"error {code}") if status == 200 else warned(f"error {code}, but HTTP {status}", HTTP_STATUS_HINT)
        )
    if exchange.is_refused or 400 <= status < 500:
        return warned(exchange.reply_text)
    return failed(exchange.reply_text, make_no_json_hint(exchange))


def _is_json_rpc(reply: ProbeReply) -> bool:
    return isinstance(reply.json_value, dict) and "jsonrpc" in reply.json_value
