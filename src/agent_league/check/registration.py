"""Steps on an agent's registration with the checker's manager: the call, and the request field by field."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent_league.check.fields import envelope_steps, judge_kind, name_hint, on
from agent_league.check.frames import ask_well
from agent_league.check.http_probe import show
from agent_league.check.listener import Incoming
from agent_league.check.notices import SHUT_OUT, join_hint
from agent_league.check.player_subject import PlayerBench
from agent_league.check.questions import EVEN_ODD
from agent_league.check.steps import (
    AnyStep,
    Finding,
    NoReply,
    Skip,
    Step,
    Verdict,
    failed,
    passed,
    tolerate,
    warned,
)
from agent_league.check.subject import Bench
from agent_league.errors import ErrorCode
from agent_league.model.agents import takes
from agent_league.protocol.tolerance import Frame, tidied

LOCAL = ("localhost", "127.0.0.1", "::1")
TYPES = {"player": "LEAGUE_REGISTER_REQUEST", "referee": "REFEREE_REGISTER_REQUEST"}


def registration_steps(role: str) -> list[AnyStep]:
    """Build the steps on the registration of a player or a referee."""
    meta, kind = f"{role}_meta", TYPES[role]

    def request(bench: Bench) -> Mapping[str, Any]:
        return tidied(kind, seen(bench).message)[0]

    def field(name: str, expected: str, hint: str, type_: type, missing: Verdict = Verdict.FAIL) -> AnyStep:
        judge = on(request, lambda _, found: judge_kind(found, f"{meta}.{name}", type_, missing))
        return tolerate_if_registered(Step(f"{kind}: {meta}.{name}", expected, hint, judge))

    more = [
        field(
            "max_concurrent_matches",
            "a number of at least 1",
            f"Say in '{meta}.max_concurrent_matches' how many matches you can run at once, as a number.",
            int,
            Verdict.WARNING,
        )
    ]
    return [
        Step(
            "registers with the manager",
            f"a {kind} at the checker's own manager",
            "Start the agent with the checker as its manager (`league check` listens at port 8000, or --manager-port), "
            "and give it time with --wait.",
            registers,
        ),
        Step(
            f"{kind}: the call",
            f"the method register_{role} with the message in params, posted to /mcp",
            f'Post to /mcp: method "register_{role}", with the message itself as `params`.',
            _call(role, kind),
        ),
        *map(tolerate_if_registered, envelope_steps(kind, request, role, lambda _: None, Verdict.WARNING)),
        tolerate_if_registered(
            Step(
                f"{kind}: conversation_id",
                "a string",
                'Put a "conversation_id" of your own choice into the request, such as "conv-player-alpha-reg-001".',
                on(request, lambda _, found: judge_kind(found, "conversation_id", str, Verdict.WARNING)),
            )
        ),
        field("display_name", "a name", f"Put the name to be shown into '{meta}.display_name'.", str),
        field(
            "version",
            "a string",
            f"Put the version of your agent into '{meta}.version', such as \"1.0.0\".",
            str,
            Verdict.WARNING,
        ),
        Step(
            f"{kind}: {meta}.game_types",
            'a list of names, such as "even_odd", or "*" for any game',
            f"Put the games that you play into '{meta}.game_types' as a list: [\"even_odd\"].",
            on(request, lambda bench, found: _games(bench, found, meta)),
        ),
        Step(
            f"{kind}: {meta}.contact_endpoint",
            "the address at which the agent is being checked",
            f"Put the address at which you listen into '{meta}.contact_endpoint': http://localhost:8101/mcp.",
            on(request, lambda bench, found: _endpoint(bench, found, meta)),
        ),
        *(more if role == "referee" else []),
    ]


def tolerate_if_registered(step: AnyStep) -> AnyStep:
    """Make failures of a step on a registration's field tolerated warnings if our manager has accepted it."""

    async def judge(bench: Bench) -> Finding:
        found = await step.judge(bench)
        return tolerate(found) if bench.registration is not None else found

    return replace(step, judge=judge)


def seen(bench: Bench) -> Incoming:
    """Return the agent's registration, accepted or refused; skip the step if there is none."""
    refusals = bench.manager.refusals if bench.manager else []
    found = bench.registration or (refusals[-1][0] if refusals else None)
    if found is None:
        raise Skip("no registration was seen")
    bench.sent.append(f"nothing: the agent sent {show(found.body)}")
    return found


async def registers(bench: Bench) -> Finding:
    """Judge whether the agent registers with the checker's manager and is accepted."""
    await bench.meet()
    bench.sent = []
    if bench.registration is not None:
        bench.sent.append("nothing: the agent registers by itself")
        return passed(f"accepted as {bench.given_id}")
    if bench.manager and bench.manager.refusals:
        refused, why = bench.manager.refusals[-1]
        bench.sent.append(f"nothing: the agent sent {show(refused.body)}")
        return failed(f"a league refuses the registration: {why}", "Send what the refusal asks for; see docs/schemas.")
    if bench.manager and bench.manager.misunderstood:
        return failed(f"a call that can't be understood: {bench.manager.misunderstood}")
    if code := await _shut_out(bench):
        waits = code == ErrorCode.SERVICE_UNAVAILABLE
        whose = "waits for another manager" if waits else "belongs to another manager's league"
        bench.elsewhere = f"this agent {whose}; stop that one, {join_hint(bench)}"
        return Finding(Verdict.SKIPPED, f"{code}: the agent {whose}", ends=True)
    if bench.manager is None:
        raise Skip("port 8000 is taken by somebody else, so the checker plays no manager (--manager-port)")
    raise Skip(f"registration not seen within {bench.options.wait:g} s at {bench.manager.endpoint}")


async def _shut_out(bench: Bench) -> str:
    """Return the code with which the agent refuses the checker's signed calls; empty if it doesn't."""
    try:
        code = (await ask_well(bench)).league_code
    except NoReply:
        return ""
    return code if code in SHUT_OUT else ""


def _call(role: str, kind: str) -> Any:
    async def judge(bench: Bench) -> Finding:
        heard = seen(bench)
        noted = tidied(kind, heard.message)[1]
        method = f"register_{role}"
        if heard.frame is not Frame.PARAMS:
            return warned(f"the message is in {heard.frame}")
        if heard.named != method:
            return warned(f"the method is {show(heard.named, 80)}")
        if heard.path != "/mcp":
            return warned(f"posted to {show(heard.path, 80)}")
        return warned(", ".join(noted), name_hint(noted)) if noted else passed()

    return judge


def _games(bench: Bench, request: Mapping[str, Any], meta: str) -> Finding:
    found = judge_kind(request, f"{meta}.game_types", list)
    if found.verdict is not Verdict.PASS:
        return found
    games = request[meta]["game_types"]
    if not games or not all(isinstance(game, str) and game for game in games):
        return failed(found.came)
    if isinstance(bench, PlayerBench):
        missing = bench.question.missing
        return passed(f"{found.came}; {missing}") if missing else found
    hint = "A referee is checked in Even/Odd: let it take that game for the check."
    return found if takes(games, EVEN_ODD) else failed(found.came, hint)


def _endpoint(bench: Bench, request: Mapping[str, Any], meta: str) -> Finding:
    found = judge_kind(request, f"{meta}.contact_endpoint", str)
    if found.verdict is not Verdict.PASS:
        return found
    address, url = request[meta]["contact_endpoint"], bench.probe.url
    hint = f"A league calls you at '{meta}.contact_endpoint': put {url} there, where you listen."
    if _place(address) != _place(url):
        return failed(f"{show(address, 120)}, and the agent is checked at {url}", hint)
    same = urlsplit(address).path.rstrip("/") == urlsplit(url).path.rstrip("/")
    return found if same else warned(f"{show(address, 120)}, and the agent is checked at {url}", hint)


def _place(address: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port; None if the address can't be called."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    if not host or parts.scheme not in ("http", "https"):
        return None
    return parts.scheme, "localhost" if host in LOCAL else host, port
