"""`league grades`: each form is read back as the gradebook that imports it would."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest

from agent_league.config.home import make_home
from agent_league.config.models import LeagueConfig
from tests.cli.leagues import play, said
from tests.conftest import BOUND
from tests.serve.stage import players, serving, write_league

ROSTER = """\
Student ID,Name,E-mail,Team
1001,Ada Lovelace,ada@example.org,Agent Alpha
1002,=cmd|' /C calc'!A0,grace@example.org,Agent Beta
1003,Alan Turing,alan@example.org,Agent Beta
0042,Kurt Gödel,kurt@example.org,Nobody came
"""
EXPORT = """\
Student,ID,SIS User ID,SIS Login ID,Section,Essay (77),Final Score
    Points Possible,,,,,10,(read only)
"Lovelace, Ada",501,1001,ada,CS 1,9,90
"Turing, Alan",503,1003,alan@example.org,CS 1,-1,70
"Gödel, Kurt",504,0042,kurt,CS 1,,60
"Stranger, A",999,9999,stranger,CS 1,5,50
"Student, Test",600,,,CS 1,,
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grades")
    play(folder / "SHARED", players=3, strategies=("first_legal", "minimax", "last_legal"))
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (folder / "export.csv").write_text(EXPORT, encoding="utf-8")
    return folder


def grade(home: Path, *options: object) -> list[dict[str, str]]:
    done = said("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", *options)
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


def table(home: Path) -> dict[str, dict[str, int]]:
    rows = said("show", "standings", "--json", "--home", home / "SHARED").json["standings"]
    return {row["display_name"]: row for row in rows}


def test_the_full_table_has_all_that_a_teacher_is_asked_for(home: Path) -> None:
    rows, standings = grade(home, "--public-url", "http://class.example:8000"), table(home)
    ada, _, alan, kurt = rows
    alpha = standings["Agent Alpha"]
    assert (ada["student_id"], ada["email"], ada["team"]) == ("1001", "ada@example.org", "Agent Alpha")
    assert [int(ada[name]) for name in ("rank", "points", "played")] == [
        alpha["shared_rank"],
        alpha["points"],
        alpha["played"],
    ]
    assert float(ada["grade"]) == alpha["points"]
    assert float(ada["rating_low"]) < float(ada["rating"]) < float(ada["rating_high"])
    assert (ada["technical_losses"], ada["version"], ada["remark"]) == ("0", "1.0.0", "")
    assert ada["evidence"] == f"http://class.example:8000/players/{ada['player_id']}"
    assert alan["player_id"] == rows[1]["player_id"], "a team's students have one agent"
    assert (kurt["student_id"], kurt["player_id"], float(kurt["grade"])) == ("0042", "", 0)
    assert kurt["remark"] == "Nobody came has no agent in the league."


async def test_links_of_a_stopped_league_have_its_path_or_are_left_out(tmp_path: Path) -> None:
    served = tmp_path / "SHARED"
    make_home(served)
    write_league(served, "spring", participants={"start_with": 2})
    async with (
        asyncio.timeout(BOUND),
        serving(served) as stage,
        players(served, f"{stage.root}/leagues/spring/mcp", ["Ann", "Bob"]),
    ):
        await stage.wait_for_end("spring")
    asked = ("grades", "--home", served, "--league-id", "spring")
    without = said(*asked)
    assert {row["evidence"] for row in csv.DictReader(io.StringIO(without.out))} == {""}
    assert "Links to players' pages are left out: spring isn't running" in without.err
    system = served / "config" / "system.json"
    configured = json.loads(system.read_text())
    configured.setdefault("network", {})["public_url"] = "https://class.example/x"
    system.write_text(json.dumps(configured))
    linked = said(*asked)
    assert "left out" not in linked.err
    pages = {row["player_id"]: row["evidence"] for row in csv.DictReader(io.StringIO(linked.out))}
    assert pages == {one: f"https://class.example/x/leagues/spring/players/{one}" for one in ("P01", "P02")}


def test_a_cell_that_a_spreadsheet_would_run_is_text(home: Path) -> None:
    assert grade(home)[1]["name"] == "'=cmd|' /C calc'!A0"
    assert all(not row["First Name"].startswith("=") for row in grade(home, "--gradescope"))


def test_canvas_gets_its_own_file_back_with_one_column_more(home: Path) -> None:
    done = said(
        *("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", "--canvas", home / "export.csv")
    )
    header, points, *rows = csv.reader(io.StringIO(done.out))
    before = list(csv.reader(io.StringIO(EXPORT)))
    assert header[:-1] == before[0]
    assert [row[:-1] for row in (points, *rows)] == before[1:]
    assert points[-1] == "100"
    grades = {row[2]: row[-1] for row in rows}
    assert float(grades["1001"]) == table(home)["Agent Alpha"]["points"]
    assert float(grades["1003"]) == table(home)["Agent Beta"]["points"]
    assert float(grades["0042"]) == 0
    assert grades["9999"] == grades[""] == ""
    assert "In the export and not in the class: 'Stranger, A', 'Student, Test'." in done.err
    assert "In the class and not in the export" in done.err


def test_a_column_that_canvas_knows_is_filled(home: Path, tmp_path: Path) -> None:
    path = home / "SHARED/config/leagues/league_tic_tac_toe.json"
    path.write_text(
        json.dumps({"league_id": "league_tic_tac_toe", "game_type": "tic_tac_toe", "grading": {"assignment": "Essay"}})
    )
    done = said(
        *("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", "--canvas", home / "export.csv")
    )
    path.unlink()
    header, points, ada, *_ = csv.reader(io.StringIO(done.out))
    assert header == EXPORT.split("\n", 1)[0].split(",")
    assert points[5] == "10", "the points possible are Canvas's"
    assert float(ada[5]) == table(home)["Agent Alpha"]["points"]
    assert ada[6] == "90"


def test_moodle_and_gradescope_find_student_and_score(home: Path) -> None:
    points = table(home)["Agent Alpha"]["points"]
    moodle = grade(home, "--moodle")[0]
    identifier, email, score, feedback = moodle.values()
    assert (identifier, email, float(score)) == ("1001", "ada@example.org", points)
    assert list(moodle)[:2] == ["ID number", "Email address"]
    assert f"with {points} point" in feedback
    scope = grade(home, "--gradescope")[0]
    assert (scope["First Name"], scope["Last Name"], scope["SID"]) == ("Ada", "Lovelace", "1001")
    assert (float(scope["Total Score"]), scope["Max Points"], scope["Status"]) == (points, "100", "Graded")


def test_a_formula_may_use_marks_and_tells_who_has_no_grade(home: Path, tmp_path: Path) -> None:
    marks = tmp_path / "marks.csv"
    marks.write_text("Student ID,Docs quality\n1001,3.5\n")
    options = ("--marks", marks, "--formula", "rank * 0 + docs_quality * 2")
    done = said("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", *options)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert float(rows[0]["grade"]) == 7
    assert rows[1]["grade"] == ""
    assert "No grade for 'Alan Turing': docs_quality isn't known." in done.err
    assert "No grade for 'Kurt Gödel': Nobody came has no agent in the league, and rank isn't known." in done.err


def test_a_mistake_in_the_league_file_s_formula_is_told_at_the_start() -> None:
    with pytest.raises(ValueError, match="expected a number, a column or"):
        LeagueConfig.model_validate({"league_id": "x", "game_type": "nim", "grading": {"formula": "points +"}})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--moodle", "--gradescope"), "expected one of --canvas, --moodle, --gradescope and --everything"),
        (("--formula", "pints"), "--formula: there is no column pints"),
        (("--canvas", "missing.csv"), "missing.csv can't be read: No such file or directory"),
        (("--marks", __file__), "expected a line of column names, the student id first"),
    ],
)
def test_mistakes_are_told(home: Path, options: tuple[str, ...], sentence: str) -> None:
    done = said("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", *options)
    assert done.code
    assert sentence in done.error


def test_another_file_is_no_gradebook_of_canvas(home: Path) -> None:
    done = said(
        *("grades", "--home", home / "SHARED", "--roster", home / "roster.csv", "--canvas", home / "roster.csv")
    )
    assert "isn't a gradebook that Canvas exported" in done.error
    assert "has 'Student ID, Name, E-mail, Team'" in done.error


def test_without_a_roster_players_are_graded_and_no_gradebook_is_made(home: Path) -> None:
    done = said("grades", "--home", home / "SHARED")
    assert {row["display_name"] for row in csv.DictReader(io.StringIO(done.out))} == set(table(home))
    assert "has no roster" in said("grades", "--moodle", "--home", home / "SHARED").error
