"""Judge single fields of a message: whether they exist, have the right type and the right value.

`MessageRows` makes a table of steps from them.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from agent_league.agent.jsonrpc import name_json_type
from agent_league.check.http_probe import format_redacted, quote_redacted
from agent_league.check.steps import (
    CheckedAgent,
    CheckStep,
    Severity,
    StepFinding,
    StepVerdict,
    failed,
    passed,
    warned,
)
from agent_league.clock import SystemClock, parse_utc
from agent_league.errors import Refusal
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.envelope import Sender
from agent_league.protocol.version import PROTOCOL_V2

MAX_CLOCK_SKEW_SECONDS = 300
"""A timestamp further from now than this is a warning."""
MISSING = object()
S = TypeVar("S", bound=CheckedAgent)

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


@dataclass(frozen=True)
class MessageRows(Generic[S]):
    """Makes the steps on the fields of one message of the agent, which all count alike."""

    kind: str
    find: Callable[[S], Mapping[str, Any]]
    """Finds the message; raises SkipStep if there is none."""
    severity: Severity = Severity.FAIL
    find_problem: Callable[[S, str], str | None] | None = None
    """Why our own league refuses the message with this field as it came; None if it accepts it."""

    def row(
        self, title: str, expected: str, hint: str, judge: Callable[[S, Mapping[str, Any]], StepFinding]
    ) -> CheckStep[S]:
        """Make a step; its title begins with the path of the field."""
        find_problem, path = self.find_problem, title.partition(" ")[0]
        return CheckStep(
            f"{self.kind}: {title}",
            expected,
            hint,
            lambda subject: judge(subject, self.find(subject)),
            self.severity,
            (lambda subject: find_problem(subject, path)) if find_problem else None,
        )

    def value_row(
        self, title: str, expected: str, hint: str, wanted: Callable[[S], Any], missing: StepVerdict = StepVerdict.FAIL
    ) -> CheckStep[S]:
        """Make a step on a field that must have exactly this value."""
        path = title.partition(" ")[0]
        return self.row(
            title, expected, hint, lambda subject, found: judge_value(found, path, wanted(subject), missing)
        )

    def type_row(
        self, path: str, expected: str, hint: str, kind: type = str, missing: StepVerdict = StepVerdict.FAIL
    ) -> CheckStep[S]:
        """Make a step on a field that must be present and of this type."""
        return self.row(path, expected, hint, lambda _, found: judge_type(found, path, kind, missing))

    def envelope_rows(
        self,
        role: str,
        agent_id: Callable[[S], str | None] = lambda _: None,
        own_name: Callable[[S], str | None] = lambda _: None,
        missing: StepVerdict = StepVerdict.FAIL,
    ) -> list[CheckStep[S]]:
        """Make the steps on the envelope of `league.v2`."""
        sender = f'"{role}:ID"' if role != "league_manager" else '"league_manager"'
        clock = "Set the clock of your machine, and write the time of sending, not a fixed text."
        return [
            self.value_row("protocol", f'"{PROTOCOL_V2}"', FIELD_HINTS["protocol"], lambda _: PROTOCOL_V2, missing),
            self.value_row("message_type", f'"{self.kind}"', FIELD_HINTS["message_type"], lambda _: self.kind, missing),
            self.row(
                "sender",
                sender,
                FIELD_HINTS["sender"],
                lambda subject, found: judge_sender(found, role, agent_id(subject), own_name(subject), missing),
            ),
            self.row(
                "timestamp",
                "UTC, such as 2025-01-15T10:30:00Z",
                FIELD_HINTS["timestamp"],
                lambda _, found: judge_timestamp(found, "timestamp", missing),
            ),
            self.row(
                "timestamp is about now",
                f"not more than {MAX_CLOCK_SKEW_SECONDS} s away",
                clock,
                lambda _, found: judge_clock_skew(found, "timestamp"),
            ),
        ]


def take_as_came(right: Mapping[str, Any], came: Mapping[str, Any], *paths: str) -> dict[str, Any]:
    """Return a right message with these fields as they came; those that did not come are left out."""
    message = deepcopy(dict(right))
    for path in paths:
        outer, _, name = path.rpartition(".")
        inside = get_field(message, outer) if outer else message
        inside.pop(name, None)
        if (value := get_field(came, path)) is not MISSING:
            inside[name] = value
    return message


def find_model_problem(message: Mapping[str, Any], kind: str) -> str | None:
    """Return why an agent of ours refuses a message of this type; None if it accepts it."""
    try:
        check_envelope(message, kind)
        parse_fields(v2.MESSAGES[kind], message)
    except Refusal as refusal:
        return refusal.message
    return None


def _quote_field(path: str, value: Any) -> str:
    return quote_redacted(value, name=path.rpartition(".")[2])


def _is_iso_time(text: str) -> bool:
    """Whether a text is an ISO-8601 time, so that only its time zone is wrong."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
