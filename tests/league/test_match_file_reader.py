"""Transcripts of finished matches: read one at a time, kept as long as their files stay as they are."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_league.league import match_file_reader
from agent_league.league.match_file_reader import MAX_CACHED_TRANSCRIPTS, MAX_TRANSCRIPT_BYTES, MatchFiles
from agent_league.model.results import MatchResult, Outcome
from agent_league.storage.files import parse_json
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository

LEAGUE = "league_one"
ENTRY = {"at": "2025-01-15T10:15:00.000Z", "direction": "drawn", "step": 1, "outcome": 8}


def finished(home: Path, match_id: str, *entries: dict[str, Any]) -> MatchResult:
    """A match, with the file that its referee has left."""
    told = {"status": "WIN", "winner_player_id": "P01"}
    content = {"referee_id": "REF01", "result": told, "transcript": [ENTRY, *entries]}
    MatchRepository(LEAGUE, home).save(match_id, content)
    return MatchResult(match_id, 1, ("P01", "P02"), Outcome.WIN, "P01")


class Reading:
    """Counts what is read, and how much of it at once."""

    def __init__(self) -> None:
        self.at_once = self.most = self.files = 0

    async def offload(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            return await asyncio.to_thread(work, *arguments)
        finally:
            self.at_once -= 1


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    counted, read = Reading(), match_file_reader.read_match

    def read_match(*arguments: Any) -> Any:
        counted.files += 1
        return read(*arguments)

    monkeypatch.setattr(match_file_reader, "read_match", read_match)
    return counted


async def test_however_many_ask_each_file_is_read_once_and_one_at_a_time(tmp_path: Path, reading: Reading) -> None:
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    results = [finished(tmp_path, f"R1M{number}") for number in range(1, 4)]
    told = await asyncio.gather(*(files.read_transcript(result, "REF01") for result in results * 30))
    assert told == [([ENTRY], None)] * 90
    assert (reading.files, reading.most) == (3, 1)


async def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path, reading: Reading) -> None:
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    result = finished(tmp_path, "R1M1")
    assert await files.read_transcript(result, "REF01") == ([ENTRY], None)
    finished(tmp_path, "R1M1", {**ENTRY, "step": 2})
    shown, _ = await files.read_transcript(result, "REF01")
    assert shown is not None
    assert [entry["step"] for entry in shown] == [1, 2]
    DataPaths(tmp_path).match_file(LEAGUE, "R1M1").unlink()
    assert (await files.read_transcript(result, "REF01"))[0] is None


async def test_so_many_are_kept_and_no_more(tmp_path: Path, reading: Reading) -> None:
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    results = [finished(tmp_path, f"R1M{number}") for number in range(1, MAX_CACHED_TRANSCRIPTS + 6)]
    for result in results:
        await files.read_transcript(result, "REF01")
    assert len(files._cached_transcripts) == MAX_CACHED_TRANSCRIPTS
    await files.read_transcript(results[-1], "REF01")
    assert reading.files == len(results)
    await files.read_transcript(results[0], "REF01")
    assert reading.files == len(results) + 1


async def test_tokens_in_a_file_are_struck_out_all_the_same(tmp_path: Path, reading: Reading) -> None:
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    tokens = ["tok-p01-" + "x" * 40, "eyJhbGciOi.eyJpc3MiOi.c2lnbmVk"]
    result = finished(tmp_path, "R1M1", *({**ENTRY, "message": f"it is {token}"} for token in tokens))
    shown, _ = await files.read_transcript(result, "REF01")
    assert json.dumps(shown).count("[redacted]") == 2


def told_in_full(entry: dict[str, Any], count: int) -> list[dict[str, Any]]:
    return [{**entry, "step": number, "message": "x" * 1000} for number in range(count)]


async def test_a_large_file_is_read_in_small_steps_so_that_nobody_waits_for_all_of_it(
    tmp_path: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten megabytes in one call of the parser would keep the event loop waiting, thread or not."""
    sizes = []

    def count_bytes(text: bytes) -> Any:
        sizes.append(len(text))
        return parse_json(text)

    monkeypatch.setattr(match_file_reader, "parse_json", count_bytes)
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    entries = told_in_full(ENTRY, 2000)
    result = finished(tmp_path, "R1M1", *entries)
    shown, note = await files.read_transcript(result, "REF01")
    assert shown == [ENTRY, *entries][: len(shown or ())]
    assert note == f"the first {len(shown or ())} of 2001 entries; all are in {place()} of the SHARED folder"
    assert len(sizes) == 1 + 2001
    assert max(sizes) < 2000


def place() -> str:
    return DataPaths(Path()).match_file(LEAGUE, "R1M1").as_posix()


async def test_of_a_large_file_no_more_is_kept_in_memory_than_is_told(tmp_path: Path) -> None:
    finished(tmp_path, "R1M1", *told_in_full(ENTRY, 2000))
    path, first = DataPaths(tmp_path).match_file(LEAGUE, "R1M1"), match_file_reader._EntryReader()
    transcript = match_file_reader.load_match_file(path, first.read_entry)["transcript"]
    assert len(transcript) == 2001
    whole = [entry for entry in transcript if entry is not match_file_reader.OMITTED_ENTRY]
    assert MAX_TRANSCRIPT_BYTES <= len(json.dumps(whole)) < MAX_TRANSCRIPT_BYTES * 1.1


async def test_a_wrong_entry_behind_all_that_is_told_is_found_too(tmp_path: Path, reading: Reading) -> None:
    files = MatchFiles(tmp_path, LEAGUE, reading.offload)
    result = finished(tmp_path, "R1M1", *told_in_full(ENTRY, 500), {"direction": "sideways"})
    shown, note = await files.read_transcript(result, "REF01")
    assert shown is None
    assert note is not None
    assert "it has no transcript" in note
