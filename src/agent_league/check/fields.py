"""Judge single fields of a message: whether they exist, have the right type and the right value."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_league.agent.jsonrpc import name_json_type
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.steps import AnyStep, CheckStep, StepFinding, StepVerdict, failed, passed, warned
from agent_league.clock import SystemClock, parse_utc
from agent_league.protocol.envelope import Sender
from agent_league.protocol.version import PROTOCOL_V2

MAX_CLOCK_SKEW_SECONDS = 300
"""A timestamp further from now than this is a warning."""
MISSING = object()

FIELD_HINTS: Mapping[str, str] = {
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


def make_field_names_hint(noted: Sequence[str]) -> str:
    """Write a hint from deviations such as "'choice' for 'parity_choice'"."""
    pairs = [note.partition(" for ")[::2] for note in noted]
    return " ".join(f"Write {wanted} instead of {used}." if wanted else f"Mend {used}." for used, wanted in pairs)


def get_field(message: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `player_meta.version`, or MISSING."""
    value: Any = message
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def judge_value(
    message: Mapping[str, Any], path: str, wanted: Any, missing: StepVerdict = StepVerdict.FAIL
) -> StepFinding:
    """Judge whether a field has exactly this value; `missing` is the verdict if it is absent or null."""
    found = get_field(message, path)
    if found is MISSING or found is None:
        return StepFinding(missing, f"'{path}' is {'missing' if found is MISSING else 'null'}")
    if type(found) is not type(wanted):
        return failed(f"'{path}' is {name_json_type(found)}: {format_redacted(found, 120)}")
    if found != wanted:
        return failed(f"'{path}' is {_quote_field(path, found)}")
    return passed(_quote_field(path, found))


def judge_type(
    message: Mapping[str, Any], path: str, kind: type, missing: StepVerdict = StepVerdict.FAIL
) -> StepFinding:
    """Judge whether a field is present, of this type and no empty string."""
    found = get_field(message, path)
    if found is MISSING or found is None:
        return StepFinding(missing, f"'{path}' is {'missing' if found is MISSING else 'null'}")
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        return failed(f"'{path}' is {name_json_type(found)}: {format_redacted(found, 120)}")
    if kind is str and not found:
        return failed(f"'{path}' is an empty string")
    return passed(_quote_field(path, found))


def judge_sender(
    message: Mapping[str, Any],
    role: str,
    agent_id: str | None,
    own_name: str | None = None,
    missing: StepVerdict = StepVerdict.FAIL,
) -> StepFinding:
    """Judge whether `sender` names the role and the assigned id; the id from before the registration is a warning."""
    found = judge_type(message, "sender", str, missing)
    if found.verdict is not StepVerdict.PASS:
        return found
    sender = Sender.parse(message["sender"])
    if sender is None or str(sender.role) != role:
        return failed(f"'sender' is {_quote_field('sender', message['sender'])}")
    if agent_id is None or sender.agent_id == agent_id:
        return found
    said = f"'sender' is {_quote_field('sender', message['sender'])}, but the id given to it is {agent_id!r}"
    return warned(said) if sender.agent_id == own_name else failed(said)


def judge_timestamp(message: Mapping[str, Any], path: str, missing: StepVerdict = StepVerdict.FAIL) -> StepFinding:
    """Judge whether a field is a time in UTC."""
    found = judge_type(message, path, str, missing)
    if found.verdict is not StepVerdict.PASS:
        return found
    text = str(get_field(message, path))
    if parse_utc(text) is not None:
        return found
    said = f"'{path}' is {_quote_field(path, text)}"
    if _is_iso_time(text):
        return failed(
            f"{said}: local time, or no time zone",
            f"Write '{path}' in UTC and end it with Z: datetime.now(timezone.utc), not datetime.now(). "
            "Anything else is refused with E021.",
        )
    return failed(said)


def judge_clock_skew(message: Mapping[str, Any], path: str) -> StepFinding:
    """Judge whether a time is near the checker's clock; a large difference is a warning."""
    moment = parse_utc(str(get_field(message, path)))
    if moment is None:
        return StepFinding(StepVerdict.SKIPPED, f"'{path}' is no moment in UTC")
    seconds = abs((SystemClock().now() - moment).total_seconds())
    if seconds > MAX_CLOCK_SKEW_SECONDS:
        return warned(f"'{path}' is {seconds:.0f} s away from now")
    return passed(f"{seconds:.0f} s away from now")


def build_envelope_steps(
    title: str,
    message: Callable[[Any], Mapping[str, Any]],
    role: str,
    agent_id: Callable[[Any], str | None],
    missing: StepVerdict = StepVerdict.FAIL,
) -> list[AnyStep]:
    """Build the steps for the envelope of a message; `message` gets the message to judge from the subject."""

    def step(name: str, expected: str, judge: Callable[[Any, Mapping[str, Any]], StepFinding]) -> AnyStep:
        return CheckStep(f"{title}: {name}", expected, FIELD_HINTS[name], make_message_judge(message, judge))

    return [
        step("protocol", f'"{PROTOCOL_V2}"', lambda _, found: judge_value(found, "protocol", PROTOCOL_V2, missing)),
        step("message_type", f'"{title}"', lambda _, found: judge_value(found, "message_type", title, missing)),
        step(
            "sender",
            f'"{role}:ID"' if role != "league_manager" else '"league_manager"',
            lambda subject, found: judge_sender(found, role, agent_id(subject), subject.own_name, missing),
        ),
        step(
            "timestamp",
            "UTC, such as 2025-01-15T10:30:00Z",
            lambda _, found: judge_timestamp(found, "timestamp", missing),
        ),
        CheckStep(
            f"{title}: timestamp is about now",
            f"not more than {MAX_CLOCK_SKEW_SECONDS} s away",
            "Set the clock of your machine, and write the time of sending, not a fixed text.",
            make_message_judge(message, lambda _, found: judge_clock_skew(found, "timestamp")),
        ),
    ]


def make_message_judge(
    message: Callable[[Any], Mapping[str, Any]], judge: Callable[[Any, Mapping[str, Any]], StepFinding]
) -> Callable[[Any], Awaitable[StepFinding]]:
    async def judged(subject: Any) -> StepFinding:
        return judge(subject, message(subject))

    return judged


def _quote_field(path: str, value: Any) -> str:
    return quote_redacted(value, name=path.rpartition(".")[2])


def _is_iso_time(text: str) -> bool:
    """Whether a text is an ISO-8601 time, so that only its time zone is wrong."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
