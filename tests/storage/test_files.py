"""Files that are whole or not there."""

import asyncio
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from agent_league.log import JsonLogger
from agent_league.storage.files import (
    MAX_WRITE_RATE,
    SECONDS_FOR_EACH_FILE,
    WRITE_INTERVAL_SECONDS,
    JsonLinesFile,
    ThrottledWriter,
    encode_json,
    encode_json_part,
    parse_json,
    parse_json_by_entries,
    read_json_object,
    write_atomically,
    write_json,
)
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import BOUND

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Files of this process can't grow beyond so many bytes: a real write that fails half-way."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"
    assert [child.name for child in path.parent.iterdir()] == ["c.txt"]


def test_a_shorter_content_replaces_a_longer_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"long content")
    write_atomically(path, b"sh", b"ort")
    assert path.read_bytes() == b"short"


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    mask = os.umask(0)
    try:
        write_atomically(path, b"", mode=mode)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix_only
def test_a_private_file_stays_private_when_it_replaces_a_public_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"public", mode=0o644)
    write_atomically(path, b"private", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "standings.json"
    write_json(path, {"version": 1})
    with at_most(1000), pytest.raises(OSError, match="large"):
        write_json(path, {"version": 2, "rows": list(range(10_000))})
    assert read_json_object(path) == {"version": 1}
    assert [child.name for child in tmp_path.iterdir()] == ["standings.json"]


def test_a_write_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_atomically(path, b"content")
    assert [child.name for child in tmp_path.iterdir()] == ["taken"]


def test_whoever_reads_while_it_is_written_sees_a_whole_file(tmp_path: Path) -> None:
    """A reader in a loop beside a writer in a loop: every content it sees is one that was written."""
    path = tmp_path / "rounds.json"
    contents = [{"number": number, "filler": [number] * 5_000} for number in range(50)]
    write_json(path, contents[0])
    enough = threading.Event()

    def write_on() -> None:
        while not enough.is_set():
            for content in contents:
                write_json(path, content)

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        seen: set[int] = set()
        while len(seen) < 25 and writer.is_alive():
            content = json.loads(path.read_bytes())
            assert content == contents[content["number"]]
            seen.add(content["number"])
    finally:
        enough.set()
        writer.join()
    assert len(seen) == 25


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"7", b"null", b'"text"', b"\xff\xfe", b'{"a": NaN}'])
def test_what_holds_no_object_is_read_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    assert read_json_object(path) is None


def test_what_is_not_there_is_read_as_none(tmp_path: Path) -> None:
    assert read_json_object(tmp_path / "nowhere.json") is None
    assert read_json_object(tmp_path) is None


def test_a_part_that_was_written_before_looks_like_one_that_was_not() -> None:
    part = {"names": ["Ada\n", "Grace"], "empty": [], "deeper": {"1": None, "2": [{}]}}
    parts = [orjson.Fragment(encode_json_part(part, 2)), orjson.Fragment(encode_json_part([], 2))]
    assert encode_json({"list": parts}) == encode_json({"list": [part, []]})
    assert encode_json({"one": orjson.Fragment(encode_json_part(part, 1))}) == encode_json({"one": part})


ENTRIES = [{"a": "},\n    {"}, {"b": [[], {"entries": [{}]}, "\n  ]"]}, {}]
LISTS = {
    "ours": encode_json({"before": [1, 2], "entries": ENTRIES, "after": 3}),
    "ours, with a list behind it": encode_json({"entries": ENTRIES, "after": [1, {"c": {}}]}),
    "ours, of one entry": encode_json({"entries": [{"a": 1}]}),
    "ours, an empty list": encode_json({"entries": []}),
    "ours, of numbers": encode_json({"entries": [1, 2]}),
    "ours, an object and a number": encode_json({"entries": [{"a": 1}, 2, {"b": 3}]}),
    "ours, deeper": encode_json({"match": {"entries": ENTRIES}}),
    "ours, a list in it": encode_json([{"entries": ENTRIES}]),
    "in one line": json.dumps({"entries": ENTRIES}).encode(),
    "indented by four": json.dumps({"entries": ENTRIES}, indent=4).encode(),
    "of the same look, but deeper": b'{"match": {\n  "entries": [\n    {\n    },\n    {\n    }\n  ]\n}}',
    "twice": b'{\n  "entries": [\n    {\n    }\n  ],\n  "entries": [\n    {\n      "a": 1\n    }\n  ]\n}',
}


@pytest.mark.parametrize("form", LISTS)
def test_what_is_read_by_entries_is_what_is_read_at_once(form: str) -> None:
    assert parse_json_by_entries(LISTS[form], "entries") == parse_json(LISTS[form])


@pytest.mark.parametrize("cut", range(2, 40, 3))
def test_what_is_no_json_is_refused_by_entries_as_it_is_at_once(cut: int) -> None:
    text = LISTS["ours"][:-cut]
    with pytest.raises(ValueError, match="line") as at_once:
        parse_json(text)
    with pytest.raises(ValueError, match="line") as by_entries:
        parse_json_by_entries(text, "entries")
    assert str(by_entries.value) == str(at_once.value)


def test_entries_are_read_one_by_one_and_may_be_shortened() -> None:
    read = []

    def shorten(text: bytes) -> str:
        read.append(text)
        return "short"

    assert parse_json_by_entries(LISTS["ours"], "entries", parse_json, shorten)["entries"] == ["short"] * 3
    assert [*map(parse_json, read)] == ENTRIES


def test_json_is_written_to_be_read_by_people(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"name": "Zoë", 7: [1, None, True]})
    assert path.read_text(encoding="utf-8") == ('{\n  "name": "Zoë",\n  "7": [\n    1,\n    null,\n    true\n  ]\n}\n')


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    made = JsonLogger("test", log_root=tmp_path / "logs")
    yield made
    made.close()


class Saves:
    """Counts saves, with the loop's time of each."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.times: list[float] = []
        self.happened = asyncio.Event()
        self._then = then

    def __call__(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        self.happened.set()
        self._then()


async def test_many_changes_are_written_once(log: JsonLogger) -> None:
    saves = Saves()
    projection = ThrottledWriter(saves, log)
    for _ in range(1000):
        projection.schedule_write()
    assert saves.times == []
    projection.flush()
    assert len(saves.times) == 1


async def test_a_change_is_written_by_itself_after_a_while(log: JsonLogger) -> None:
    saves = Saves()
    ThrottledWriter(saves, log).schedule_write()
    assert saves.times == []
    async with asyncio.timeout(BOUND):
        await saves.happened.wait()
    assert len(saves.times) == 1


async def test_writes_are_never_closer_than_the_interval(log: JsonLogger) -> None:
    saves = Saves()
    projection = ThrottledWriter(saves, log)
    async with asyncio.timeout(BOUND):
        while len(saves.times) < 3:
            projection.schedule_write()
            await asyncio.sleep(0.001)
    gaps = [later - earlier for earlier, later in zip(saves.times, saves.times[1:], strict=False)]
    assert min(gaps) >= WRITE_INTERVAL_SECONDS * 0.99
    assert 0.1 <= WRITE_INTERVAL_SECONDS <= 1
    projection.flush()


@in_virtual_time
async def test_a_large_file_is_written_the_more_rarely(log: JsonLogger) -> None:
    saves = Saves()
    projection = ThrottledWriter(saves, log)
    for size, pause in ((1, WRITE_INTERVAL_SECONDS), (MAX_WRITE_RATE * 3, 3), (2, WRITE_INTERVAL_SECONDS)):
        projection.note_written_bytes(size)
        changed = asyncio.get_running_loop().time()
        projection.schedule_write()
        await asyncio.sleep(10)
        assert saves.times[-1] - changed == pytest.approx(pause)


@in_virtual_time
async def test_the_more_files_are_to_be_written_the_more_rarely_each_is(log: JsonLogger) -> None:
    loop = asyncio.get_running_loop()
    for rest in (1, 5, 1000):
        saves = [Saves() for _ in range(rest)]
        began = loop.time()
        writers = [ThrottledWriter(one, log) for one in saves]
        for writer in (*writers, *writers):
            writer.schedule_write()
        await asyncio.sleep(100)
        waited = [one.times[0] - began for one in saves]
        assert waited == sorted(waited)
        assert waited[0] == pytest.approx(WRITE_INTERVAL_SECONDS), "nobody waited when it changed"
        assert waited[-1] == pytest.approx(max(WRITE_INTERVAL_SECONDS, rest * SECONDS_FOR_EACH_FILE))


async def test_a_flush_writes_what_changed_and_only_that(log: JsonLogger) -> None:
    saves = Saves()
    projection = ThrottledWriter(saves, log)
    projection.flush()
    assert saves.times == []
    projection.schedule_write()
    projection.flush()
    projection.flush()
    assert len(saves.times) == 1


async def test_a_failing_write_is_logged_and_the_next_change_is_written(log: JsonLogger) -> None:
    failures = [OSError("no space left")]

    def fail_once() -> None:
        if failures:
            raise failures.pop()

    saves = Saves(fail_once)
    projection = ThrottledWriter(saves, log)
    projection.schedule_write()
    projection.flush()
    assert "no space left" in log.log_file.read_text()
    projection.schedule_write()
    projection.flush()
    assert len(saves.times) == 2
    assert log.log_file.read_text().count("write_failed") == 1


def test_lines_are_there_for_others_as_soon_as_they_are_written(tmp_path: Path) -> None:
    """Nothing waits in a buffer that dies with the process."""
    path = tmp_path / "a" / "journal.jsonl"
    lines = JsonLinesFile(path)
    assert lines.read_objects() == []
    for number in range(3):
        lines.append_line({"number": number, "text": "Zoë\n"})
        assert [line["number"] for line in JsonLinesFile(path).read_objects()] == list(range(number + 1))
    assert lines.read_objects()[0] == {"number": 0, "text": "Zoë\n"}
    lines.close()


def test_lines_are_added_to_those_of_an_earlier_life(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for number in range(2):
        lines = JsonLinesFile(path)
        lines.append_line({"number": number})
        lines.close()
    assert JsonLinesFile(path).read_objects() == [{"number": 0}, {"number": 1}]


def test_a_cleared_file_begins_anew_and_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = JsonLinesFile(path)
    lines.clear()
    lines.append_line({"number": 0})
    lines.clear()
    assert lines.read_objects() == []
    lines.append_line({"number": 1})
    assert lines.read_objects() == [{"number": 1}]
    lines.close()
    assert path.exists()
    lines.append_line({"number": 2})
    lines.clear()
    lines.close()
    assert not path.exists()


@pytest.mark.parametrize(
    ("spoilt", "left"),
    [
        (b'{"a": 1}\n{"a": 2', [1]),
        (b'{"a": 1}\n\xff\xfe\n{"a": 3}\n', [1, 3]),
        (b'7\nnull\n[]\n{"a": 4}\n\n', [4]),
        (b"", []),
    ],
)
def test_of_a_spoilt_file_what_can_be_read_is_read(tmp_path: Path, spoilt: bytes, left: list[int]) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(spoilt)
    assert [line["a"] for line in JsonLinesFile(path).read_objects()] == left


def test_what_comes_after_a_line_that_was_cut_off_is_not_lost_with_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2')
    lines = JsonLinesFile(path)
    lines.append_line({"a": 3})
    lines.append_line({"a": 4})
    lines.close()
    assert [line["a"] for line in JsonLinesFile(path).read_objects()] == [1, 3, 4]


@posix_only
def test_a_line_that_a_full_disk_cuts_off_is_told_and_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = JsonLinesFile(path)
    lines.append_line({"a": 1})
    with at_most(1000), pytest.raises(OSError, match=r"space|large"):
        lines.append_line({"a": "x" * 2000})
    lines.append_line({"a": 3})
    lines.close()
    assert [line["a"] for line in JsonLinesFile(path).read_objects()] == [1, 3]
