"""Steps on an agent's registration with the checker's manager: the call, and the request field by field."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent_league.check.fields import (
    MISSING,
    MessageRows,
    get_field,
    judge_timestamp,
    judge_type,
    judge_value,
    make_field_names_hint,
)
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.listener import IncomingCall
from agent_league.check.notices import UNTRUSTED_CODES, make_join_hint
from agent_league.check.player_subject import PlayerSubject
from agent_league.check.scripted_agents import EVEN_ODD
from agent_league.check.steps import (
    CheckStep,
    NoReply,
    Severity,
    SkipStep,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    warned,
)
from agent_league.check.subject import Subject
from agent_league.check.transport_steps import send_valid_call
from agent_league.errors import ErrorCode
from agent_league.model.agents import supports_game
from agent_league.model.looks import COLOR_EXPECTED, SIGN_EXPECTED, read_look
from agent_league.protocol.tolerance import MessageFrame, normalise
from agent_league.protocol.v1.envelope import UUID_PATTERN
from agent_league.protocol.v2.registration import LOOK_FIELDS
from agent_league.protocol.version import PROTOCOL_V1

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
REQUEST_TYPES = {"player": "LEAGUE_REGISTER_REQUEST", "referee": "REFEREE_REGISTER_REQUEST"}


def build_registration_steps(role: str) -> list[CheckStep[Subject]]:
    """Build the steps on the registration of a player or a referee."""
    meta, kind, method = f"{role}_meta", REQUEST_TYPES[role], f"register_{role}"
    strict = MessageRows[Subject](kind, lambda subject: normalise(kind, require_registration(subject).message)[0])
    rows = replace(strict, severity=Severity.TOLERATED_IF_REGISTERED)
    steps = [
        CheckStep(
            "registers with the manager",
            f"a {kind} at the checker's own manager",
            "Start the agent with the checker as its manager (`league check` listens at port 8000, or --manager-port), "
            "and give it time with --wait.",
            judge_registering,
        ),
        CheckStep(
            f"{kind}: the call",
            f"the method {method} with the message in params, posted to /mcp",
            f'Post to /mcp: method "{method}", with the message itself as `params`.',
            lambda subject: _judge_call(require_registration(subject), kind, method),
        ),
        *rows.envelope_rows(role, missing=StepVerdict.WARNING),
        rows.type_row(
            "conversation_id",
            "a string",
            'Put a "conversation_id" of your own choice into the request, such as "conv-player-alpha-reg-001".',
            missing=StepVerdict.WARNING,
        ),
        rows.type_row(f"{meta}.display_name", "a name", f"Put the name to be shown into '{meta}.display_name'."),
        rows.type_row(
            f"{meta}.version",
            "a string",
            f"Put the version of your agent into '{meta}.version', such as \"1.0.0\".",
            missing=StepVerdict.WARNING,
        ),
        strict.row(
            f"{meta}.game_types",
            'a list of names, such as "even_odd", or "*" for any game',
            f"Put the games that you play into '{meta}.game_types' as a list: [\"even_odd\"].",
            lambda subject, found: _judge_game_types(subject, found, meta),
        ),
        strict.row(
            f"{meta}.contact_endpoint",
            "the address at which the agent is being checked",
            f"Put the address at which you listen into '{meta}.contact_endpoint': http://localhost:8101/mcp.",
            lambda subject, found: _judge_endpoint(subject, found, meta),
        ),
    ]
    if role == "player":
        steps.append(_build_look_step(rows))
    if role == "referee":
        hint = f"Say in '{meta}.max_concurrent_matches' how many matches you can run at once, as a number."
        steps.append(
            rows.type_row(f"{meta}.max_concurrent_matches", "a number of at least 1", hint, int, StepVerdict.WARNING)
        )
    return steps


def build_v1_registration_steps() -> list[CheckStep[Subject]]:
    """Build the steps on the registration of a player of `league.v1`."""
    kind = REQUEST_TYPES["player"]
    strict = MessageRows[Subject](kind, lambda subject: require_registration(subject).message)
    rows = replace(strict, severity=Severity.TOLERATED_IF_REGISTERED)
    judges: dict[str, Callable[[Mapping[str, Any], str], StepFinding]] = {
        "protocol": lambda found, path: judge_value(found, path, PROTOCOL_V1),
        "league_id": _judge_uuid,
        "round_id": lambda found, path: judge_value(found, path, 0),
        "match_id": lambda found, path: judge_value(found, path, "REGISTRATION"),
        "conversation_id": _judge_uuid,
        "sender": lambda found, path: judge_type(found, path, str),
        "timestamp": judge_timestamp,
        "player_meta.display_name": lambda found, path: judge_type(found, path, str),
        "player_meta.version": lambda found, path: judge_type(found, path, str),
        "player_meta.game_types": lambda found, path: judge_type(found, path, list),
        "player_meta.contact_endpoint": lambda found, path: judge_type(found, path, str),
    }

    def field(path: str) -> CheckStep[Subject]:
        hint = f"Put '{path}' into {kind} as the messages of {PROTOCOL_V1} have it."
        counted = strict if path.endswith("contact_endpoint") else rows
        return counted.row(path, f"as in {PROTOCOL_V1}", hint, lambda _, found: judges[path](found, path))

    started = "Start the agent with the checker as its manager."
    return [
        CheckStep("registers with the manager", f"a {kind}", started, judge_registering),
        *map(field, judges),
        _build_look_step(rows),
    ]


def _build_look_step(rows: MessageRows[Subject]) -> CheckStep[Subject]:
    return rows.row(
        "player_meta.color and avatar",
        f"nothing, or as 'color' {COLOR_EXPECTED}, and as 'avatar' {SIGN_EXPECTED}",
        "Leave 'color' and 'avatar' out of 'player_meta', or mend them: a league leaves out what it can't show.",
        lambda _, found: _judge_look(found),
    )


def _judge_look(request: Mapping[str, Any]) -> StepFinding:
    told = {name: get_field(request, f"player_meta.{name}") for name in LOOK_FIELDS}
    told = {name: value for name, value in told.items() if value not in (MISSING, None, "")}
    noted = read_look(told.get("color"), told.get("avatar"))[1]
    if noted:
        return warned("; ".join(noted))
    return passed(", ".join(f"'{name}' {quote_redacted(value)}" for name, value in told.items()))


def _judge_uuid(message: Mapping[str, Any], name: str) -> StepFinding:
    found = judge_type(message, name, str)
    if found.verdict is StepVerdict.PASS and not UUID_PATTERN.fullmatch(message[name]):
        return failed(f"'{name}' is {quote_redacted(message[name], 120)}, which is no UUID")
    return found


def require_registration(subject: Subject) -> IncomingCall:
    """Return the agent's registration, accepted or refused; skip the step if there is none."""
    refusals = subject.manager.refusals if subject.manager else []
    found = subject.registration or (refusals[-1][0] if refusals else None)
    if found is None:
        raise SkipStep("no registration was seen")
    subject.sent.append(f"nothing: the agent sent {format_redacted(found.body)}")
    return found


async def judge_registering(subject: Subject) -> StepFinding:
    """Judge whether the agent registers with the checker's manager and is accepted."""
    await subject.wait_for_registration()
    subject.sent = []
    if subject.registration is not None:
        subject.sent.append("nothing: the agent registers by itself")
        return passed(f"accepted as {subject.given_id}")
    if subject.manager and subject.manager.refusals:
        refused, why = subject.manager.refusals[-1]
        subject.sent.append(f"nothing: the agent sent {format_redacted(refused.body)}")
        return failed(f"a league refuses the registration: {why}", "Send what the refusal asks for; see docs/schemas.")
    if subject.manager and subject.manager.last_frame_error:
        return failed(f"a call that can't be understood: {subject.manager.last_frame_error}")
    if code := await _find_untrusted_code(subject):
        waits = code == ErrorCode.SERVICE_UNAVAILABLE
        whose = "waits for another manager" if waits else "belongs to another manager's league"
        subject.other_league_hint = f"this agent {whose}; stop that one, {make_join_hint(subject)}"
        return StepFinding(StepVerdict.SKIPPED, f"{code}: the agent {whose}", ends_check=True)
    if subject.manager is None:
        raise SkipStep("port 8000 is taken by somebody else, so the checker plays no manager (--manager-port)")
    raise SkipStep(f"registration not seen within {subject.options.wait_seconds:g} s at {subject.manager.endpoint}")


async def _find_untrusted_code(subject: Subject) -> str:
    """Return the code with which the agent refuses the checker's signed calls; empty if it doesn't."""
    try:
        code = (await send_valid_call(subject)).league_code
    except NoReply:
        return ""
    return code if code in UNTRUSTED_CODES else ""


def _judge_call(heard: IncomingCall, kind: str, method: str) -> StepFinding:
    noted = normalise(kind, heard.message)[1]
    if heard.frame is not MessageFrame.PARAMS:
        return warned(f"the message is in {heard.frame}")
    if heard.called_method != method:
        return warned(f"the method is {format_redacted(heard.called_method, 80)}")
    if heard.path != "/mcp":
        return warned(f"posted to {format_redacted(heard.path, 80)}")
    return warned(", ".join(noted), make_field_names_hint(noted)) if noted else passed()


def _judge_game_types(subject: Subject, request: Mapping[str, Any], meta: str) -> StepFinding:
    found = judge_type(request, f"{meta}.game_types", list)
    if found.verdict is not StepVerdict.PASS:
        return found
    games = request[meta]["game_types"]
    if not games or not all(isinstance(game, str) and game for game in games):
        return failed(found.came)
    if isinstance(subject, PlayerSubject):
        missing = subject.question.unplayable_reason
        return passed(f"{found.came}; {missing}") if missing else found
    hint = "A referee is checked in Even/Odd: let it take that game for the check."
    return found if supports_game(games, EVEN_ODD) else failed(found.came, hint)


def _judge_endpoint(subject: Subject, request: Mapping[str, Any], meta: str) -> StepFinding:
    found = judge_type(request, f"{meta}.contact_endpoint", str)
    if found.verdict is not StepVerdict.PASS:
        return found
    address, url = request[meta]["contact_endpoint"], subject.probe.url
    hint = f"A league calls you at '{meta}.contact_endpoint': put {url} there, where you listen."
    if _parse_origin(address) != _parse_origin(url):
        return failed(f"{format_redacted(address, 120)}, and the agent is checked at {url}", hint)
    same = urlsplit(address).path.rstrip("/") == urlsplit(url).path.rstrip("/")
    return found if same else warned(f"{format_redacted(address, 120)}, and the agent is checked at {url}", hint)


def _parse_origin(address: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port; None if the address can't be called."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    if not host or parts.scheme not in ("http", "https"):
        return None
    return parts.scheme, "localhost" if host in LOCAL_HOSTS else host, port
