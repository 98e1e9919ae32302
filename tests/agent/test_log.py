"""The log: JSON lines at the seeds' paths, and never a token."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.clock import parse_utc
from agent_league.log import FLUSH_SECONDS, JsonLogger
from agent_league.testing.virtual_time import in_virtual_time
from agent_league.text import redact_tokens


def lines(log: JsonLogger) -> list[dict[str, Any]]:
    log.close()
    with log.log_file.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_a_line_has_time_component_event_level_and_details(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("invited", match_id="R1M1", round_id=1)
    (line,) = lines(log)
    assert parse_utc(line.pop("timestamp"))
    assert 0 <= line.pop("microsecond") < 1_000_000
    assert line == {
        "component": "P01",
        "event_type": "invited",
        "level": "INFO",
        "match_id": "R1M1",
        "round_id": 1,
    }


def test_the_log_of_a_league_and_that_of_an_agent_lie_where_the_seeds_say(tmp_path: Path) -> None:
    league = JsonLogger("league", "league_2025_even_odd", tmp_path)
    agent = JsonLogger("REF01", log_root=tmp_path)
    system = JsonLogger("orchestrator", log_root=tmp_path, folder="system")
    assert league.log_file == tmp_path / "league" / "league_2025_even_odd" / "league.log.jsonl"
    assert agent.log_file == tmp_path / "agents" / "REF01.log.jsonl"
    assert system.log_file == tmp_path / "system" / "orchestrator.log.jsonl"


def test_nothing_is_made_before_the_first_line(tmp_path: Path) -> None:
    JsonLogger("P01", log_root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_line_is_on_disk_at_once(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    for count in (1, 2, 3):
        log.info("event")
        assert len(log.log_file.read_text("utf-8").splitlines()) == count
    log.close()


def test_a_log_is_continued_and_not_begun_anew(tmp_path: Path) -> None:
    for _ in range(2):
        log = JsonLogger("P01", log_root=tmp_path)
        log.info("started")
        log.close()
    assert len(lines(log)) == 2


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("DEBUG", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        ("INFO", ["INFO", "WARNING", "ERROR"]),
        ("WARNING", ["WARNING", "ERROR"]),
        ("ERROR", ["ERROR"]),
    ],
)
def test_only_lines_of_the_level_and_above_are_written(tmp_path: Path, level: str, written: list[str]) -> None:
    log = JsonLogger("P01", log_root=tmp_path, level=level)
    log.debug("event")
    log.info("event")
    log.warning("event")
    log.error("event")
    assert [line["level"] for line in lines(log)] == written


TOKEN = "tok-p01-0123456789abcdef"


@pytest.mark.parametrize(
    "details",
    [
        {"auth_token": TOKEN},
        {"match_token": TOKEN},
        {"admin_token": TOKEN},
        {"token": TOKEN},
        {"application_key": TOKEN},
        {"message": {"auth_token": TOKEN}},
        {"messages": [{"a": [{"b": ({"auth_token": TOKEN},)}]}]},
        {"message": {"auth_token": [TOKEN]}},
        {"message": {"auth_token": {"value": TOKEN}}},
    ],
)
def test_a_token_is_left_out_at_any_depth(tmp_path: Path, details: dict[str, Any]) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("said", **details)
    log.close()
    text = log.log_file.read_text("utf-8")
    assert TOKEN not in text
    assert "[redacted]" in text


SIGNED = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJSMU0xIn0.c2lnbmF0dXJl_-"


@pytest.mark.parametrize("field", ["AUTH_TOKEN", "X-TOKEN", "authToken", "Token", "MATCH_KEY", "Application-Key"])
@pytest.mark.parametrize("token", ["s3cret", TOKEN.upper()])
def test_a_token_is_known_whatever_the_case_of_its_letters(tmp_path: Path, field: str, token: str) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("said", message={field: token}, text=f'{{"{field}": "{TOKEN.upper()}"}}')
    log.info("said", message={"note": TOKEN.upper()})
    log.close()
    text = log.log_file.read_text("utf-8")
    assert token not in text
    assert TOKEN.upper() not in text
    assert text.count("[redacted]") == 3


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (SIGNED, "[redacted]"),
        (f"Bearer {SIGNED}, again {SIGNED}", "Bearer [redacted], again [redacted]"),
        (f'{{"auth_token": "{SIGNED}"}}', '{"auth_token": "[redacted]"}'),
        (f"https://host/mcp?token={SIGNED}&x=1", "https://host/mcp?token=[redacted]&x=1"),
        (f"line\\n{SIGNED}\\n", "line\\n[redacted]\\n"),
        (f"ü{SIGNED}ü", "ü[redacted]ü"),
        (f"one.{SIGNED}", "one.[redacted]"),
        (f"line\\n{TOKEN}", "line\\n[redacted]"),
        ("eyJ is how it begins. So. Far.", "eyJ is how it begins. So. Far."),
        ("hey.Joe.was.here", "hey.Joe.was.here"),
    ],
)
def test_a_signed_token_is_struck_out_wherever_it_stands(text: str, left: str) -> None:
    assert redact_tokens({"a": [text]}) == {"a": [left]}
    assert redact_tokens({text: 1}) == {left: 1}


@pytest.mark.parametrize("unit", ["eyJ", "eyJ.", ".", "eyJ ", "tok-", "a"])
def test_a_long_text_is_read_once_only(unit: str) -> None:
    text = "eyJ tok-" + unit * (1_000_000 // len(unit))
    assert len(redact_tokens(text)) <= len(text)


def test_a_secret_is_known_by_its_field_whatever_it_looks_like() -> None:
    fields = ("auth_token", "match_token", "admin_token", "application_key", "token")
    assert redact_tokens(dict.fromkeys(fields, "s3cret")) == dict.fromkeys(fields, "[redacted]")


def test_a_public_key_is_no_secret() -> None:
    assert redact_tokens({"public_key": {"kty": "OKP", "x": "abc"}}) == {"public_key": {"kty": "OKP", "x": "abc"}}


def test_what_is_redacted_stays_the_same_otherwise() -> None:
    message = {"auth_token": None, "player_id": "P01", "choices": {"P01": "even"}, "list": [1, (2, 3)], "n": None}
    assert redact_tokens(message) == {**message, "list": [1, [2, 3]]}


def test_the_original_keeps_its_token() -> None:
    message = {"inner": {"auth_token": TOKEN}}
    redact_tokens(message)
    assert message == {"inner": {"auth_token": TOKEN}}


def test_things_that_json_does_not_know_are_written_as_text(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    moment = datetime(2025, 1, 15, tzinfo=UTC)
    log.info("event", path=Path("a/b"), moment=moment, error=ValueError("x"), keys={1: "one"}, text="ä\n\u2028")
    (line,) = lines(log)
    assert line["path"] == "a/b"
    assert line["error"] == "x"
    assert line["keys"] == {"1": "one"}
    assert line["text"] == "ä\n\u2028"
    assert parse_utc(line["moment"]) == moment


@pytest.mark.parametrize("odd", [2**70, "\ud800", {"deep": 2**70}])
def test_a_value_that_can_not_be_written_costs_no_line(tmp_path: Path, odd: object) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("event", odd=odd, auth_token=TOKEN)
    (line,) = lines(log)
    assert line["event_type"] == "event"
    assert TOKEN not in str(line)


def test_under_a_new_name_the_log_goes_on_in_a_file_of_that_name(tmp_path: Path) -> None:
    log = JsonLogger("alpha", log_root=tmp_path)
    log.info("before")
    log.rename_component("P01")
    log.info("after")
    log.rename_component("P01")
    log.info("later")
    assert [line["event_type"] for line in lines(log)] == ["after", "later"]
    assert (tmp_path / "agents" / "alpha.log.jsonl").exists()


def test_a_line_that_comes_after_the_end_is_written_and_leaves_no_file_open(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("first")
    log.close()
    log.info("late")
    assert log._file is None
    assert [line["event_type"] for line in lines(log)] == ["first", "late"]


def test_a_disk_that_takes_nothing_is_told_on_stderr_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agents").write_text("a file where the folder should be")
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("event")
    assert "P01.log.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("secret", ['quo"ted-secret', "back\\slash-secret", "plain-secret"])
def test_a_secret_that_json_spells_otherwise_is_struck_out_all_the_same(tmp_path: Path, secret: str) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.add_secret(secret)
    log.info("told", words=f"it is {secret}!")
    (line,) = lines(log)
    assert line["words"] == "it is [redacted]!"


def test_a_token_inside_of_things_is_struck_out_also_where_a_number_is_too_long_for_orjson(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.info("odd", number=2**70, error=RuntimeError("tok-P01-0123456789abcdef"))
    (line,) = lines(log)
    assert (line["number"], line["error"]) == (2**70, "[redacted]")


def test_a_file_that_has_grown_to_its_bound_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path, max_bytes=1000, old_files=2)
    for number in range(100):
        log.info("event", number=number, text="x" * 50)
    log.close()
    files = [log.log_file.with_name(f"P01.log.jsonl{end}") for end in (".2", ".1", "")]
    assert sorted(log.log_file.parent.iterdir()) == sorted(files)
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    numbers = [json.loads(line)["number"] for file in files for line in file.read_text().splitlines()]
    assert numbers == list(range(100))[-len(numbers) :]


def test_a_file_that_was_there_before_is_put_aside_before_it_would_grow_beyond_its_bound(tmp_path: Path) -> None:
    for number in range(20):
        log = JsonLogger("P01", log_root=tmp_path, max_bytes=1000, old_files=9)
        log.info("event", number=number, text="x" * 300)
        log.close()
    assert all(file.stat().st_size <= 1000 for file in log.log_file.parent.iterdir())


@in_virtual_time
async def test_lines_that_are_written_together_are_divided_among_files_by_the_bound(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path, max_bytes=1000, old_files=90)
    for number in range(100):
        log.log_buffered("event", number=number, text="x" * 50)
    log.close()
    files = sorted(
        log.log_file.parent.iterdir(), key=lambda file: -int(file.suffix[1:] if file.suffix[1:] != "jsonl" else 0)
    )
    assert all(file.stat().st_size <= 1000 for file in files)
    numbers = [json.loads(line)["number"] for file in files for line in file.read_text().splitlines()]
    assert numbers == list(range(100))


def test_a_file_to_which_two_write_keeps_to_its_bound(tmp_path: Path) -> None:
    ours, theirs = (JsonLogger("orchestrator", log_root=tmp_path, max_bytes=2000, old_files=90) for _ in range(2))
    for number in range(30):
        for log in (ours, theirs):
            log.info("event", number=number, text="x" * 50)
    ours.close()
    theirs.close()
    assert all(file.stat().st_size <= 2000 for file in ours.log_file.parent.iterdir())


def test_a_line_longer_than_the_bound_is_written_all_the_same(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path, max_bytes=100, old_files=0)
    for number in range(3):
        log.info("event", number=number, text="x" * 500)
    assert [line["number"] for line in lines(log)] == [2]


def test_a_file_that_another_process_has_put_aside_is_not_put_aside_again(tmp_path: Path) -> None:
    ours, theirs = (JsonLogger("orchestrator", log_root=tmp_path, max_bytes=1000, old_files=9) for _ in range(2))
    for number in range(20):
        for log in (ours, theirs):
            log.info("event", number=number, text="x" * 50)
    ours.close()
    theirs.close()
    written = [file.read_text().splitlines() for file in ours.log_file.parent.iterdir()]
    assert sorted(json.loads(line)["number"] for file in written for line in file) == sorted([*range(20), *range(20)])
    assert all(len(file) > 2 for file in written)


@in_virtual_time
async def test_lines_that_may_wait_come_before_the_next_that_may_not_and_by_themselves_soon(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.log_buffered("decided", move="even")
    assert not log.log_file.exists()
    log.info("match_over")
    log.log_buffered("decided", move="odd")
    assert log.log_file.read_text().count("\n") == 2
    await asyncio.sleep(2 * FLUSH_SECONDS)
    assert log.log_file.read_text().count("\n") == 3
    assert [line["event_type"] for line in lines(log)] == ["decided", "match_over", "decided"]


def test_without_an_event_loop_no_line_waits(tmp_path: Path) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    log.log_buffered("decided", move="even")
    assert "decided" in log.log_file.read_text()
    log.close()
