"""`league logs`: all agents' lines as one trace in the order of time, with a match's conversation among them."""

import json
import shutil
import signal
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_league.launch.log_merge import CHUNK_BYTES, MergedLog, time_key
from agent_league.log import MESSAGE_EVENTS, MESSAGE_RECEIVED, MESSAGE_SENT, JsonLogger
from tests.cli.command import LEAGUE, Running
from tests.cli.leagues import said

LEAGUE_ID = "league_tic_tac_toe"


def write(home: Path, name: str, *lines: dict[str, Any] | str) -> Path:
    path = home / "logs" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for line in lines:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    return path


def line(second: int, component: str = "P01", microsecond: int | None = 0, **more: Any) -> dict[str, Any]:
    fine = {} if microsecond is None else {"microsecond": microsecond}
    head = {"timestamp": f"2025-01-15T10:30:{second:02}Z", "component": component, "event_type": "said"}
    return {**head, "level": "INFO", **fine, **more}


def told(home: Path, *args: object) -> list[dict[str, Any]]:
    return [json.loads(text) for text in said("logs", "--home", home, "--json", *args).out.splitlines()]


def values(lines: list[dict[str, Any]], name: str = "n") -> list[Any]:
    return [found.get(name) for found in lines]


def test_every_line_of_every_agent_is_there_once_and_in_the_order_of_time(played: Path) -> None:
    lines = told(played, "--messages")
    written = [text for path in (played / "logs").rglob("*.jsonl") for text in path.read_text().splitlines()]
    assert sorted(map(json.dumps, lines)) == sorted(json.dumps(json.loads(text)) for text in written)
    assert {found["component"] for found in lines} >= {"league", "REF01", "REF02", "P01", "P02", "P03", "P04"}
    assert all(time_key(one) <= time_key(next_) for one, next_ in pairwise(lines))


def test_every_message_is_in_the_logs_of_both_its_ends(played: Path) -> None:
    lines = [found for found in told(played, "--messages") if found["event_type"] in MESSAGE_EVENTS]
    assert {found["component"] for found in lines} >= {"league", "REF01", "REF02", "P01", "P02", "P03", "P04"}
    sides: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for found in lines:
        sides[found["event_type"], "latency_ms" in found][json.dumps(found["message"], sort_keys=True)] += 1
    assert sides[MESSAGE_SENT, False] == sides[MESSAGE_RECEIVED, False]
    assert sides[MESSAGE_SENT, True] == sides[MESSAGE_RECEIVED, True]
    assert sides[MESSAGE_SENT, False].total() == sides[MESSAGE_SENT, True].total() > 100


def test_messages_are_shown_only_where_they_are_asked_for(played: Path) -> None:
    shown = {found["event_type"] for found in told(played)}
    assert shown.isdisjoint(MESSAGE_EVENTS)
    assert {"decided", "MatchFinished", "RoundStarted", "match_finished"} <= shown
    assert {found["event_type"] for found in told(played, "--event", "MESSAGE_S*")} == {"message_sent"}
    asked = told(played, "--messages", "--match", "R1M1", "--event", "message_received")
    assert {found["message"]["params"]["match_id"] for found in asked if "params" in found["message"]} == {"R1M1"}
    printed = said("logs", "--home", played, "--messages", "--match", "R1M1").out
    assert "← handle_game_invitation" in printed
    assert "auth_token" not in printed


def test_lines_about_rounds_and_results_say_which_round(played: Path) -> None:
    lines = told(played)
    for event in ("RoundStarted", "RoundCompleted", "MatchFinished", "match_finished"):
        assert {found.get("round_id") for found in lines if found["event_type"] == event} == {1, 2, 3}, event


def test_logs_that_were_put_aside_are_read_with_the_others(home: Path) -> None:
    log = JsonLogger("P01", log_root=home / "logs", max_bytes=2000, old_files=50)
    for number in range(100):
        log.info("event", n=number)
    log.close()
    assert len(list((home / "logs" / "agents").iterdir())) > 3
    assert values(told(home)) == list(range(100))


def test_followed_logs_go_on_when_a_file_is_put_aside(home: Path) -> None:
    log = JsonLogger("P99", log_root=home / "logs", max_bytes=500, old_files=9)
    log.info("greeting", words="first")
    running = Running([*LEAGUE, "logs", "--home", home, "--follow", "--json"])
    try:
        running.prints('"words":"first"')
        for number in range(20):
            log.info("greeting", words=f"word {number}.")
            running.prints(f'"words":"word {number}."')
        running.signal(signal.SIGINT)
        assert running.ends() == 0
    finally:
        log.close()
        running.close()
    assert "".join(running.out).count("word 7.") == 1


def test_the_trace_of_a_match_is_the_lines_of_all_who_took_part_and_all_that_was_said(played: Path) -> None:
    lines = told(played, "--match", "R3M2")
    file = json.loads((played / "data" / "matches" / LEAGUE_ID / "R3M2.json").read_text())
    spoken = [found for found in lines if found.get("from_match") and "direction" in found]
    assert [(found["direction"], found.get("message")) for found in spoken] == [
        (entry["direction"], entry.get("message")) for entry in file["transcript"]
    ]
    states = [found["state"] for found in lines if found["event_type"] == "state"]
    assert states == [moment["state"] for moment in file["lifecycle"]]
    others = [(found["component"], found["event_type"]) for found in lines if not found.get("from_match")]
    players = file["players"].values()
    assert {("league", "MatchFinished"), (file["referee_id"], "match_finished")} <= set(others)
    assert {(player, event) for player in players for event in ("invited", "match_over")} <= set(others)
    assert set(values(lines, "match_id")) == {"R3M2"}
    events = [found["event_type"] for found in lines]
    assert events.index("handle_game_invitation") < events.index("invited") < events.index("match_over")


def test_states_stand_between_the_answers_and_what_the_referee_did_in_the_same_instant(home: Path) -> None:
    at = "2025-01-15T10:30:00.250Z"
    said_then = [{"at": at, "direction": direction, "player_id": "P01"} for direction in ("received", "drawn", "sent")]
    said_then[-1]["method"] = "notify_match_result"
    file = {
        "referee_id": "REF01",
        "transcript": said_then,
        "lifecycle": [{"state": "DRAWING_NUMBER", "at": at}, {"state": "FINISHED", "at": at}],
    }
    path = home / "data" / "matches" / "nim" / "R1M1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(file))
    write(home, "league/nim/league", line(0, "league", 250_001, match_id="R1M1", state="told"))
    found = [entry.get("direction") or entry["state"] for entry in told(home, "--match", "R1M1")]
    assert found == ["received", "DRAWING_NUMBER", "drawn", "FINISHED", "sent", "told"]


def test_printed_it_has_a_line_each_with_columns_that_stand_below_each_other(played: Path) -> None:
    printed = said("logs", "--home", played, "--match", "r3m2").out.splitlines()
    assert len(printed) == len(told(played, "--match", "R3M2"))
    answers = [text for text in printed if "← P0" in text]
    assert answers
    assert all(" ms" in text and "GAME_" in text for text in answers)
    assert len({text.index("←") for text in answers}) == 1
    assert not any("auth_token" in text for text in printed)


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (["--agent", "p01"], [1, 3]),
        (["--agent", "REF01"], [2, 3]),
        (["--level", "warning"], [3, 4]),
        (["--level", "ERROR"], [4]),
        (["--event", "said"], [1, 2, 4]),
        (["--event", "MATCH_*"], [3]),
        (["--match", "R1M1"], [3]),
        ([], [1, 2, 3, 4]),
    ],
)
def test_only_what_is_asked_for_is_shown(home: Path, args: list[str], kept: list[int]) -> None:
    write(home, "agents/P01", line(1, n=1))
    write(home, "agents/REF01", line(2, "REF01", n=2))
    lost = line(3, "REF01", n=3, player_id="P01", match_id="R1M1")
    write(home, "agents/REF01", {**lost, "event_type": "match_lost", "level": "WARNING"})
    write(home, "system/orchestrator", {**line(4, "orchestrator", n=4), "level": "ERROR"})
    assert values(told(home, *args)) == kept


def test_within_a_second_the_microsecond_decides_and_within_a_file_the_file(home: Path) -> None:
    write(home, "agents/P01", line(1, microsecond=500, n=2), line(1, microsecond=400, n=3), line(2, n=5))
    write(home, "agents/P02", line(1, "P02", 100, n=1), line(1, "P02", 900, n=4))
    assert values(told(home)) == [1, 2, 3, 4, 5]


def test_lines_of_others_may_have_their_fraction_in_the_timestamp_or_none(home: Path) -> None:
    write(home, "agents/P01", {**line(1, microsecond=None, n=2), "timestamp": "2025-01-15T10:30:01.25+00:00"})
    write(home, "agents/P02", line(1, "P02", 300_000, n=3))
    write(home, "agents/P03", line(1, "P03", None, n=1))
    assert values(told(home)) == [1, 2, 3]


def test_what_can_not_be_read_is_left_out_and_counted(home: Path) -> None:
    write(home, "agents/P01", line(1, n=1), "{", "[1]", '{"event_type": "timeless"}', "", line(2, n=2))
    (home / "logs" / "agents" / "P02.log.jsonl").write_bytes(b"\xff\xfe\n" + b"x" * 3 * CHUNK_BYTES)
    done = said("logs", "--home", home, "--json")
    assert values([json.loads(text) for text in done.out.splitlines()]) == [1, 2]
    assert "5 lines that could not be read were left out." in done.err


def test_lines_longer_than_a_piece_and_files_of_many_pieces_come_whole(home: Path) -> None:
    write(home, "agents/P01", *(line(index // 100, microsecond=index, n=index, text="x" * 999) for index in range(500)))
    write(home, "agents/P02", line(2, "P02", 250, n=-1, text="y" * 3 * CHUNK_BYTES))
    lines = told(home)
    assert [n for n in values(lines) if n >= 0] == list(range(500))
    assert len(lines[values(lines).index(-1)]["text"]) == 3 * CHUNK_BYTES


def test_a_huge_log_is_never_in_memory_as_a_whole(home: Path) -> None:
    path = write(home, "agents/P01", *(line(1, microsecond=index, text="x" * 99) for index in range(2000)))
    trace = MergedLog(home)
    next(iter(trace.iter_lines()))
    (file,) = trace._files.values()
    assert file._offset <= CHUNK_BYTES < path.stat().st_size


def test_match_ids_come_again_in_other_leagues_and_seasons_which_stay_out(home: Path) -> None:
    def begun(second: int, league_id: str) -> dict[str, Any]:
        begun = line(second, "league", league_id=league_id, phase="REGISTRATION")
        return {**begun, "event_type": "manager_started"}

    def registered(second: int, league_id: str) -> dict[str, Any]:
        return {**line(second, league_id=league_id), "event_type": "registered"}

    def seen(second: int, n: int) -> dict[str, Any]:
        return line(second, match_id="R1M1", n=n)

    write(home, "league/nim/league", begun(1, "nim"), begun(11, "nim"), seen(14, 4))
    write(home, "league/other/league", begun(5, "other"))
    write(home, "agents/P01", registered(2, "nim"), seen(3, 1), registered(6, "other"), seen(7, 2))
    write(home, "agents/P01", registered(12, "nim"), seen(13, 3))
    assert values(told(home, "--match", "R1M1", "--league-id", "nim")) == [3, 4]
    assert values(told(home, "--match", "R1M1", "--league-id", "other")) == [2]
    (home / "data" / "leagues" / "other").mkdir(parents=True)
    several = said("logs", "--home", home, "--match", "R1M1", "--json")
    assert several.err == "This is other, the latest; --league-id chooses another: nim.\n"
    assert values([json.loads(text) for text in several.out.splitlines()]) == [2]


def test_a_line_that_names_no_league_is_in_none_of_several(home: Path) -> None:
    write(home, "league/nim/league", line(1, "league", league_id="nim", n=1))
    write(home, "agents/P01", line(2, n=2))
    assert values(told(home, "--league-id", "nim")) == [1, 2]
    write(home, "league/other/league", line(3, "league", league_id="other", n=3))
    assert values(told(home, "--league-id", "nim")) == [1]


def test_a_line_before_a_registration_is_not_of_the_league_before_it(home: Path) -> None:
    registered = {**line(1, league_id="nim", n=1), "event_type": "registered"}
    waiting = {**line(2, n=2), "event_type": "manager_not_there"}
    write(home, "agents/P01", registered, waiting, {**registered, **line(3, league_id="other", n=3)})
    write(home, "league/nim/league", line(0, "league", league_id="nim", n=0))
    write(home, "league/other/league", line(3, "league", league_id="other", n=4))
    assert values(told(home, "--league-id", "nim")) == [0, 1]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--level", "loud"], "--level 'loud': expected one of DEBUG, INFO, WARN, WARNING, ERROR"),
        (["--match", "../x"], "--match '../x' can't be an id"),
        (["--league-id", "nym"], "--league-id nym: no such league in this folder (there are: none)"),
        ([], "No logs in "),
    ],
)
def test_what_is_wrong_is_said(home: Path, args: list[str], sentence: str) -> None:
    assert said("logs", "--home", home, *args).error.startswith(sentence)


def test_where_nothing_is_found_that_is_said(played: Path) -> None:
    done = said("logs", "--home", played, "--match", "R9M9")
    assert (done.out, done.code) == ("", 0)
    assert done.err == f"No line of R9M9 in {LEAGUE_ID}; `league show schedule` lists the matches.\n"


def test_a_stranger_s_words_are_text(home: Path) -> None:
    write(home, "agents/P01", line(1, "P01\u001b[2J", text="\u001b]0;x\u0007\u202e", **{"\u001b[31m": 1}))
    printed = said("logs", "--home", home).out
    assert "\\x1b[2J" in printed
    assert printed.replace("\n", "").isprintable()


def test_followed_logs_go_on_with_new_lines_and_new_files(played: Path, tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    shutil.copytree(played, home)
    log = JsonLogger("P99", log_root=home / "logs")
    running = Running([*LEAGUE, "logs", "--home", home, "--follow", "--event", "greeting"])
    try:
        log.info("greeting", words="one")
        running.prints("words=one")
        with log.log_file.open("a") as file:
            file.write('{"timestamp": "2030-01-15T10:30:00Z", "event_type": "greeting", ')
            file.flush()
            write(home, "agents/REF99", line(1, "REF99", words="two") | {"event_type": "greeting"})
            running.prints("words=two")
            file.write('"words": "three"}\n')
        running.prints("words=three")
        running.signal(signal.SIGINT)
        assert running.ends() == 0
    finally:
        log.close()
        running.close()
    assert not running.err
