"""`league show`: what the store has, in tables and as JSON, and what is wrong in a sentence."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.show import _describe_match, _describe_outcome
from agent_league.config.models import SchedulingConfig
from agent_league.league.resume import open_store
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.storage.base import MatchRow, SavedSeason
from agent_league.storage.lock import hold_lock
from agent_league.storage.paths import DataPaths
from tests.cli.command import LEAGUE, league
from tests.cli.leagues import in_terminal, keep, play, said
from tests.conftest import BOUND
from tests.web.format_seasons import CUP

LEAGUE_ID = "league_tic_tac_toe"
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def stored(home: Path) -> SavedSeason:
    store = open_store(home, None)
    try:
        saved = store.read_season(LEAGUE_ID)
    finally:
        store.close()
    assert saved
    return saved


def match_of(home: Path, match_id: str = "R1M1") -> MatchRow:
    return next(match for match in stored(home).matches if match.match_id == match_id)


def file_of(home: Path, match_id: str = "R1M1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "data" / "matches" / LEAGUE_ID / f"{match_id}.json").read_text())
    return found


def test_the_standings_are_those_of_the_store(played: Path) -> None:
    told = said("show", "standings", "--home", played, "--json").json
    points = dict.fromkeys((row["player_id"] for row in told["standings"]), 0)
    for match in stored(played).matches:
        assert match.result
        for player_id in (match.player_a, match.player_b):
            winner = match.result["winner"]
            points[player_id] += 3 if winner == player_id else 1 if winner is None else 0
    assert {row["player_id"]: row["points"] for row in told["standings"]} == points
    assert (told["phase"], told["matches_played"], told["total_matches"], told["total_rounds"]) == (
        "COMPLETED",
        6,
        6,
        3,
    )
    printed = said("show", "standings", "--home", played).out
    assert all(row["display_name"] in printed for row in told["standings"])
    champions = [row for row in told["standings"] if row["shared_rank"] == 1]
    assert [one["player_id"] for one in told["champions"]] == [row["player_id"] for row in champions]
    assert "The league is over: 6 matches in 3 rounds. Champion" in printed
    assert all(f"{row['display_name']} ({row['player_id']})" in printed for row in champions)
    assert all(list(row["tiebreaks"]) == ["wins", "head_to_head", "draws"] for row in told["standings"])


def test_what_is_shown_of_a_league_that_nothing_is_asked_of_is_its_table(played: Path) -> None:
    assert said("show", "--home", played) == said("show", "standings", "--home", played)


def test_the_schedule_has_every_match_and_a_round_its_own(played: Path) -> None:
    whole = said("show", "schedule", "--home", played)
    assert all(match.match_id in whole.out for match in stored(played).matches)
    second = said("show", "schedule", "--home", played, "--round", 2, "--json").json
    assert [match["match_id"] for round_ in second["rounds"] for match in round_["matches"]] == ["R2M1", "R2M2"]


def test_a_match_tells_players_result_moves_times_and_what_leads_further(played: Path) -> None:
    row, file = match_of(played), file_of(played)
    told = said("show", "match", "R1M1", "--home", played, "--json").json
    assert [player["player_id"] for player in told["players"]] == [row.player_a, row.player_b]
    assert told["moves"] == file["moves"]
    assert told["result"]["winner_player_id"] == file["result"]["winner_player_id"]
    answers = [entry for entry in file["transcript"] if entry["direction"] == "received"]
    assert sum(calls["answers"] for calls in told["calls"].values()) == len(answers)
    slowest = max(entry["latency_ms"] for entry in answers)
    assert max(calls["slowest_ms"] for calls in told["calls"].values()) == slowest
    printed = said("show", "match", "r1m1", "--home", played).out
    assert file["result"]["reason"] in printed
    assert f"Referee: {file['referee_id']}" in printed
    assert f"league verify {played}" in printed
    assert "league replay R1M1" in printed
    assert "league logs --match R1M1" in printed


def test_the_commands_under_a_match_can_be_copied_and_run(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "it's a folder"
    shutil.copytree(played, home)
    monkeypatch.setenv("AGENT_LEAGUE_COMMAND", shlex.join(LEAGUE))
    printed = said("show", "match", "R1M1", "--home", home).out
    commands = [line for line in printed.splitlines() if line.startswith(shlex.join(LEAGUE))]
    assert [shlex.split(command)[len(LEAGUE)] for command in commands] == ["replay", "logs", "verify"]
    last = subprocess.run(["sh", "-c", commands[-1]], capture_output=True, text=True, timeout=BOUND, check=False)
    for done in [last, *(league(*shlex.split(command)[len(LEAGUE) :]) for command in commands[:-1])]:
        assert (done.returncode, done.stderr) == (0, "")


def test_a_void_match_is_no_technical_loss_of_anybody() -> None:
    result = {"status": "TECHNICAL_LOSS", "winner_player_id": None, "details": {"fault": "nobody reported it"}}
    told = {"referee_id": "REF01", "reason": None, "lifecycle": None}
    ending = {"terminations": {"P01": "void", "P02": "void"}, "tolerated": {}}
    lines = list(_describe_match({**told, "result": {**result, **ending}}, ["P01", "P02"]))
    assert lines == ["Referee: REF01", "Result: void, it counts for nobody", "Reason: nobody reported it"]
    void = dict.fromkeys(("P01", "P02"), Termination.VOID)
    recorded = MatchResult("R1M1", 1, ("P01", "P02"), Outcome.TECHNICAL_LOSS, None, terminations=void)
    assert _describe_outcome(result, recorded) == "aborted"


def test_a_match_within_one_second_took_some_time() -> None:
    moments = [{"at": f"2025-01-15T10:30:0{second}Z"} for second in (0, 0, 2)]
    told = {"referee_id": "REF01", "result": None}
    lines = [list(_describe_match({**told, "lifecycle": moments[:count]}, ["P01", "P02"]))[-1] for count in (2, 3)]
    assert [line.rpartition(" (")[2] for line in lines] == ["under 1 s)", "2 s)"]


def test_a_match_without_its_file_still_has_its_result(played: Path, tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    season = keep(home, 4)
    told = said("show", "match", "R1M1", "--home", home, "--json").json
    assert (told["moves"], told["calls"], told["file"]) == (None, None, None)
    assert told["result"]["winner_player_id"] == season.results["R1M1"].winner
    assert (
        "What was said is not known here: not in this SHARED folder; referee "
        in said("show", "match", "R1M1", "--home", home).out
    )


def test_a_player_is_found_by_id_or_name_with_record_form_and_meetings(played: Path) -> None:
    told = said("show", "player", "P01", "--home", played, "--json").json
    own = [match for match in stored(played).matches if "P01" in (match.player_a, match.player_b)]
    winners = [match.result["winner"] for match in own if match.result]
    assert told["form"] == ["D" if winner is None else "W" if winner == "P01" else "L" for winner in winners]
    assert sum(match["points"] for match in told["matches"]) == told["points"]
    assert {meeting["opponent_id"] for meeting in told["head_to_head"]} == {"P02", "P03", "P04"}
    assert said("show", "player", told["display_name"].upper(), "--home", played, "--json").json == told
    assert f"Form: {' '.join(told['form'])}" in said("show", "player", "p01", "--home", played).out


def test_form_has_a_letter_for_each_result_draws_too(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    season = keep(home, 8)
    letters = set()
    for row in season.standings():
        told = said("show", "player", row.player_id, "--home", home, "--json").json
        assert [told["form"].count(letter) for letter in "WDL"] == [row.wins, row.draws, row.losses]
        letters |= set(told["form"])
    assert letters == set("WDL")


def test_those_who_met_more_than_once_have_a_table_of_their_meetings(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    play(home, "even_odd", players=2, protocol="v1")
    told = said("show", "player", "P01", "--home", home, "--json").json
    assert [meeting["played"] for meeting in told["head_to_head"]] == [2]
    assert "Head to head" in said("show", "player", "P01", "--home", home).out


def test_a_league_that_runs_says_how_far_it_is(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    season = keep(home, 4, 3)
    assert "3 of 6 matches played, 1 of 3 rounds completed." in said("show", "standings", "--home", home).out
    running = next(match_id for match_id in season.assigned_referees if match_id not in season.results)
    assert said("show", "match", running, "--home", home, "--json").json["state"] == "RUNNING"
    assert said("show", "match", "R3M1", "--home", home, "--json").json["state"] == "PENDING"
    assert "What is played shows once the match is over." in said("show", "match", running, "--home", home).out
    assert "being played" in said("show", "schedule", "--home", home).out


def test_a_league_that_waits_shows_who_is_there_and_has_no_match_yet(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    keep(home, 3, started=False)
    assert "Registration is open; 3 players so far." in said("show", "standings", "--home", home).out
    assert said("show", "match", "R1M1", "--home", home).error.startswith("No match 'R1M1': the league hasn't started")


def test_whoever_looks_is_not_the_manager_and_makes_no_database(played: Path, tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    season = keep(home, 4, 3)
    manager = open_store(home, None)
    opened = manager.open_season(season.league_id)
    assert opened
    said("show", "standings", "--home", home)
    manager.write_rows(opened.season.season_id, [opened.season])  # raises Deposed where somebody else has opened it
    manager.close()
    (home / "data" / "league.db").rename(home / "data" / "other.db")
    assert "knows no league league_of_tests" in said("show", "standings", "--home", home).error
    assert not (home / "data" / "league.db").exists()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["match", "R9M9"], "No match 'R9M9' in this league (there are: R1M1, R1M2,"),
        (["player", "P1"], "No player 'P1' in this league (did you mean P01? there are: P01, P02, P03, P04)."),
        (["match"], "league show match: expected its id, such as `league show match R1M1`"),
        (["standings", "P01"], "league show standings: takes no id"),
        (["R1M1"], "R1M1 is the id of a match: `league show match R1M1` shows it."),
        (["p02"], "p02 is the id of a player: `league show player p02` shows it."),
        (
            ["standing"],
            "(did you mean standings? there are: standings, schedule, groups, bracket, match, player, audit, ladder)",
        ),
        (["standings", "--round", "1"], "--round is for `league show schedule`"),
        (["schedule", "--round", "9"], "--round 9: no such round; there are rounds 1 to 3"),
        (["standings", "--league-id", "other"], "The database knows no league other (there are: league_tic_tac_toe)"),
        (["standings", "--league-id", "../x"], "--league-id '../x' can't be a league's id"),
        (
            ["standings", "--store", "sqlite:////nowhere/x.db"],
            "is kept in its own data/league.db, not in /nowhere/x.db",
        ),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(played: Path, args: list[str], sentence: str) -> None:
    done = said("show", *args, "--home", played)
    assert sentence in done.error
    assert not done.out


def test_a_folder_without_a_league_says_how_to_get_one(home: Path) -> None:
    assert said("show", "standings", "--home", home).error == (
        f"No league was played in {home} yet; `league run --home {home}` plays one."
    )


def test_of_several_leagues_the_latest_is_shown_and_named(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    keep(home, 2)
    earlier = home / "data" / "leagues" / "league_nim"
    earlier.mkdir(parents=True)
    os.utime(earlier, (0, 0))
    shown = said("show", "standings", "--home", home)
    assert shown.code == 0
    assert shown.err == "This is league_of_tests, the latest; --league-id chooses another: league_nim.\n"
    named = said("show", "standings", "--home", home, "--league-id", "league_of_tests")
    assert (named.code, named.err) == (0, "")


def test_of_several_leagues_the_one_that_runs_is_shown_though_another_is_later(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    keep(home, 2)
    (home / "data" / "leagues" / "league_nim").mkdir(parents=True)
    os.utime(home / "data" / "league_of_tests.store.json", (0, 0))
    with hold_lock(DataPaths(home).lock_file("league_of_tests"), "http://localhost:8000/mcp (process 1)"):
        shown = said("show", "standings", "--home", home)
    assert shown.err == "This is league_of_tests, the one that runs; --league-id chooses another: league_nim.\n"


def test_of_many_matches_only_the_ends_are_named(tmp_path: Path) -> None:
    home = tmp_path / "SHARED"
    keep(home, 20)
    error = said("show", "match", "x", "--home", home).error
    assert error == "No match 'x' in this league; there are 190, R1M1 to R19M10: `league show schedule` lists them."


LONG = "a rather long name that goes on and on and on until nobody can bear it any longer, and then goes on"


@pytest.mark.parametrize("what", [["standings"], ["schedule"], ["player", "P01"], ["match", "R1M1"]])
def test_a_pipe_gets_whole_lines_and_a_stranger_s_words_as_text(tmp_path: Path, what: list[str]) -> None:
    home = tmp_path / "SHARED"
    keep(home, 2, names=[LONG, "\x1b[2J[red]evil\u202e"])
    printed = said("show", *what, "--home", home).out
    assert LONG in printed
    assert "\\x1b[2J[red]evil\\u202e" in printed
    assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize("what", [["standings"], ["schedule"], ["player", "P01"], ["match", "R1M1"]])
def test_a_terminal_of_80_columns_is_enough(played: Path, what: list[str]) -> None:
    text = in_terminal("show", *what, "--home", played)
    tables = [line for line in COLOURS.sub("", text).splitlines() if line.startswith(("┏", "│", "└"))]
    assert tables
    assert max(map(len, tables)) <= 80
    assert "…" not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"lifecycle": ["x"]},
        {"lifecycle": 5},
        {"moves": 7},
        {"moves": [{}, "x"]},
        {"transcript": [{"at": "x", "direction": "failed", "player_id": "P01"}]},
        {"transcript": [{"at": "x", "direction": "sent", "player_id": ["P01"]}]},
    ],
)
def test_whatever_a_match_file_says_a_match_is_shown(played: Path, changes: dict[str, Any]) -> None:
    path = played / "data/matches/league_tic_tac_toe/R1M1.json"
    kept = path.read_bytes()
    path.write_text(json.dumps(json.loads(kept) | changes))
    try:
        for args in (["show", "match", "R1M1"], ["replay", "R1M1", "--conversation"], ["logs", "--match", "R1M1"]):
            done = said(*args, "--home", played)
            assert (done.code, done.error) == (0, "")
            assert done.out
    finally:
        path.write_bytes(kept)


def test_a_bracket_is_shown_level_by_level(tmp_path: Path) -> None:
    season = keep(tmp_path, 5, 1, scheduling=SchedulingConfig(format="knockout"))
    told = said("show", "bracket", "--home", tmp_path)
    lines = told.out.splitlines()
    assert lines[1:3] == ["Quarter-finals", lines[2]]
    assert re.fullmatch(r"  P04 Player 4 \d - \d P05 Player 5 (P0[45] wins|goes on|being played) *", lines[2])
    assert any("winner of semi-final 1" in line for line in lines)
    assert lines[-1].startswith(season.schedule.rounds[-1].title)
    levels = said("show", "bracket", "--home", tmp_path, "--json").json["brackets"][0]["levels"]
    assert [level["title"] for level in levels] == ["Quarter-finals", "Semi-finals", "Final"]
    screen = COLOURS.sub("", in_terminal("show", "bracket", "--home", tmp_path))
    assert max(map(len, screen.splitlines())) <= 80


def test_groups_are_shown_with_who_would_go_on(tmp_path: Path) -> None:
    keep(tmp_path, 8, 5, scheduling=SchedulingConfig.model_validate(CUP))
    told = said("show", "groups", "--home", tmp_path)
    assert told.out.count("would go on") == 4
    assert "The first 2 of each group go to the knockout." in told.out
    groups = said("show", "groups", "--home", tmp_path, "--json").json["groups"]
    assert [(group["name"], len(group["rows"])) for group in groups] == [("A", 4), ("B", 4)]
    assert "The bracket begins with its stage." in said("show", "bracket", "--home", tmp_path).out
    standings = said("show", "standings", "--home", tmp_path)
    assert "Stage 1 of 2, group stage. Round 2 of 3 in 2 groups of 4" in standings.out
    assert "show groups" in standings.out
    assert said("show", "standings", "--home", tmp_path, "--json").json["format"] == "groups, then knockout"


def test_why_players_meet_is_shown_with_a_round_and_with_a_player(tmp_path: Path) -> None:
    season = keep(tmp_path, 5, 5, scheduling=SchedulingConfig(format="swiss"))
    latest = season.schedule.rounds[-1]
    told = said("show", "schedule", "--round", latest.round_id, "--home", tmp_path).out
    for pairing in latest.pairings:
        assert f"{pairing.match_id}: {pairing.reason}" in told
    ((bye, why),) = latest.byes.items()
    assert f"{bye} Player {int(bye[1:])} has no opponent: {why}" in told
    player = said("show", "player", bye, "--home", tmp_path)
    assert f"Round {latest.round_id}, no opponent: {why}" in player.out
    assert all(match["reason"] for match in said("show", "player", bye, "--home", tmp_path, "--json").json["matches"])


def test_a_league_without_bracket_or_groups_says_what_it_is(played: Path, tmp_path: Path) -> None:
    assert "this league has none; it is a round robin." in said("show", "bracket", "--home", played).error
    keep(tmp_path, 4, started=False, scheduling=SchedulingConfig(format="groups"))
    assert "there is none before the league starts" in said("show", "groups", "--home", tmp_path).error
