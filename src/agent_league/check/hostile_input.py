"""Steps with hostile input: it must be refused, and the agent must still answer valid calls afterwards."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.check.frames import ask_framed, ask_well, judge_frame_refusal, mildly, need_good_answer, no_json
from agent_league.check.http_probe import show
from agent_league.check.steps import AnyStep, Finding, Skip, Step, Verdict, failed, passed, warned
from agent_league.check.subject import Bench, Exchange
from agent_league.errors import FrameCode

TWO_MIB = 2 * 1024 * 1024
DEEP = 2000


@dataclass(frozen=True, slots=True)
class Hostile:
    """One kind of hostile input, and the function that sends and judges it."""

    name: str
    expected: str
    hint: str
    send: Callable[[Bench], Awaitable[Finding]]


def hostile_steps() -> list[AnyStep]:
    """Build two steps for each hostile input: whether it is refused, and whether the agent survives it."""
    steps: list[AnyStep] = []
    for bad in _HOSTILE:
        title = f"{bad.name} {'does no harm' if bad.send is _broken_off else 'is refused'}"
        steps.append(Step(title, bad.expected, bad.hint, mildly(bad.send)))
        steps.append(survival_step(bad.name))
    return steps


def survival_step(event: str) -> AnyStep:
    return Step(
        f"still answers after {event}",
        "the right answer to a good call",
        f"The agent doesn't recover from {event}: catch the error where it arises, and leave no lock, "
        "connection or half-changed state behind.",
        _survives,
        vital=True,
    )


async def _survives(bench: Bench) -> Finding:
    need_good_answer(bench)
    exchange = await ask_well(bench)
    return passed("the right answer") if bench.is_good(exchange) else failed(exchange.came)


def _raw(body: bytes, *codes: int, shown: str | None = None) -> Callable[[Bench], Awaitable[Finding]]:
    async def send(bench: Bench) -> Finding:
        exchange = await bench.post(body, shown=shown)
        if bench.is_bare and 400 <= exchange.reply.status < 500:
            return passed(f"HTTP {exchange.reply.status}")
        return _unharmed(exchange, *codes)

    return send


def _unharmed(exchange: Exchange, *codes: int) -> Finding:
    """Judge a refusal of hostile input; a handler that failed or accepted the input is only a warning."""
    found = judge_frame_refusal(exchange, *codes)
    return warned(exchange.came, no_json(exchange)) if exchange.broke_down or found.verdict is Verdict.FAIL else found


async def _params_list(bench: Bench) -> Finding:
    return _unharmed(await ask_framed(bench, params=[1, 2, 3]), FrameCode.INVALID_PARAMS)


async def _wrong_types(bench: Bench) -> Finding:
    need_good_answer(bench)
    call = bench.good_call()
    twisted = {name: _twisted(value) for name, value in call.message.items() if name != "message_type"}
    exchange = await bench.ask(
        call.method, {"message_type": call.message.get("message_type"), **twisted}, wanted=call.wanted
    )
    if exchange.refused and not exchange.broke_down:
        return passed(show(exchange.league_code or exchange.came, 80))
    return warned(exchange.came)


def _twisted(value: Any) -> Any:
    return 42 if isinstance(value, str) else [None]


async def _two_mib(bench: Bench) -> Finding:
    need_good_answer(bench)
    call = bench.good_call()
    style = bench.style_of(call.method)
    body = style.request(call.method, {**call.message, "padding": "x" * TWO_MIB}, 7)
    exchange = await bench.post(body, call.method, shown="a good call with 2 MiB of padding", bearer=call.bearer)
    if exchange.refused:
        return passed(f"HTTP {exchange.reply.status}")
    if exchange.broke_down:
        return warned(exchange.came)
    return warned(f"HTTP {exchange.reply.status}: the whole body was read and taken")


async def _broken_off(bench: Bench) -> Finding:
    if bench.probe.url.startswith("https"):
        raise Skip("only over plain http")
    await bench.probe.break_off(bench.limit(""))
    return passed("nothing was to be answered")


_REFUSE = 'Read the body as JSON inside a try, and answer what isn\'t JSON with the error -32700 and "id": null.'
_HOSTILE: Sequence[Hostile] = (
    Hostile(
        "a body that is not JSON",
        "a JSON-RPC error with the code -32700 and HTTP 200",
        _REFUSE,
        _raw(b'{"jsonrpc": "2.0", "method": oops', FrameCode.PARSE_ERROR),
    ),
    Hostile(
        "an empty body",
        "a JSON-RPC error with the code -32700",
        _REFUSE,
        _raw(b"", FrameCode.PARSE_ERROR, FrameCode.INVALID_REQUEST, shown="an empty body"),
    ),
    Hostile(
        "a body that is not UTF-8",
        "a JSON-RPC error with the code -32700",
        _REFUSE,
        _raw(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}', FrameCode.PARSE_ERROR),
    ),
    Hostile(
        "a number for a request",
        "a JSON-RPC error with the code -32600",
        "Check that the body is a JSON object before you look into it, and refuse anything else with -32600.",
        _raw(b"42", FrameCode.INVALID_REQUEST),
    ),
    Hostile(
        "a list for `params`",
        "a JSON-RPC error with the code -32602",
        "Check that `params` is an object before you look into it, and refuse anything else with -32602.",
        _params_list,
    ),
    Hostile(
        "a message with fields of the wrong type",
        "a LEAGUE_ERROR with E002, or a JSON-RPC error",
        "Check the type of each field of the envelope and refuse a wrong one with E002; acting on it hides a fault "
        "of the other side.",
        _wrong_types,
    ),
    Hostile(
        "a body nested 2000 levels deep",
        "a JSON-RPC error",
        "Some JSON readers break on deep nesting: catch that error like any other that says the body is no JSON.",
        _raw(
            b"[" * DEEP + b"]" * DEEP,
            FrameCode.PARSE_ERROR,
            FrameCode.INVALID_REQUEST,
            shown=f"an array in an array, {DEEP} levels deep",
        ),
    ),
    Hostile(
        "a body of 2 MiB",
        "HTTP 413, or a refusal",
        "Limit the size of what you read (1 MiB is plenty), and answer more with HTTP 413.",
        _two_mib,
    ),
    Hostile(
        "a request that breaks off",
        "no harm",
        "A client may hang up in the middle of a request: drop it and go on.",
        _broken_off,
    ),
)
