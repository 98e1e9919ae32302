"""Validate transcripts: every message against the model of its type and protocol.

Reads match files, folders of them, and plain lists of messages. Whether a match was played by the rules is judged by
`referee.verify`; here only the form of each message is.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from agent_league.config.home import is_home
from agent_league.errors import Refusal
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import (
    check_envelope,
    check_timestamp,
    describe_value,
    parse_fields,
    wrong_type_refusal,
)
from agent_league.protocol.tolerance import find_candidates
from agent_league.protocol.v1.checks import check_v1_envelope
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.storage.match_segments import list_match_paths, read_match_bytes
from agent_league.text import REDACTED, SECRET_FIELDS, to_printable

DIRECTIONS = {"sent": "sent", "received": "received", "failed": "received"}
"""Direction in a line of a transcript -> direction in the report."""
REDACTED_VALUE = re.compile(rf"{re.escape(REDACTED)}|\*+")
DUMMY_SECRET = "x" * 32
"""A valid value for a secret that was redacted in the transcript."""
CUT_FIELD = "cut_from_bytes"
"""The field that marks an answer that was too long and cut in the transcript."""
MESSAGE_FIELDS = frozenset({"message_type", "protocol", "message", "jsonrpc"})
"""A JSON object with none of these is no message: a table, settings, a match that was rebuilt from the database."""
TIME_FIELDS = ("arrival_timestamp", "deadline")
"""Fields with a time, beside `timestamp`."""
NOT_JSON = object()
MAX_SHOWN_MESSAGES = 20
"""Invalid messages that the terminal shows."""


@dataclass(frozen=True, slots=True)
class InvalidMessage:
    """An invalid message: its place, and the first thing that is wrong; the field names are keys of the JSON report."""

    file: str
    line: int
    """Number of the line in the file, or of the entry in a transcript or list."""
    direction: str | None
    message_type: str | None
    field: str
    expected: str
    came: str
    place: str = "line {}"
    """Format of the place in the file; takes the number."""

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.direction, self.message_type or "message")))
        where = f"{self.file} {self.place.format(self.line)}"
        return f"{where}, {what}: {self.field}: expected {self.expected}, came {self.came}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "place"}


@dataclass(slots=True)
class TranscriptReport:
    """The result of validating a file or folder."""

    path: str
    file_count: int = 0
    """Files with messages in them."""
    direction_counts: Counter[str | None] = field(default_factory=Counter)
    """Messages by direction; None if the transcript doesn't say it."""
    invalid: list[InvalidMessage] = field(default_factory=list)
    cut_count: int = 0
    """Answers that were cut in the transcript: they can't be validated and aren't counted as messages."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """File -> why."""
    without_messages: list[str] = field(default_factory=list)

    @property
    def message_count(self) -> int:
        return self.direction_counts.total()

    @property
    def valid_count(self) -> int:
        return self.message_count - len(self.invalid)

    @property
    def valid_percent(self) -> float:
        """Percentage of valid messages, rounded down: 100 only if all are valid."""
        return math.floor(self.valid_count * 1000 / self.message_count) / 10 if self.message_count else 0.0

    @property
    def exit_code(self) -> int:
        """0: all valid. 1: some are invalid. 2: there are no messages, or a file can't be read."""
        if self.invalid:
            return 1
        return 2 if self.unreadable or not self.message_count else 0

    @property
    def invalid_counts(self) -> Counter[str | None]:
        return Counter(message.direction for message in self.invalid)

    def format_lines(self) -> list[str]:
        """The report for a terminal."""
        lines = [self._format_headline()] if self.message_count else [f"No messages to judge in {self.path}."]
        lines += [f"  {message}" for message in self.invalid[:MAX_SHOWN_MESSAGES]]
        if (more := len(self.invalid) - MAX_SHOWN_MESSAGES) > 0:
            lines.append(f"  and {more} more")
        if self.cut_count:
            lines.append(f"Not counted: {self.cut_count} that were too long to be kept whole.")
        lines += [f"{file}: {why}" for file, why in self.unreadable.items()]
        if self.without_messages:
            lines.append(f"No messages in: {', '.join(self.without_messages)}")
        return [to_printable(line) for line in lines]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.exit_code == 0,
            "percent_valid": self.valid_percent,
            "messages": self.message_count,
            "valid": self.valid_count,
            "directions": _list_directions(self.direction_counts),
            "invalid_directions": _list_directions(self.invalid_counts),
            "invalid": [message.to_json() for message in self.invalid],
            "cut": self.cut_count,
            "files": self.file_count,
            "unreadable": self.unreadable,
            "without_messages": self.without_messages,
        }

    def _format_headline(self) -> str:
        figure = f"{self.valid_percent:g}% of messages valid ({self.valid_count} of {self.message_count})"
        counts, what = (self.invalid_counts, "; invalid") if self.invalid else (self.direction_counts, "")
        ways = [f"{count} {way}" for way, count in _list_directions(counts).items() if count or not counts[None]]
        return f"{figure}{what}: {', '.join(ways)}"


def _list_directions(counts: Counter[str | None]) -> dict[str, int]:
    unknown = {"without a direction": counts[None]} if counts[None] else {}
    return {"sent": counts["sent"], "received": counts["received"], **unknown}


def validate_transcripts(path: Path) -> TranscriptReport:
    """Validate every message in a file or in all files of a folder; of a SHARED folder, in its match files."""
    report = TranscriptReport(str(path))
    for file in _list_files(path):
        _judge_file(file, report)
    return report


def _find_problem(message: Any) -> tuple[str, str, str] | None:
    """Return the first problem of a message: field, what was expected and what came; None if it is valid."""
    if not isinstance(message, dict):
        return ("message", "an object", _describe_value(message))
    protocol, message_type = message.get("protocol"), message.get("message_type")
    if not isinstance(protocol, str) or protocol not in (PROTOCOL_V1, PROTOCOL_V2):
        return ("protocol", f"{PROTOCOL_V2} or {PROTOCOL_V1}", _describe_value(protocol))
    try:
        _check_message(protocol, message_type, _fill_redacted(message))
    except Refusal as refusal:
        return _describe_refusal(refusal.context)
    return None


def _list_files(path: Path) -> list[Path]:
    """List the files to read; hidden ones are skipped, because they are half-written."""
    if not path.is_dir():
        return [path]
    folder = path / "data" / "matches" if is_home(path) else path
    files = {file for file in folder.rglob("[!.]*") if file.suffix in (".json", ".jsonl") and file.is_file()}
    return sorted(files.union(list_match_paths(folder)))


def _judge_file(path: Path, report: TranscriptReport) -> None:
    try:
        entries, place = _read_entries(read_match_bytes(path))
    except OSError as error:
        report.unreadable[str(path)] = f"can't be read: {error.strerror}"
        return
    except orjson.JSONDecodeError as error:
        report.unreadable[str(path)] = f"neither JSON nor lines of JSON: {error}"
        return
    before = report.message_count + report.cut_count
    for number, entry in entries:
        _judge_entry(entry, str(path), number, place, report)
    if report.message_count + report.cut_count > before:
        report.file_count += 1
    else:
        report.without_messages.append(str(path))


def _read_entries(content: bytes) -> tuple[Iterable[tuple[int, Any]], str]:
    """Return numbered entries of a file (transcript, list, JSON lines or one message), and a format for their place."""
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _parse_json_lines(content), "line {}"
    if isinstance(found, list):
        return enumerate(found, 1), "entry {} of the list"
    if isinstance(found, dict) and isinstance(found.get("transcript"), list):
        return enumerate(found["transcript"], 1), "entry {} of the transcript"
    return [(1, found)] if isinstance(found, dict) and MESSAGE_FIELDS & set(found) else (), "line {}"


def _parse_json_lines(content: bytes) -> list[tuple[int, Any]]:
    """Parse JSON lines; a broken line is NOT_JSON. Raises JSONDecodeError if all lines are broken."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    found = [(number, _parse_line(line)) for number, line in lines]
    if all(value is NOT_JSON for _, value in found):
        orjson.loads(content)  # raises: there is no JSON here
    return found


def _parse_line(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return NOT_JSON


def _judge_entry(entry: Any, file: str, number: int, place: str, report: TranscriptReport) -> None:
    message, direction = entry, None
    if isinstance(entry, dict) and "message_type" not in entry and "direction" in entry:
        direction = DIRECTIONS.get(str(entry["direction"]))
        message = entry.get("message")
        if message is None:  # the referee's draw, or a call without an answer
            return
    elif isinstance(entry, dict) and "message_type" not in entry and isinstance(entry.get("message"), dict):
        message = entry["message"]
    if isinstance(message, dict) and CUT_FIELD in message:
        report.cut_count += 1
        return
    for one in _find_messages(message):
        report.direction_counts[direction] += 1
        if found := _find_problem(one):
            message_type = one.get("message_type") if isinstance(one, dict) else None
            name = describe_value(message_type) if isinstance(message_type, str) else None
            report.invalid.append(InvalidMessage(file, number, direction, name, *found, place))


def _find_messages(value: Any) -> Iterator[Any]:
    """Yield the league message in an entry, in whatever frame; nothing for JSON-RPC errors and acknowledgements."""
    if not isinstance(value, dict) or "message_type" in value:
        yield value
        return
    params = value.get("params")
    places = [*(found for _, found in find_candidates(value)), *_get_objects(params, "message", "arguments")]
    if found := next((place for place in places if "message_type" in place), None):
        yield found
    elif "jsonrpc" not in value and set(value) != {"status"}:
        yield value


def _get_objects(value: Any, *names: str) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [part for name in names if isinstance(part := value.get(name), dict)]


def _check_message(protocol: str, message_type: Any, message: dict[str, Any]) -> None:
    """Raise a Refusal unless the message is valid for its type."""
    if protocol == PROTOCOL_V1:
        parse_fields(v1.MESSAGES[check_v1_envelope(message)], message)
        return
    model = v2.MESSAGES.get(message_type) if isinstance(message_type, str) else None
    if model is None:
        raise wrong_type_refusal("message_type", f"a type of message of {PROTOCOL_V2}", message_type)
    may_lack = {} if model.model_fields["conversation_id"].is_required() else {"conversation_id": DUMMY_SECRET}
    given = {name: value for name, value in message.items() if value is not None}
    check_envelope({**may_lack, **given}, model.TYPE)
    parse_fields(model, message)
    for name in TIME_FIELDS:
        if isinstance(message.get(name), str):
            check_timestamp(message[name], name)


def _fill_redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message with redacted secrets replaced by a valid value."""
    struck = (name for name in SECRET_FIELDS if REDACTED_VALUE.fullmatch(str(message.get(name))))
    return {**message, **dict.fromkeys(struck, DUMMY_SECRET)}


def _describe_refusal(context: Mapping[str, Any]) -> tuple[str, str, str]:
    if "missing_fields" in context:
        return (", ".join(context["missing_fields"]), "a value", "nothing")
    expected = str(context["expected"]).removeprefix("Input should be ").removeprefix("Value error, expected ")
    return (str(context["field"]), expected, _describe_value(context["received"]))


def _describe_value(value: Any) -> str:
    if value is NOT_JSON:
        return "something that is not JSON"
    return "nothing" if value is None else repr(describe_value(value))
