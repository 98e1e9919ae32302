"""Transcripts against the schemas: what counts as a message, which of them are valid, and the figure."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agent_league.check.transcript_check import validate_transcripts
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import play_in_process
from agent_league.protocol.schemas import build_message_schema, build_message_schemas_v1
from agent_league.protocol.v2 import MESSAGES
from agent_league.testing.peers import Script, always_reply, never_reply, reply_garbage
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from agent_league.text import redact_tokens
from tests.conftest import PlanMaker
from tests.protocol.examples import EXAMPLES, GOLDEN, Example, name_of
from tests.referee.hall import LEAGUE, hall

OF_V1 = [
    Example(path.name, {}, json.loads(path.read_text("utf-8")))
    for path in sorted((GOLDEN / "league.v1").glob("[A-Z]*.json"))
]
CHOICE: dict[str, Any] = next(e.message for e in EXAMPLES if e.message_type == "CHOOSE_PARITY_RESPONSE")
ERROR: dict[str, Any] = next(e.message for e in EXAMPLES if e.message_type == "LEAGUE_ERROR")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record.json"


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def transcript(*lines: Mapping[str, Any]) -> dict[str, Any]:
    return {"match_id": "R1M1", "transcript": list(lines)}


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_the_examples_of_the_seeds_are_valid(example: Example) -> None:
    report = validate_transcripts(GOLDEN / "league.v2" / example.name)
    assert report.format_lines() == ["100% of messages valid (1 of 1): 1 without a direction"]
    assert report.exit_code == 0


@pytest.mark.parametrize("example", OF_V1, ids=name_of)
def test_the_examples_of_league_v1_are_valid_by_its_own_models(example: Example) -> None:
    report = validate_transcripts(GOLDEN / "league.v1" / example.name)
    assert report.format_lines() == ["100% of messages valid (1 of 1): 1 without a direction"]


def test_in_league_v1_ids_are_uuids_and_moves_may_be_called_plays(record: Path) -> None:
    response = next(example.message for example in OF_V1 if example.message_type == "PLAY_RESPONSE")
    assert validate_transcripts(write(record, [{**response, "message_type": "MOVE_RESPONSE"}])).exit_code == 0
    (wrong,) = validate_transcripts(write(record, [{**response, "league_id": "league_2025"}])).invalid
    assert (wrong.field, wrong.came) == ("league_id", "'league_2025'")
    assert wrong.expected.startswith("a UUID")


def spoilt(message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The message without each of its fields, and with an array in place of each."""
    for name in message:
        yield name, {other: value for other, value in message.items() if other != name}
        yield name, {**message, name: [[]]}


@pytest.mark.parametrize("example", [*EXAMPLES, *OF_V1], ids=name_of)
def test_a_message_is_invalid_where_the_schema_of_what_we_accept_says_so(example: Example, record: Path) -> None:
    is_v2 = example in EXAMPLES
    schema = (
        build_message_schema(MESSAGES[example.message_type])
        if is_v2
        else build_message_schemas_v1()[example.message_type]
    )
    validator = jsonschema.validators.validator_for(schema)(schema)
    refused = 0
    for name, message in spoilt(example.message):
        found = validate_transcripts(write(record, [message])).invalid
        assert (not found) == validator.is_valid(message), f"{name} in {message}"
        if found:
            refused += 1
            assert found[0].field.startswith(name)
    assert refused > 5


async def test_all_messages_of_a_league_of_ours_are_valid(home: Path, plan: PlanMaker) -> None:
    await play_in_process(plan(players=4, referees=2, seed="7"), MemoryNetwork())
    report = validate_transcripts(home)
    assert report.format_lines() == ["100% of messages valid (60 of 60): 36 sent, 24 received"]
    assert (report.file_count, report.exit_code) == (6, 0)
    assert validate_transcripts(home / "data" / "matches" / LEAGUE / "R1M1.json").message_count == 10


def played(home: Path, **scripts: Script) -> Path:
    """The file of a match in which P02 answers by these scripts."""

    @in_virtual_time
    async def play() -> None:
        async with hall(home, clock=VirtualClock()) as match:
            match.pair(b=scripts)
            await match.play()

    play()
    return home / "data" / "matches" / LEAGUE / "R1M1.json"


def test_a_wrong_answer_is_named_with_its_entry_its_field_and_what_was_expected(home: Path) -> None:
    path = played(home, choose_parity=always_reply({**CHOICE, "parity_choice": "ODD"}))
    report = validate_transcripts(path)
    lines = [
        number
        for number, line in enumerate(json.loads(path.read_text())["transcript"], 1)
        if line["direction"] == "failed"
    ]
    assert len(lines) == 3
    first, *others = report.format_lines()
    valid = f"{report.valid_percent:g}% of messages valid ({report.message_count - 3} of {report.message_count})"
    assert first == f"{valid}; invalid: 0 sent, 3 received"
    assert others == [
        f"  {path} entry {line} of the transcript, received CHOOSE_PARITY_RESPONSE: parity_choice: "
        "expected 'even' or 'odd', came 'ODD'"
        for line in lines
    ]
    assert report.exit_code == 1


def test_an_answer_that_was_tolerated_is_invalid_all_the_same(home: Path) -> None:
    report = validate_transcripts(played(home, choose_parity=always_reply({"choice": "odd"})))
    assert [(message.direction, message.field) for message in report.invalid] == [("received", "protocol")]


def test_answers_that_are_no_messages_are_invalid(home: Path) -> None:
    report = validate_transcripts(played(home, choose_parity=reply_garbage))
    found = [(message.direction, message.field, message.expected) for message in report.invalid]
    assert found == [("received", "message", "an object")] * 3


def test_answers_that_never_came_are_no_messages(home: Path) -> None:
    report = validate_transcripts(played(home, handle_game_invitation=never_reply))
    assert (report.exit_code, report.direction_counts["received"]) == (0, 1)


@pytest.mark.parametrize("error_code", ["E012", None])
def test_a_refusal_counts_as_the_message_that_it_is(home: Path, error_code: str | None) -> None:
    report = validate_transcripts(
        played(home, handle_game_invitation=always_reply({**ERROR, "error_code": error_code}))
    )
    wrong = {(message.message_type, message.field) for message in report.invalid}
    assert report.direction_counts["received"] > 1
    assert wrong == (set() if error_code else {("LEAGUE_ERROR", "error_code")})


def test_what_was_too_long_to_be_kept_is_not_judged_and_that_is_said(home: Path) -> None:
    report = validate_transcripts(
        played(home, choose_parity=always_reply({**CHOICE, "parity_choice": "odd", "extra": "x" * 20_000}))
    )
    assert (report.cut_count, report.exit_code) == (1, 0)
    assert report.format_lines()[1] == "Not counted: 1 that were too long to be kept whole."


@pytest.mark.parametrize("struck", ["[redacted]", "***"])
def test_a_secret_that_was_struck_out_counts_as_one(record: Path, struck: str) -> None:
    for example in EXAMPLES:
        message = {**example.message, "auth_token": struck, "application_key": struck}
        assert validate_transcripts(write(record, [message])).exit_code == 0, example.name
    request = next(e.message for e in EXAMPLES if e.message_type == "LEAGUE_REGISTER_REQUEST")
    assert validate_transcripts(write(record, [redact_tokens({**request, "application_key": "k" * 16})])).exit_code == 0
    assert validate_transcripts(write(record, [{**request, "application_key": "short"}])).exit_code == 1


BAD = {**CHOICE, "parity_choice": 7}
FRAME = {"jsonrpc": "2.0", "id": 1}
FORMS: dict[str, tuple[Any, int]] = {
    "one message": (BAD, 1),
    "one line": ({"message": BAD}, 1),
    "messages": ([CHOICE, BAD], 2),
    "messages in lines": ([{"message": CHOICE}, {"at": "2025-01-15T10:30:00Z", "message": BAD}], 2),
    "sent and received": ([{"direction": "sent", "message": CHOICE}, {"direction": "received", "message": BAD}], 2),
    "a match file": (transcript({"direction": "drawn", "outcome": 3}, {"direction": "failed", "message": BAD}), 1),
    "requests": ([{**FRAME, "method": "choose_parity", "params": BAD}], 1),
    "replies": ([{**FRAME, "result": CHOICE}, {**FRAME, "result": BAD}], 2),
    "one method": ([{**FRAME, "method": "handle_message", "params": {"message": BAD}}], 1),
    "tools": ([{**FRAME, "method": "tools/call", "params": {"name": "x", "arguments": BAD}}], 1),
    "structured content": ([{**FRAME, "result": {"structuredContent": BAD}}], 1),
    "content": ([{**FRAME, "result": {"content": [{"type": "text", "text": json.dumps(BAD)}]}}], 1),
    "acknowledgements": ([BAD, {"status": "ok"}, {**FRAME, "result": {"status": "ok"}}, {**FRAME, "error": {}}], 1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("as_lines", [False, True])
def test_a_message_is_found_in_whatever_form_it_was_kept(record: Path, form: str, as_lines: bool) -> None:
    content, count = FORMS[form]
    write(record, content)
    if as_lines and isinstance(content, list):
        record.write_text("\n\n".join(json.dumps(line) for line in content))
    report = validate_transcripts(record)
    assert report.message_count == count
    (wrong,) = report.invalid
    assert (wrong.message_type, wrong.field) == ("CHOOSE_PARITY_RESPONSE", "parity_choice")
    assert (wrong.expected, wrong.came) == ("'even' or 'odd'", "7")


def test_sent_and_received_are_told_apart(record: Path) -> None:
    lines = [("sent", CHOICE), ("sent", BAD), ("received", BAD), ("failed", BAD), ("elsewhere", BAD)]
    report = validate_transcripts(write(record, [{"direction": way, "message": message} for way, message in lines]))
    assert (
        report.format_lines()[0] == "20% of messages valid (1 of 5); invalid: 1 sent, 2 received, 1 without a direction"
    )
    told = report.to_json()
    assert told["directions"] == {"sent": 2, "received": 2, "without a direction": 1}
    assert told["invalid_directions"] == {"sent": 1, "received": 2, "without a direction": 1}


@pytest.mark.parametrize(
    ("change", "field", "expected", "came"),
    [
        ({"protocol": None}, "protocol", "league.v2 or league.v1", "nothing"),
        ({"protocol": "league.v3"}, "protocol", "league.v2 or league.v1", "'league.v3'"),
        ({"message_type": "GAME_OF_LIFE"}, "message_type", "a type of message of league.v2", "'GAME_OF_LIFE'"),
        ({"sender": None, "timestamp": None}, "sender, timestamp", "a value", "nothing"),
        ({"sender": "P01"}, "sender", "'league_manager', 'referee:ID' or 'player:ID'", "'P01'"),
        (
            {"timestamp": "2025-01-15T10:30:00+02:00"},
            "timestamp",
            "2025-01-15T10:30:00Z",
            "'2025-01-15T10:30:00+02:00'",
        ),
        ({"arrival_timestamp": "noon"}, "arrival_timestamp", "2025-01-15T10:30:00Z", "'noon'"),
        ({"auth_token": ["secret"]}, "auth_token", "a string", "'(list)'"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_expected_and_what_came(
    record: Path, change: dict[str, Any], field: str, expected: str, came: str
) -> None:
    (wrong,) = validate_transcripts(write(record, [{**CHOICE, **change}])).invalid
    assert (wrong.field, wrong.expected, wrong.came) == (field, expected, came)


def test_a_spoilt_line_is_an_invalid_message_among_the_others(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_text(f"{json.dumps(CHOICE)}\n{json.dumps(CHOICE)[:50]}\n{json.dumps(CHOICE)}\n")
    report = validate_transcripts(path)
    assert report.format_lines() == [
        "66.6% of messages valid (2 of 3); invalid: 1 without a direction",
        f"  {path} line 2, message: message: expected an object, came something that is not JSON",
    ]


def test_twenty_invalid_messages_are_shown_and_the_others_counted(record: Path) -> None:
    report = validate_transcripts(write(record, [BAD] * 23))
    assert len(report.format_lines()) == 22
    assert report.format_lines()[-1] == "  and 3 more"
    assert len(report.to_json()["invalid"]) == 23


def test_only_what_is_whole_is_100_percent(record: Path) -> None:
    report = validate_transcripts(write(record, [CHOICE] * 1999 + [BAD]))
    assert report.format_lines()[0].startswith("99.9% of messages valid (1999 of 2000)")


def test_as_json_there_is_everything(record: Path) -> None:
    told = json.loads(json.dumps(validate_transcripts(write(record, [CHOICE, BAD])).to_json()))
    assert (told["ok"], told["percent_valid"], told["messages"], told["valid"]) == (False, 50.0, 2, 1)
    assert told["invalid"] == [
        {
            "file": str(record),
            "line": 2,
            "direction": None,
            "message_type": "CHOOSE_PARITY_RESPONSE",
            "field": "parity_choice",
            "expected": "'even' or 'odd'",
            "came": "7",
        }
    ]


def test_of_a_folder_all_files_are_judged_that_are_whole(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner" / "R1M1.json", transcript({"direction": "sent", "message": CHOICE}))
    (tmp_path / "more.jsonl").write_text(json.dumps(CHOICE))
    (tmp_path / ".R1M2.json").write_text("half")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "folder.json").mkdir()
    write(tmp_path / "standings.json", {"league_id": "l", "standings": []})
    report = validate_transcripts(tmp_path)
    assert report.format_lines() == [
        "100% of messages valid (2 of 2): 1 sent, 1 without a direction",
        f"No messages in: {tmp_path / 'standings.json'}",
    ]
    assert report.exit_code == 0


def test_of_a_shared_folder_only_the_matches_count(home: Path) -> None:
    path = played(home)
    write(home / "data" / "players.json", BAD)
    report = validate_transcripts(home)
    assert (report.exit_code, report.message_count) == (0, validate_transcripts(path).message_count)


NOTHING = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "null": b"null",
    "a number": b"1e400",
    "too deep to read": b"[" * 100_000,
    "another file": b'{"schema_version": "1.0.0", "standings": []}',
    "a match that was rebuilt": b'{"rebuilt": true, "match_id": "R1M1", "result": {}}',
    "a match without a word": b'{"transcript": [{"direction": "drawn", "outcome": 3}]}',
}


@pytest.mark.parametrize("name", NOTHING)
def test_where_there_is_nothing_to_judge_the_exit_code_is_2(record: Path, name: str) -> None:
    record.write_bytes(NOTHING[name])
    report = validate_transcripts(record)
    assert report.exit_code == 2
    first, second = report.format_lines()
    assert first == f"No messages to judge in {record}."
    assert str(record) in second


def test_a_file_that_is_not_there_and_an_empty_folder_have_exit_code_2(tmp_path: Path) -> None:
    missing = validate_transcripts(tmp_path / "R9M9.json")
    assert missing.exit_code == 2
    assert missing.format_lines()[1] == f"{tmp_path / 'R9M9.json'}: can't be read: No such file or directory"
    empty = validate_transcripts(tmp_path)
    assert (empty.exit_code, empty.format_lines()) == (2, [f"No messages to judge in {tmp_path}."])


def test_an_invalid_message_outweighs_a_file_that_can_not_be_read_and_that_outweighs_a_valid_one(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.json", [CHOICE])
    assert validate_transcripts(tmp_path).exit_code == 0
    (tmp_path / "b.json").write_text("{")
    assert validate_transcripts(tmp_path).exit_code == 2
    write(tmp_path / "c.json", [BAD])
    assert validate_transcripts(tmp_path).exit_code == 1


NASTY: dict[str, Any] = {
    "no objects": [1, None, "x", [], True],
    "no message": [{}, {"message": 5}, {"message": {}}, {"direction": 3, "message": []}],
    "strange types": [{"message_type": 5, "protocol": "league.v2"}, {"message_type": ["x"], "protocol": ["x"]}],
    "strange lines": transcript({"direction": ["sent"], "message": {"message_type": None}}),
    "strange frames": [{"jsonrpc": "2.0", "params": {"message": {"message_type": {}}}}],
}


@pytest.mark.parametrize("name", NASTY)
def test_whatever_stands_there_is_an_invalid_message_and_no_error(record: Path, name: str) -> None:
    report = validate_transcripts(write(record, NASTY[name]))
    assert report.exit_code == 1
    assert report.valid_count == 0


def test_nothing_in_a_file_reaches_the_terminal_as_a_command(record: Path) -> None:
    nasty = "\x1b[2J\u202e"
    report = validate_transcripts(
        write(record, [{**CHOICE, "message_type": nasty}, {**CHOICE, "parity_choice": nasty}])
    )
    assert len(report.invalid) == 2
    assert all(line.isprintable() for line in report.format_lines())
    assert "\\x1b[2J\\u202e" in "".join(report.format_lines())
