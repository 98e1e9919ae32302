"""`league verify`: a line a check, an exit code, and never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.referee.verify import CHECKS
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.cli.command import league
from tests.referee.hall import hall


@pytest.fixture
def match_file(home: Path) -> Path:
    """The file of a match that was played."""

    @in_virtual_time
    async def play() -> None:
        async with hall(home, clock=VirtualClock()) as match:
            match.pair()
            await match.play()

    play()
    return home / "data" / "matches" / "league_2025_even_odd" / "R1M1.json"


def change(path: Path, **result: Any) -> None:
    content = json.loads(path.read_text())
    content["result"].update(result)
    path.write_text(json.dumps(content))


def test_a_good_file_has_a_line_for_every_check_and_exit_code_0(match_file: Path) -> None:
    done = league("verify", match_file)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first == f"{match_file}: all holds"
    assert lines == [f"  ok    {check}: {sentence}" for check, sentence in CHECKS.items()]


def test_a_changed_file_says_what_does_not_hold_and_has_exit_code_1(match_file: Path) -> None:
    change(match_file, winner_player_id="P09")
    done = league("verify", match_file)
    assert done.returncode == 1
    first, *lines = done.stdout.splitlines()
    assert first == f"{match_file}: something does not hold"
    (wrong,) = [line for line in lines if line.startswith("  WRONG")]
    assert wrong.startswith("  WRONG result: winner_player_id is 'P09'; the match gives 'P0")


def test_as_json_there_is_one_object(match_file: Path) -> None:
    change(match_file, drawn_number=99)
    done = league("verify", "--json", match_file)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["ok"] is False
    (file,) = told["files"]
    assert (file["file"], file["ok"], file["error"]) == (str(match_file), False, None)
    (wrong,) = [finding for finding in file["findings"] if not finding["ok"]]
    assert wrong["check"] == "result"
    assert wrong["sentence"].startswith("drawn_number is 99; the match gives ")


@pytest.mark.parametrize("given", ["a file", "its folder", "a SHARED folder"])
def test_a_folder_stands_for_the_matches_in_it(match_file: Path, home: Path, given: str) -> None:
    (match_file.parent / "R1M2.json").write_bytes(match_file.read_bytes())
    (match_file.parent / ".R1M2.json.1.tmp").write_text("half")
    change(match_file, status="DRAW")
    paths = {"a file": [match_file, match_file.with_stem("R1M2")], "its folder": [match_file.parent]}
    done = league("verify", *paths.get(given, [home]))
    assert done.returncode == 1
    first, wrong, second, told = done.stdout.splitlines()
    assert first == f"{match_file}: something does not hold"
    assert wrong.startswith("  WRONG result: status is 'DRAW'")
    assert second == f"{match_file.with_stem('R1M2')}: all holds"
    assert told == "2 files: 1 right, 1 wrong, 0 no match files"
    again = league("verify", match_file.with_stem("R1M2"), match_file.with_stem("R1M2"))
    assert again.stdout.splitlines()[-1] == "2 match files: all hold"


NO_MATCH = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "no object": b"[1, 2]",
    "an empty object": b"{}",
    "null": b"null",
    "deep lists": b"[" * 900 + b"]" * 900,
    "deep objects": b'{"a":' * 900 + b"1" + b"}" * 900,
    "too deep to read": b"[" * 100_000,
    "large numbers": b'{"transcript": [1e400, 99999999999999999999999999]}',
    "escapes": b'{"players": {"\\u001b[31m": 1}, "transcript": [{"\\u001b[2J": 1}]}',
    "another file of ours": b'{"schema_version": "1.0.0", "league_id": "l", "standings": []}',
}


@pytest.mark.parametrize("name", NO_MATCH)
def test_what_is_no_match_file_has_exit_code_2_and_a_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / "R1M1.json"
    path.write_bytes(NO_MATCH[name])
    done = league("verify", path)
    assert done.returncode == 2
    assert done.stdout.startswith(f"{path}: not a match file: ")
    assert "Traceback" not in done.stderr + done.stdout
    assert "\x1b" not in done.stdout


def test_files_that_are_not_there_and_folders_without_any_have_exit_code_2(tmp_path: Path) -> None:
    missing = league("verify", tmp_path / "R9M9.json")
    assert missing.returncode == 2
    assert missing.stdout == f"{tmp_path / 'R9M9.json'}: can't be read: No such file or directory\n"
    empty = league("verify", tmp_path)
    assert empty.returncode == 2
    assert empty.stderr == f"league: No match files in {tmp_path}.\n"


def test_something_that_does_not_hold_outweighs_something_that_is_no_match_file(match_file: Path) -> None:
    other = match_file.with_stem("R1M2")
    other.write_text("{}")
    assert league("verify", match_file, other).returncode == 2
    change(match_file, reason="because")
    assert league("verify", match_file, other).returncode == 1


def test_nothing_in_a_file_reaches_the_terminal_as_a_command(match_file: Path) -> None:
    text = match_file.read_text().replace('"P02"', '"P02\\u001b[2J\\u202e"')
    text = text.replace('"parity_choice": "odd"', '"parity_choice": "x"')
    match_file.write_text(text)
    done = league("verify", match_file)
    assert done.returncode == 1
    assert "\\x1b[2J\\u202e" in done.stdout
    assert done.stdout.replace("\n", "").isprintable()
