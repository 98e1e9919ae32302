"""A class from the CSV of whatever wrote it, and the keys of its teams."""

import pytest

from agent_league.errors import UserError
from agent_league.league.class_roster import Student, find_team, parse_roster, renew_key, update_teams
from agent_league.storage.access import TeamRow, hash_key

ADA, BOB = Student("1", "Ada Lovelace", "ada@x.example", "Red"), Student("2", "Bob, jr.", "bob@x.example", "Blue")


@pytest.mark.parametrize(
    "text",
    [
        'student id,name,e-mail,team\n1,Ada Lovelace,ada@x.example,Red\n2,"Bob, jr.",bob@x.example,Blue\n',
        (
            "\ufeffTeam;Email address;Student_ID;Name\r\nRed;ada@x.example;1;Ada Lovelace\r\n"
            "Blue;bob@x.example;2;Bob, jr.\r\n;;;\r\n"
        ),
        (
            "SIS User ID\tGroup name\tMail\tFull name\n1\tRed\tada@x.example\tAda  Lovelace\n\n"
            "2\t Blue \tbob@x.example\tBob, jr."
        ),
        (
            '"Email","Group","ID number","First name","Surname"\n"ada@x.example","Red","1","Ada","Lovelace"\n'
            '"bob@x.example","Blue","2","Bob,","jr."\n'
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_roster_is_read_under_the_names_that_people_use(text: str, encoding: str) -> None:
    assert parse_roster(text.encode(encoding), "roster.csv").students == [ADA, BOB]


def test_a_sheet_of_an_old_spreadsheet_is_read_too() -> None:
    assert parse_roster("id,name,team\n1,Jürgen,Löwen\n".encode("cp1252"), "r").students[0].team == "Löwen"


def test_whoever_has_no_team_is_one() -> None:
    students = parse_roster(b"id,name,team\n1,Ada,\n2,,\n3,Eve,Red\n", "r").students
    assert [student.team for student in students] == ["Ada", "2", "Red"]
    assert parse_roster(b"id\n7\n", "r").students == [Student("7", "", "", "7")]


def test_columns_that_nobody_reads_are_told() -> None:
    text = "sep=;\r\nMatrikelnummer;Vorname;Nachname;Übungs-Nr.;\r\n1;Jürgen;Müller;4;\r\n"
    read = parse_roster(text.encode("utf-8-sig"), "r")
    assert read.students == [Student("1", "Jürgen Müller", "", "Jürgen Müller")]
    assert (read.unread, read.has_teams) == (["Übungs-Nr."], False)
    assert parse_roster(b"id,Gruppe\n1,Red\n", "r").has_teams


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "roster.csv: expected a line of column names and 1 to 10000 students, found 0 lines"),
        (b"id,name\n", "roster.csv has column names and no students"),
        (
            b"name,team\nAda,Red\n",
            "no column with the student's id; expected the columns student id, name, e-mail and team",
        ),
        (b"id,name\n1,Ada\n,Bob\n", "roster.csv, line 3: expected a student's id, found none in ' Bob'"),
        (b"id\n1\n2\n1\n", "roster.csv, line 4: student '1' stands in line 2 already"),
        (b'id\n"1\n', "roster.csv can't be read as CSV: unexpected end of data"),
        (b"PK\x03\x04\0\0", "roster.csv is no CSV but something binary; save the sheet as CSV"),
    ],
)
def test_what_is_no_roster_is_refused_by_its_line(content: bytes, problem: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_roster(content, "roster.csv")
    assert problem in str(refused.value)


def test_known_teams_keep_their_keys_and_new_ones_get_some() -> None:
    first = update_teams("spring", [], [ADA, BOB], "2026-03-01T12:00:00Z")
    assert [row.team_id for row in first.rows] == ["T01", "T02"]
    assert [one.team for one in first.issued] == first.rows
    assert all(hash_key(one.key) == one.team.key_sha256 for one in first.issued)
    assert first.rows[0].students == [{"student_id": "1", "name": "Ada Lovelace", "email": "ada@x.example"}]
    eve = Student("3", "Eve", "", "Green")
    referees = TeamRow("spring", "referees", "Referees", "referee")
    moved = Student("2", "Bob, jr.", "bob@x.example", " RED ")
    second = update_teams("spring", [*first.rows, referees], [ADA, moved, eve], "2026-04-01T12:00:00Z")
    assert [(row.team_id, len(row.students)) for row in second.rows] == [("T01", 2), ("T03", 1)]
    assert second.rows[0].key_sha256 == first.rows[0].key_sha256
    assert [one.team.name for one in second.issued] == ["Green"]
    assert [row.name for row in second.unnamed] == ["Blue"]


def test_a_team_is_found_by_id_or_name_and_gets_another_key() -> None:
    rows = update_teams("spring", [], [ADA, BOB], "2026-03-01T12:00:00Z").rows
    assert find_team(rows, "t02") is find_team(rows, " blue ") is rows[1]
    renewed = renew_key(rows[1], "2026-04-01T12:00:00Z")
    assert renewed.team.key_sha256 == hash_key(renewed.key) != rows[1].key_sha256
    with pytest.raises(UserError, match=r"there is no team 'x'; there are: T01 \(Red\), T02 \(Blue\)"):
        find_team(rows, "x")
