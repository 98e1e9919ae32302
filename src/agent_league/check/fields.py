"""Judge single fields of a message: whether they exist, have the right type and the right value."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_league.agent.jsonrpc import json_type
from agent_league.check.http_probe import quoted, show
from agent_league.check.steps import AnyStep, Finding, Step, Verdict, failed, passed, warned
from agent_league.clock import SystemClock, parse_utc
from agent_league.protocol.envelope import Sender
from agent_league.protocol.version import PROTOCOL_V2

FAR_SECONDS = 300
"""A timestamp further from now than this is a warning."""
MISSING = object()

HINTS: Mapping[str, str] = {
    "protocol": 'Put "protocol": "league.v2" into every message.',
    "message_type": 'Put "message_type" with the name of the message, in capitals, into every message.',
    "sender": 'Put "sender" into every message: "player:P01", "referee:REF01" or "league_manager", with your own id.',
    "timestamp": 'Put "timestamp" into every message, in UTC: 2025-01-15T10:30:00Z. In Python: '
    'datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").',
    "conversation_id": 'Copy "conversation_id" from the request into the reply, letter by letter.',
    "auth_token": 'Put the "auth_token" from your own registration into every message that you send afterwards.',
    "match_id": 'Copy "match_id" from the request into the reply.',
    "player_id": 'Put the "player_id" that the manager gave you into the reply.',
}


def name_hint(noted: Sequence[str]) -> str:
    """Write a hint from deviations such as "'choice' for 'parity_choice'"."""
    pairs = [note.partition(" for ")[::2] for note in noted]
    return " ".join(f"Write {wanted} instead of {used}." if wanted else f"Mend {used}." for used, wanted in pairs)


def look_up(message: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `player_meta.version`, or MISSING."""
    value: Any = message
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def judge_value(message: Mapping[str, Any], path: str, wanted: Any, missing: Verdict = Verdict.FAIL) -> Finding:
    """Judge whether a field has exactly this value; `missing` is the verdict if it is absent or null."""
    found = look_up(message, path)
    if found is MISSING or found is None:
        return Finding(missing, f"'{path}' is {'missing' if found is MISSING else 'null'}")
    if type(found) is not type(wanted):
        return failed(f"'{path}' is {json_type(found)}: {show(found, 120)}")
    if found != wanted:
        return failed(f"'{path}' is {_quoted(path, found)}")
    return passed(_quoted(path, found))


def judge_kind(message: Mapping[str, Any], path: str, kind: type, missing: Verdict = Verdict.FAIL) -> Finding:
    """Judge whether a field is present, of this type and no empty string."""
    found = look_up(message, path)
    if found is MISSING or found is None:
        return Finding(missing, f"'{path}' is {'missing' if found is MISSING else 'null'}")
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        return failed(f"'{path}' is {json_type(found)}: {show(found, 120)}")
    if kind is str and not found:
        return failed(f"'{path}' is an empty string")
    return passed(_quoted(path, found))


def judge_sender(
    message: Mapping[str, Any],
    role: str,
    agent_id: str | None,
    own_name: str | None = None,
    missing: Verdict = Verdict.FAIL,
) -> Finding:
    """Judge whether `sender` names the role and the assigned id; the id from before the registration is a warning."""
    found = judge_kind(message, "sender", str, missing)
    if found.verdict is not Verdict.PASS:
        return found
    sender = Sender.parse(message["sender"])
    if sender is None or str(sender.role) != role:
        return failed(f"'sender' is {_quoted('sender', message['sender'])}")
    if agent_id is None or sender.agent_id == agent_id:
        return found
    said = f"'sender' is {_quoted('sender', message['sender'])}, but the id given to it is {agent_id!r}"
    return warned(said) if sender.agent_id == own_name else failed(said)


def judge_timestamp(message: Mapping[str, Any], path: str, missing: Verdict = Verdict.FAIL) -> Finding:
    """Judge whether a field is a time in UTC."""
    found = judge_kind(message, path, str, missing)
    if found.verdict is not Verdict.PASS:
        return found
    text = str(look_up(message, path))
    if parse_utc(text) is not None:
        return found
    said = f"'{path}' is {_quoted(path, text)}"
    if _is_local(text):
        return failed(
            f"{said}: local time, or no time zone",
            f"Write '{path}' in UTC and end it with Z: datetime.now(timezone.utc), not datetime.now(). "
            "Anything else is refused with E021.",
        )
    return failed(said)


def judge_nearness(message: Mapping[str, Any], path: str) -> Finding:
    """Judge whether a time is near the checker's clock; a large difference is a warning."""
    moment = parse_utc(str(look_up(message, path)))
    if moment is None:
        return Finding(Verdict.SKIPPED, f"'{path}' is no moment in UTC")
    seconds = abs((SystemClock().now() - moment).total_seconds())
    if seconds > FAR_SECONDS:
        return warned(f"'{path}' is {seconds:.0f} s away from now")
    return passed(f"{seconds:.0f} s away from now")


def envelope_steps(
    title: str,
    message: Callable[[Any], Mapping[str, Any]],
    role: str,
    agent_id: Callable[[Any], str | None],
    missing: Verdict = Verdict.FAIL,
) -> list[AnyStep]:
    """Build the steps for the envelope of a message; `message` gets the message to judge from the subject."""

    def step(name: str, expected: str, judge: Callable[[Any, Mapping[str, Any]], Finding]) -> AnyStep:
        return Step(f"{title}: {name}", expected, HINTS[name], on(message, judge))

    return [
        step("protocol", f'"{PROTOCOL_V2}"', lambda _, found: judge_value(found, "protocol", PROTOCOL_V2, missing)),
        step("message_type", f'"{title}"', lambda _, found: judge_value(found, "message_type", title, missing)),
        step(
            "sender",
            f'"{role}:ID"' if role != "league_manager" else '"league_manager"',
            lambda bench, found: judge_sender(found, role, agent_id(bench), bench.own_name, missing),
        ),
        step(
            "timestamp",
            "UTC, such as 2025-01-15T10:30:00Z",
            lambda _, found: judge_timestamp(found, "timestamp", missing),
        ),
        Step(
            f"{title}: timestamp is about now",
            f"not more than {FAR_SECONDS} s away",
            "Set the clock of your machine, and write the time of sending, not a fixed text.",
            on(message, lambda _, found: judge_nearness(found, "timestamp")),
        ),
    ]


def on(
    message: Callable[[Any], Mapping[str, Any]], judge: Callable[[Any, Mapping[str, Any]], Finding]
) -> Callable[[Any], Awaitable[Finding]]:
    async def judged(bench: Any) -> Finding:
        return judge(bench, message(bench))

    return judged


def _quoted(path: str, value: Any) -> str:
    return quoted(value, name=path.rpartition(".")[2])


def _is_local(text: str) -> bool:
    """Whether a text is an ISO-8601 time, so that only its time zone is wrong."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
