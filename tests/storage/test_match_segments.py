"""Segments: what a referee has played is safe before its file is written, whatever happens to the referee."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from agent_league.storage.match_segments import (
    MAX_SEGMENT_BYTES,
    MatchSegment,
    find_match_size,
    list_match_paths,
    read_appended_match,
    read_match_bytes,
    settle_left_segments,
)
from agent_league.storage.repositories import MatchRepository, encode_match
from tests.conftest import BOUND

LEAGUE = "league_2025_even_odd"
PLAY_AND_DIE = """
import os, sys
from pathlib import Path
from agent_league.storage.match_segments import MatchSegment
from agent_league.storage.repositories import encode_match

folder, steps = Path(sys.argv[1]), sys.argv[2].split()
segment = MatchSegment(folder, "REF01")
content = encode_match("league_2025_even_odd", "R1M1", {"result": None})
for step in steps:
    if step == "append":
        segment.add_match("R1M1", "REF01", content)
    elif step == "decide":
        segment.decide_match("R1M1", counts=True)
    elif step == "tear":
        os.write(segment._file.fileno(), b'{"match_id":"R1M2","referee_id":"REF01","bytes":500}' + b"\\n{ half")
    elif step == "create":
        (folder / "R1M1.json").write_bytes(content[:40])
    elif step == "write":
        segment.write_files()
os.kill(os.getpid(), 9)
"""


def match(match_id: str = "R1M1", **fields: Any) -> bytes:
    return encode_match(LEAGUE, match_id, {"result": None, **fields})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "matches" / LEAGUE


@pytest.fixture
def segment(folder: Path) -> Iterator[MatchSegment]:
    made = MatchSegment(folder, "REF01")
    yield made
    made.close()


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_match_is_read_from_its_segment_until_its_file_is_written_and_then_from_there(
    folder: Path, segment: MatchSegment
) -> None:
    path = folder / "R1M1.json"
    segment.add_match("R1M1", "REF01", match())
    assert list_match_paths(folder) == []
    assert read_match_bytes(path, "REF01") == match()
    for stranger in (None, "REF02"):
        with pytest.raises(FileNotFoundError):
            read_match_bytes(path, stranger)
    segment.decide_match("R1M1", counts=True)
    assert (list_match_paths(folder), read_match_bytes(path), find_match_size(path)) == ([path], match(), len(match()))
    assert not path.exists()
    segment.write_files()
    assert path.read_bytes() == match()
    segment.close()
    assert [*folder.iterdir()] == [path]


def test_a_match_that_does_not_count_leaves_no_file(folder: Path, segment: MatchSegment) -> None:
    segment.add_match("R1M1", "REF01", match())
    segment.decide_match("R1M1", counts=False)
    segment.write_files()
    segment.close()
    assert [*folder.iterdir()] == []


def test_as_many_files_are_written_as_were_asked_for(folder: Path, segment: MatchSegment) -> None:
    for number in range(5):
        segment.add_match(f"R1M{number}", "REF01", match(f"R1M{number}"))
        segment.decide_match(f"R1M{number}", counts=True)
    segment.write_files(2)
    assert (len([*folder.glob("*.json")]), segment.has_due_files) == (2, True)
    segment.write_files()
    assert MatchRepository(LEAGUE, folder.parent.parent.parent).list() == [f"R1M{number}" for number in range(5)]
    assert not segment.has_due_files


def test_a_large_segment_is_spent_once_all_its_files_are_written(segment: MatchSegment) -> None:
    segment.add_match("R1M1", "REF01", match(text="x" * MAX_SEGMENT_BYTES))
    assert not segment.is_spent
    segment.decide_match("R1M1", counts=True)
    assert not segment.is_spent
    segment.write_files()
    assert segment.is_spent


def test_a_file_that_was_corrected_meanwhile_is_kept_and_that_of_an_earlier_league_is_not(
    folder: Path, segment: MatchSegment
) -> None:
    corrected, earlier = match(corrections=[{"reason": "a typing error"}]), match("R1M2", result="of an earlier league")
    for match_id, found in (("R1M1", corrected), ("R1M2", earlier)):
        segment.add_match(match_id, "REF01", match(match_id))
        segment.decide_match(match_id, counts=True)
        (folder / f"{match_id}.json").write_bytes(found)
    assert read_match_bytes(folder / "R1M1.json") == corrected
    assert read_appended_match(folder / "R1M2.json", "REF01") == match("R1M2")
    segment.write_files()
    assert (folder / "R1M1.json").read_bytes() == corrected
    assert (folder / "R1M2.json").read_bytes() == match("R1M2")


def test_of_two_attempts_the_one_that_counts_is_read_else_the_later_one(folder: Path) -> None:
    first, second = MatchSegment(folder, "REF01"), MatchSegment(folder, "REF01")
    path = folder / "R1M1.json"
    first.add_match("R1M1", "REF01", match(attempt=1))
    second.add_match("R1M1", "REF01", match(attempt=2))
    assert read_match_bytes(path, "REF01") == match(attempt=2)
    first.decide_match("R1M1", counts=True)
    assert read_match_bytes(path, "REF01") == match(attempt=1)
    for one in (first, second):
        one.close()


def test_the_segment_of_a_referee_that_is_alive_is_left_to_it(folder: Path, segment: MatchSegment) -> None:
    segment.add_match("R1M1", "REF01", match())
    segment.decide_match("R1M1", counts=True)
    settle_left_segments(folder)
    assert list(folder.glob("*.json")) == []
    segment.write_files()
    assert list(folder.glob("*.json")) == [folder / "R1M1.json"]


@pytest.mark.parametrize(
    "steps",
    ["append decide", "append decide tear", "append decide create", "append decide write", "append", "append tear"],
)
def test_whenever_a_referee_is_killed_what_it_played_is_there(folder: Path, steps: str) -> None:
    died = subprocess.run([sys.executable, "-c", PLAY_AND_DIE, str(folder), steps], check=False, timeout=BOUND)
    assert died.returncode == -9
    path = folder / "R1M1.json"
    assert read_match_bytes(path, "REF01") == match()
    asked = []

    def decide(match_id: str, referee_id: str, content: bytes) -> bool | None:
        asked.append((match_id, referee_id, content))
        return None if len(asked) == 1 else True

    settle_left_segments(folder, decide)
    if "decide" not in steps:
        assert not path.exists(), "nobody knows yet whether it counts"
        settle_left_segments(folder, decide)
        assert asked == [("R1M1", "REF01", match())] * 2
    assert path.read_bytes() == match()
    assert [*folder.iterdir()] == [path]


def test_a_lost_attempt_takes_the_place_of_no_file(folder: Path, segment: MatchSegment) -> None:
    segment.add_match("R1M1", "REF01", match(attempt=1))
    segment.close()
    (folder / "R1M1.json").write_bytes(match(attempt=2))
    settle_left_segments(folder, lambda *_: True)
    assert (folder / "R1M1.json").read_bytes() == match(attempt=2)
    assert files_of(folder) == ["R1M1.json"]


def test_a_disk_without_room_leaves_no_half_a_record_and_no_half_a_file(
    folder: Path, segment: MatchSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(FileIO):
        def write(self, content: Any, /) -> int:
            if len(content) < 100:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(content[:50])

    segment.add_match("R1M1", "REF01", match())
    segment.decide_match("R1M1", counts=True)
    with monkeypatch.context() as patches:
        patches.setattr(segment, "_file", FullDisk(segment._file.fileno(), "r+", closefd=False))
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            segment.add_match("R1M2", "REF01", match("R1M2", text="x" * 300))
    segment.add_match("R1M3", "REF01", match("R1M3"))
    segment.decide_match("R1M3", counts=True)
    assert [path.stem for path in list_match_paths(folder)] == ["R1M1", "R1M3"]

    def fail(file: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patches:
        patches.setattr(os, "write", fail)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            segment.write_files()
    assert list(folder.glob("*.json")) == []
    segment.write_files()
    assert {path.name: path.read_bytes() for path in folder.glob("*.json")} == {
        f"{match_id}.json": match(match_id) for match_id in ("R1M1", "R1M3")
    }


def test_a_match_is_whole_however_little_is_written_at_a_time(
    folder: Path, segment: MatchSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sluggish(FileIO):
        def write(self, content: Any, /) -> int:
            return super().write(content[:7])

    write = os.write
    monkeypatch.setattr(segment, "_file", Sluggish(segment._file.fileno(), "r+", closefd=False))
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:7]))
    segment.add_match("R1M1", "REF01", match())
    segment.decide_match("R1M1", counts=True)
    segment.write_files()
    assert (folder / "R1M1.json").read_bytes() == match()


def test_files_are_written_though_the_league_was_put_away_meanwhile(folder: Path, segment: MatchSegment) -> None:
    segment.add_match("R1M1", "REF01", match())
    segment.decide_match("R1M1", counts=True)
    folder.rename(folder.with_name("archived"))
    segment.write_files()
    assert (folder / "R1M1.json").read_bytes() == match()
