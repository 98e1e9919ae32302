"""Steps with hostile input: it must be refused, and the agent must still answer valid calls afterwards."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.check.frames import (
    judge_frame_refusal,
    make_no_json_hint,
    require_valid_answer,
    send_changed_frame,
    send_valid_call,
    warn_without_reply,
)
from agent_league.check.http_probe import format_redacted
from agent_league.check.steps import AnyStep, CheckStep, SkipStep, StepFinding, StepVerdict, failed, passed, warned
from agent_league.check.subject import Exchange, Subject
from agent_league.errors import JsonRpcErrorCode

PADDING_BYTES = 2 * 1024 * 1024
NESTING_LEVELS = 2000


@dataclass(frozen=True, slots=True)
class HostileInput:
    """One kind of hostile input, and the function that sends and judges it."""

    name: str
    expected: str
    hint: str
    judge: Callable[[Subject], Awaitable[StepFinding]]


def build_hostile_steps() -> list[AnyStep]:
    """Build two steps for each hostile input: whether it is refused, and whether the agent survives it."""
    steps: list[AnyStep] = []
    for bad in _HOSTILE_INPUTS:
        title = f"{bad.name} {'does no harm' if bad.judge is _judge_partial_request else 'is refused'}"
        steps.append(CheckStep(title, bad.expected, bad.hint, warn_without_reply(bad.judge)))
        steps.append(build_survival_step(bad.name))
    return steps


def build_survival_step(event: str) -> AnyStep:
    return CheckStep(
        f"still answers after {event}",
        "the right answer to a good call",
        f"The agent doesn't recover from {event}: catch the error where it arises, and leave no lock, "
        "connection or half-changed state behind.",
        _judge_survival,
        is_vital=True,
    )


async def _judge_survival(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    exchange = await send_valid_call(subject)
    return passed("the right answer") if subject.is_valid_answer(exchange) else failed(exchange.reply_text)


def _make_raw_judge(body: bytes, *codes: int, shown: str | None = None) -> Callable[[Subject], Awaitable[StepFinding]]:
    async def send(subject: Subject) -> StepFinding:
        exchange = await subject.post(body, shown=shown)
        if subject.is_bare and 400 <= exchange.reply.status < 500:
            return passed(f"HTTP {exchange.reply.status}")
        return _judge_hostile_refusal(exchange, *codes)

    return send


def _judge_hostile_refusal(exchange: Exchange, *codes: int) -> StepFinding:
    """Judge a refusal of hostile input; a handler that failed or accepted the input is only a warning."""
    found = judge_frame_refusal(exchange, *codes)
    return (
        warned(exchange.reply_text, make_no_json_hint(exchange))
        if exchange.is_breakdown or found.verdict is StepVerdict.FAIL
        else found
    )


async def _judge_params_list(subject: Subject) -> StepFinding:
    return _judge_hostile_refusal(await send_changed_frame(subject, params=[1, 2, 3]), JsonRpcErrorCode.INVALID_PARAMS)


async def _judge_wrong_types(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    call = subject.make_valid_call()
    twisted = {name: _change_type(value) for name, value in call.message.items() if name != "message_type"}
    exchange = await subject.ask(
        call.method, {"message_type": call.message.get("message_type"), **twisted}, wanted=call.wanted
    )
    if exchange.is_refused and not exchange.is_breakdown:
        return passed(format_redacted(exchange.league_code or exchange.reply_text, 80))
    return warned(exchange.reply_text)


def _change_type(value: Any) -> Any:
    return 42 if isinstance(value, str) else [None]


async def _judge_large_body(subject: Subject) -> StepFinding:
    require_valid_answer(subject)
    call = subject.make_valid_call()
    style = subject.get_call_form(call.method)
    body = style.encode_request(call.method, {**call.message, "padding": "x" * PADDING_BYTES}, 7)
    exchange = await subject.post(body, call.method, shown="a good call with 2 MiB of padding", bearer=call.bearer)
    if exchange.is_refused:
        return passed(f"HTTP {exchange.reply.status}")
    if exchange.is_breakdown:
        return warned(exchange.reply_text)
    return warned(f"HTTP {exchange.reply.status}: the whole body was read and taken")


async def _judge_partial_request(subject: Subject) -> StepFinding:
    if subject.probe.url.startswith("https"):
        raise SkipStep("only over plain http")
    await subject.probe.send_partial_request(subject.get_limit(""))
    return passed("nothing was to be answered")


_PARSE_ERROR_HINT = (
    'Read the body as JSON inside a try, and answer what isn\'t JSON with the error -32700 and "id": null.'
)
_HOSTILE_INPUTS: Sequence[HostileInput] = (
    HostileInput(
        "a body that is not JSON",
        "a JSON-RPC error with the code -32700 and HTTP 200",
        _PARSE_ERROR_HINT,
        _make_raw_judge(b'{"jsonrpc": "2.0", "method": oops', JsonRpcErrorCode.PARSE_ERROR),
    ),
    HostileInput(
        "an empty body",
        "a JSON-RPC error with the code -32700",
        _PARSE_ERROR_HINT,
        _make_raw_judge(b"", JsonRpcErrorCode.PARSE_ERROR, JsonRpcErrorCode.INVALID_REQUEST, shown="an empty body"),
    ),
    HostileInput(
        "a body that is not UTF-8",
        "a JSON-RPC error with the code -32700",
        _PARSE_ERROR_HINT,
        _make_raw_judge(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}', JsonRpcErrorCode.PARSE_ERROR),
    ),
    HostileInput(
        "a number for a request",
        "a JSON-RPC error with the code -32600",
        "Check that the body is a JSON object before you look into it, and refuse anything else with -32600.",
        _make_raw_judge(b"42", JsonRpcErrorCode.INVALID_REQUEST),
    ),
    HostileInput(
        "a list for `params`",
        "a JSON-RPC error with the code -32602",
        "Check that `params` is an object before you look into it, and refuse anything else with -32602.",
        _judge_params_list,
    ),
    HostileInput(
        "a message with fields of the wrong type",
        "a LEAGUE_ERROR with E002, or a JSON-RPC error",
        "Check the type of each field of the envelope and refuse a wrong one with E002; acting on it hides a fault "
        "of the other side.",
        _judge_wrong_types,
    ),
    HostileInput(
        "a body nested 2000 levels deep",
        "a JSON-RPC error",
        "Some JSON readers break on deep nesting: catch that error like any other that says the body is no JSON.",
        _make_raw_judge(
            b"[" * NESTING_LEVELS + b"]" * NESTING_LEVELS,
            JsonRpcErrorCode.PARSE_ERROR,
            JsonRpcErrorCode.INVALID_REQUEST,
            shown=f"an array in an array, {NESTING_LEVELS} levels deep",
        ),
    ),
    HostileInput(
        "a body of 2 MiB",
        "HTTP 413, or a refusal",
        "Limit the size of what you read (1 MiB is plenty), and answer more with HTTP 413.",
        _judge_large_body,
    ),
    HostileInput(
        "a request that breaks off",
        "no harm",
        "A client may hang up in the middle of a request: drop it and go on.",
        _judge_partial_request,
    ),
)
