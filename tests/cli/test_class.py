"""`league class`: a roster becomes sign-up addresses that work, on a sheet that is shown once."""

import csv
import io
import re
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent_league.config.home import make_home
from agent_league.launch.league_start import lock_league
from agent_league.league.resume import open_store
from agent_league.storage.access import hash_key
from agent_league.storage.lock import hold_lock
from agent_league.storage.paths import DataPaths
from agent_league.storage.sql_access import SqlAccessStore
from tests.cli.command import environment, running
from tests.cli.leagues import said
from tests.conftest import free_ports

ROSTER = "student id,name,e-mail,team\n1,<b>Ada</b>,ada@x.example,Red\n2,Bob,=cmd(),Red\n3,Cy,cy@x.example,Blue\n"
LEAGUE = "league_2025_even_odd"
ADDRESS = re.compile(r"http://lab-9:8000/join/(key-[a-z2-7]{26})/mcp")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    make_home(tmp_path / "SHARED")
    return tmp_path / "SHARED"


def find_team_of(home: Path, key: str) -> str | None:
    store = open_store(home, None)
    try:
        row = SqlAccessStore(store).find_team(LEAGUE, hash_key(key))
    finally:
        store.close()
    return row.team_id if row else None


def test_a_roster_becomes_a_sheet_and_a_table_of_keys_that_are_kept_as_hashes(home: Path, tmp_path: Path) -> None:
    done = said("class", "roster.csv", "--home", home, "--public-url", "lab-9:8000")
    assert done.code == 0, done.err
    assert "has 3 students in 2 teams." in done.err
    page, table = tmp_path / f"sign-up-{LEAGUE}.html", tmp_path / f"sign-up-{LEAGUE}.csv"
    assert {stat.S_IMODE(file.stat().st_mode) for file in (page, table)} == {0o600}
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8-sig"))))
    assert [(row["student_id"], row["email"], row["team_id"]) for row in rows] == [
        ("1", "ada@x.example", "T01"),
        ("2", "'=cmd()", "T01"),
        ("3", "cy@x.example", "T02"),
    ]
    keys = [match[1] for row in rows if (match := ADDRESS.fullmatch(row["sign_up_url"]))]
    assert keys[0] == keys[1] != keys[2]
    assert [find_team_of(home, key) for key in keys] == ["T01", "T01", "T02"]
    shown = page.read_text(encoding="utf-8")
    assert set(ADDRESS.findall(shown)) == set(keys)
    assert "<b>Ada" not in shown
    assert "http" not in re.sub(r"http://lab-9:8000/", "", shown), "nothing foreign is loaded"
    assert not any(key in done.out + done.err for key in keys)
    assert not any(key.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file() for key in keys)


def test_keys_are_renewed_revoked_and_listed(home: Path) -> None:
    assert said("class", "roster.csv", "--home", home).code == 0
    again = said("class", "roster.csv", "--home", home)
    assert "2 of them keep their keys" in again.err
    new = said("class", "--renew", "red", "--home", home, "--public-url", "http://lab-9:8000/mcp")
    key = ADDRESS.fullmatch(new.out.strip())
    assert key
    assert find_team_of(home, key[1]) == "T01"
    assert "The key of Red has ended; " in said("class", "--revoke", "T01", "--home", home).err
    assert find_team_of(home, key[1]) is None
    assert "The key of Red had ended already: nothing changed; " in said("class", "--revoke", "T01", "--home", home).err
    referee = said(
        "class", "--referee-key", "--home", home, "--public-url", f"https://x.example/base/leagues/{LEAGUE}/mcp"
    ).out.strip()
    assert referee.startswith(f"https://x.example/base/leagues/{LEAGUE}/join/key-")
    assert find_team_of(home, referee.split("/")[-2]) == "referees"
    listed = said("class", "--home", home)
    assert re.search(r"T01 +│ Red +│ +2 │ revoked +│ not yet", listed.out)
    assert "0 of 2 teams signed up." in listed.err


def test_wrong_input_is_named_and_loses_nothing(home: Path, tmp_path: Path) -> None:
    assert "expected one of ROSTER.csv, --renew, --renew-all" in said("class", "a", "--renew", "b").error
    assert (
        "no team 'T9'; there are: none; `league class ROSTER.csv`"
        in said("class", "--renew", "T9", "--home", home).error
    )
    missing = said("class", "missing.csv", "--home", home)
    assert (missing.code, missing.err) == (2, "league: missing.csv can't be read: No such file or directory\n")
    (tmp_path / f"sign-up-{LEAGUE}.csv").write_text("the sheet of last year")
    assert "is there already; move it away" in said("class", "roster.csv", "--home", home).error
    assert "has no teams" in said("class", "--home", home).err
    assert said("class", "roster.csv", "--home", home, "--sheet", "this_year").code == 0
    assert (tmp_path / "this_year.html").is_file()


def test_a_class_plays_with_its_keys_from_files_and_the_environment(home: Path, tmp_path: Path) -> None:
    """As its people would type it: manager, referee and two teams, each in a terminal of its own."""
    port = free_ports(4)
    address = f"http://127.0.0.1:{port}"
    # a league that others can reach, though it is bound to this machine
    settings = ["--set", 'network.allowed_hosts=["localhost", "127.0.0.1", "lab-9"]']
    assert said("class", "roster.csv", "--home", home, "--public-url", address).code == 0
    table = (tmp_path / f"sign-up-{LEAGUE}.csv").read_text(encoding="utf-8-sig")
    red, blue = dict.fromkeys(row["sign_up_url"] for row in csv.DictReader(io.StringIO(table)))
    (tmp_path / "red.txt").write_text(f"{red}\n")
    options = ["--port", port, "--players", 2, "--referees", 1, "--home", home, "--exit-when-done", *settings]
    player = ["player", "--host", "127.0.0.1", "--exit-when-done", "--port"]
    with ExitStack() as stack:
        (manager,) = stack.enter_context(running(["manager", *options]))
        manager.prints("Waiting for 2 players")
        (stranger,) = stack.enter_context(running([*player, port + 3, "--manager", address, "--home", tmp_path / "x"]))
        stranger.prints("Registration closed")
        stranger.prints("sign-up address of their team alone")
        with_file = [
            *player,
            port + 1,
            "--key-file",
            tmp_path / "red.txt",
            "--home",
            tmp_path / "r",
            "--name",
            "Red One",
        ]
        (first,) = stack.enter_context(running(with_file))
        first.prints("Registered as P01.")
        by_environment = [*player, port + 2, "--home", tmp_path / "b", "--name", "Blue One"]
        (second,) = stack.enter_context(running(by_environment, env=environment(LEAGUE_SIGN_UP_URL=blue)))
        second.prints("Registered as P02.")
        (referee,) = stack.enter_context(running(["referee", "--port", port + 3, "--manager", address, "--home", home]))
        manager.prints("Champion")
        second.prints("R1M1 against P01: ")
        texts = [one.text for one in (manager, stranger, first, second, referee)]
    keys = [url.split("/")[-2] for url in (red, blue)]
    assert "/join/[key]/mcp" in texts[2]
    assert not any(key in text for key in keys for text in texts)
    logs = [file for folder in (home, tmp_path / "r", tmp_path / "b") for file in (folder / "logs").rglob("*.jsonl")]
    assert len(logs) > 4
    assert not any(key in file.read_text() for key in keys for file in logs)
    listed = said("class", "--home", home)
    assert re.search(r"T01 +│ Red +│ +2 │ since [\d-]+ │ P01 Red One +│ 1", listed.out)
    assert "2 of 2 teams signed up." in listed.err


def test_a_column_with_another_name_than_team_is_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("id,name,crew\n1,Ada,Red\n2,Bob,Red\n", encoding="utf-8")
    done = said("class", "roster.csv", "--home", home, "--public-url", "lab-9:8000")
    assert done.code == 0
    assert "that were not read: 'crew'; no column names the team, so everybody is a team of one." in done.err


def test_an_address_without_the_path_of_a_served_league_is_refused_before_a_key_is_made(
    home: Path, tmp_path: Path
) -> None:
    served = f"http://lab-9:8000/leagues/{LEAGUE}"
    with lock_league(home, LEAGUE, f"http://localhost:8000/leagues/{LEAGUE}/mcp"):
        refused = said("class", "roster.csv", "--home", home, "--public-url", "http://lab-9:8000")
        assert (refused.code, f"expected {served}, found http://lab-9:8000." in refused.err) == (2, True), refused.err
        assert not (tmp_path / f"sign-up-{LEAGUE}.html").exists()
        assert said("class", "roster.csv", "--home", home, "--public-url", served).code == 0
    before = said("class", "--renew", "Red", "--home", home, "--public-url", "http://lab-9:8000")
    assert (before.code, f"For `league serve` name {served} with --public-url." in before.err) == (0, True), before.err
    revoked = said("class", "--revoke", "Red", "--home", home)
    assert f"`league class --renew T01 --league-id {LEAGUE}` makes another" in revoked.err


def test_a_league_that_the_server_has_not_found_yet_has_its_address_there(home: Path, tmp_path: Path) -> None:
    with hold_lock(DataPaths(home).server_lock_file, "http://localhost:8000 (process 1)"):
        done = said("class", "roster.csv", "--home", home)
    assert (done.code, "isn't running" in done.err) == (0, False), done.err
    made = (tmp_path / f"sign-up-{LEAGUE}.csv").read_text(encoding="utf-8-sig")
    assert f"http://localhost:8000/leagues/{LEAGUE}/join/key-" in made


def test_an_address_of_another_league_is_refused_before_a_key_is_made(home: Path, tmp_path: Path) -> None:
    refused = said("class", "roster.csv", "--home", home, "--public-url", "http://lab-9:8000/leagues/spring")
    assert f"--public-url names the league spring, but these keys are those of {LEAGUE}" in refused.error
    assert "--league-id spring, or its address with --public-url http://lab-9:8000/leagues/" + LEAGUE in refused.error
    assert not (tmp_path / f"sign-up-{LEAGUE}.html").exists()
    assert "has no teams" in said("class", "--home", home).err


def test_a_sheet_with_wrong_addresses_is_made_anew_for_all_teams_but_revoked_ones(home: Path, tmp_path: Path) -> None:
    assert f"{LEAGUE} has no team with a key" in said("class", "--renew-all", "--home", home).error
    assert said("class", "roster.csv", "--home", home, "--sheet", "wrong").code == 0
    (tmp_path / "roster.csv").write_text(f"{ROSTER}4,Di,di@x.example,Green\n", encoding="utf-8")
    assert "No sheet was written" not in said("class", "roster.csv", "--home", home, "--sheet", "green").err
    again = said("class", "roster.csv", "--home", home, "--public-url", "lab-9:8000")
    assert f"`league class --renew-all --league-id {LEAGUE} --public-url lab-9:8000` writes another" in again.err
    assert said("class", "--revoke", "Green", "--home", home).code == 0
    done = said("class", "--renew-all", "--home", home, "--public-url", "lab-9:8000")
    assert (done.code, "2 new keys" in done.err) == (0, True), done.err
    assert "those that dial out only as long as they stay connected" in done.err
    rows = list(csv.DictReader(io.StringIO((tmp_path / f"sign-up-{LEAGUE}.csv").read_text(encoding="utf-8-sig"))))
    keys = {row["team"]: match[1] for row in rows if (match := ADDRESS.fullmatch(row["sign_up_url"]))}
    assert {team: find_team_of(home, key) for team, key in keys.items()} == {"Red": "T01", "Blue": "T02"}
    wrong = (tmp_path / "wrong.csv").read_text(encoding="utf-8-sig")
    assert {find_team_of(home, key) for key in re.findall(r"key-[a-z2-7]{26}", wrong)} == {None}
