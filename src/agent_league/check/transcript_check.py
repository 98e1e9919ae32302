"""Validate transcripts: every message against the model of its type and protocol.

Reads match files, folders of them, and plain lists of messages. Whether a match was played by the rules is judged by
`referee.verify`; here only the form of each message is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from agent_league.check.transcript_report import InvalidMessage, RecordReport
from agent_league.config.home import is_home
from agent_league.errors import Refusal
from agent_league.log import REDACTED, SECRET_FIELDS
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import check_envelope, check_timestamp, read_fields, shown, wrong_type
from agent_league.protocol.tolerance import candidates
from agent_league.protocol.v1.checks import check_envelope as check_v1_envelope
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

DIRECTIONS = {"sent": "sent", "received": "received", "failed": "received"}
"""Direction in a line of a transcript -> direction in the report."""
STRUCK_OUT = re.compile(rf"{re.escape(REDACTED)}|\*+")
STAND_IN = "x" * 32
"""A valid value for a secret that was redacted in the transcript."""
CUT = "cut_from_bytes"
"""The field that marks an answer that was too long and cut in the transcript."""
SAYS_SOMETHING = frozenset({"message_type", "protocol", "message", "jsonrpc"})
"""A JSON object with none of these is no message: a table, settings, a match that was rebuilt from the database."""
MOMENTS = ("arrival_timestamp", "deadline")
"""Fields with a time, beside `timestamp`."""
NOT_JSON = object()


def validate_record(path: Path) -> RecordReport:
    """Validate every message in a file or in all files of a folder; of a SHARED folder, in its match files."""
    report = RecordReport(str(path))
    for file in _files(path):
        _judge_file(file, report)
    return report


def _problem(message: Any) -> tuple[str, str, str] | None:
    """Return the first problem of a message: field, what was expected and what came; None if it is valid."""
    if not isinstance(message, dict):
        return ("message", "an object", _came(message))
    protocol, message_type = message.get("protocol"), message.get("message_type")
    if not isinstance(protocol, str) or protocol not in (PROTOCOL_V1, PROTOCOL_V2):
        return ("protocol", f"{PROTOCOL_V2} or {PROTOCOL_V1}", _came(protocol))
    try:
        _check(protocol, message_type, _with_secrets(message))
    except Refusal as refusal:
        return _flaw(refusal.context)
    return None


def _files(path: Path) -> list[Path]:
    """List the files to read; hidden ones are skipped, because they are half-written."""
    if not path.is_dir():
        return [path]
    folder = path / "data" / "matches" if is_home(path) else path
    return sorted(file for file in folder.rglob("[!.]*") if file.suffix in (".json", ".jsonl") and file.is_file())


def _judge_file(path: Path, report: RecordReport) -> None:
    try:
        entries, place = _entries(path.read_bytes())
    except OSError as error:
        report.unreadable[str(path)] = f"can't be read: {error.strerror}"
        return
    except orjson.JSONDecodeError as error:
        report.unreadable[str(path)] = f"neither JSON nor lines of JSON: {error}"
        return
    before = report.messages + report.cut
    for number, entry in entries:
        _judge(entry, str(path), number, place, report)
    if report.messages + report.cut > before:
        report.files += 1
    else:
        report.without_messages.append(str(path))


def _entries(content: bytes) -> tuple[Iterable[tuple[int, Any]], str]:
    """Return numbered entries of a file (transcript, list, JSON lines or one message), and a format for their place."""
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _json_lines(content), "line {}"
    if isinstance(found, list):
        return enumerate(found, 1), "entry {} of the list"
    if isinstance(found, dict) and isinstance(found.get("transcript"), list):
        return enumerate(found["transcript"], 1), "entry {} of the transcript"
    return [(1, found)] if isinstance(found, dict) and SAYS_SOMETHING & set(found) else (), "line {}"


def _json_lines(content: bytes) -> list[tuple[int, Any]]:
    """Parse JSON lines; a broken line is NOT_JSON. Raises JSONDecodeError if all lines are broken."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    found = [(number, _loaded(line)) for number, line in lines]
    if all(value is NOT_JSON for _, value in found):
        orjson.loads(content)  # raises: there is no JSON here
    return found


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return NOT_JSON


def _judge(entry: Any, file: str, number: int, place: str, report: RecordReport) -> None:
    message, direction = entry, None
    if isinstance(entry, dict) and "message_type" not in entry and "direction" in entry:
        direction = DIRECTIONS.get(str(entry["direction"]))
        message = entry.get("message")
        if message is None:  # the referee's draw, or a call without an answer
            return
    elif isinstance(entry, dict) and "message_type" not in entry and isinstance(entry.get("message"), dict):
        message = entry["message"]
    if isinstance(message, dict) and CUT in message:
        report.cut += 1
        return
    for one in _messages_in(message):
        report.counts[direction] += 1
        if found := _problem(one):
            message_type = one.get("message_type") if isinstance(one, dict) else None
            name = shown(message_type) if isinstance(message_type, str) else None
            report.invalid.append(InvalidMessage(file, number, direction, name, *found, place))


def _messages_in(value: Any) -> Iterator[Any]:
    """Yield the league message in an entry, in whatever frame; nothing for JSON-RPC errors and acknowledgements."""
    if not isinstance(value, dict) or "message_type" in value:
        yield value
        return
    params = value.get("params")
    places = [*(found for _, found in candidates(value)), *_parts(params, "message", "arguments")]
    if found := next((place for place in places if "message_type" in place), None):
        yield found
    elif "jsonrpc" not in value and set(value) != {"status"}:
        yield value


def _parts(value: Any, *names: str) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [part for name in names if isinstance(part := value.get(name), dict)]


def _check(protocol: str, message_type: Any, message: dict[str, Any]) -> None:
    """Raise a Refusal unless the message is valid for its type."""
    if protocol == PROTOCOL_V1:
        read_fields(v1.MESSAGES[check_v1_envelope(message)], message)
        return
    model = v2.MESSAGES.get(message_type) if isinstance(message_type, str) else None
    if model is None:
        raise wrong_type("message_type", f"a type of message of {PROTOCOL_V2}", message_type)
    may_lack = {} if model.model_fields["conversation_id"].is_required() else {"conversation_id": STAND_IN}
    given = {name: value for name, value in message.items() if value is not None}
    check_envelope({**may_lack, **given}, model.TYPE)
    read_fields(model, message)
    for name in MOMENTS:
        if isinstance(message.get(name), str):
            check_timestamp(message[name], name)


def _with_secrets(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message with redacted secrets replaced by a valid value."""
    struck = (name for name in SECRET_FIELDS if STRUCK_OUT.fullmatch(str(message.get(name))))
    return {**message, **dict.fromkeys(struck, STAND_IN)}


def _flaw(context: Mapping[str, Any]) -> tuple[str, str, str]:
    if "missing_fields" in context:
        return (", ".join(context["missing_fields"]), "a value", "nothing")
    expected = str(context["expected"]).removeprefix("Input should be ").removeprefix("Value error, expected ")
    return (str(context["field"]), expected, _came(context["received"]))


def _came(value: Any) -> str:
    if value is NOT_JSON:
        return "something that is not JSON"
    return "nothing" if value is None else repr(shown(value))
