"""Reads a class from the CSV that a course system or a spreadsheet writes, and gives its teams keys.

Knows how people name columns and which separators and encodings spreadsheets use; nothing of stores or addresses.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent_league.errors import UserError
from agent_league.storage.access import TeamRow, create_key, hash_key
from agent_league.text import MAX_WORD, quote, shorten, to_printable

COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "student_id": (
        *("student id", "id", "student number", "student no", "sid", "sis user id", "sis id", "id number", "user id"),
        *("matriculation number", "matrikelnummer", "student", "login id", "username"),
    ),
    "name": ("name", "full name", "student name", "display name"),
    "first_name": ("first name", "given name", "forename", "vorname"),
    "last_name": ("last name", "surname", "family name", "nachname"),
    "email": ("e mail", "email", "email address", "e mail address", "mail"),
    "team": ("team", "team name", "group", "group name", "groups", "gruppe", "gruppenname"),
}
"""Our names of columns, and theirs in the order of preference: lower case, with blanks for other signs."""
SEPARATORS = ",;\t"
MAX_TEAM_NAME = 80
MAX_ROWS = 10_000
_SEPARATOR_LINE = re.compile(r"\Asep=[,;\t]\r?\n")
"""What Excel writes before the column names, to tell itself which separator it used."""
_OTHER_SIGNS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Student:
    """A line of the roster."""

    student_id: str
    name: str
    email: str
    team: str


@dataclass(frozen=True, slots=True)
class ParsedRoster:
    """The students of a roster, and the titles of its columns that have no meaning for a class."""

    students: Sequence[Student]
    unread: Sequence[str] = ()
    has_teams: bool = True
    """Whether a column names the teams."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A team with the key that was just made for it; the key is in clear only here."""

    team: TeamRow
    key: str


@dataclass(frozen=True, slots=True)
class RosterUpdate:
    """What a roster changes: the rows to write, the keys that were made, and the teams that it doesn't name."""

    rows: Sequence[TeamRow]
    issued: Sequence[IssuedKey]
    unnamed: Sequence[TeamRow]


def parse_roster(content: bytes, name: str) -> ParsedRoster:
    """Parse a roster; raises UserError that names the line and what was expected there."""
    text = _SEPARATOR_LINE.sub("", _decode(content, name))
    header = text.partition("\n")[0]
    separator = max(SEPARATORS, key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise UserError(f"{name} can't be read as CSV: {error}") from None
    if not lines or len(lines) > MAX_ROWS:
        raise UserError(
            f"{name}: expected a line of column names and 1 to {MAX_ROWS} students, found {len(lines)} lines"
        )
    columns = _find_columns(lines[0], name)
    students: dict[str, tuple[int, Student]] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        student = _read_student(cells, columns, f"{name}, line {number}")
        if student.student_id in students:
            first = students[student.student_id][0]
            raise UserError(
                f"{name}, line {number}: student {quote(student.student_id)} stands in line {first} already"
            )
        students[student.student_id] = (number, student)
    if not students:
        raise UserError(f"{name} has column names and no students")
    unread = [to_printable(title, MAX_WORD) for at, title in enumerate(lines[0]) if at not in columns.values()]
    return ParsedRoster([student for _, student in students.values()], [*filter(str.strip, unread)], "team" in columns)


def update_teams(league_id: str, known: Sequence[TeamRow], students: Sequence[Student], now: str) -> RosterUpdate:
    """Bring the teams of a league up to a roster: known ones keep their keys, new ones get some."""
    players = [row for row in known if row.role == "player"]
    by_name = {_fold_name(row.name): row for row in players}
    members: dict[str, list[Student]] = {}
    for student in students:
        members.setdefault(_fold_name(student.team), []).append(student)
    number = max((int(row.team_id[1:]) for row in players if row.team_id[1:].isdigit()), default=0)
    rows, issued = [], []
    for name, team in members.items():
        row = by_name.get(name)
        if row is None:
            number += 1
            row, key = _make_key(TeamRow(league_id, f"T{number:02}", team[0].team), now)
            issued.append(IssuedKey(row, key))
        people = [{"student_id": one.student_id, "name": one.name, "email": one.email} for one in team]
        rows.append(replace(row, students=people))
    issued = [replace(one, team=next(row for row in rows if row.team_id == one.team.team_id)) for one in issued]
    return RosterUpdate(rows, issued, [row for row in players if _fold_name(row.name) not in members])


def renew_key(row: TeamRow, now: str) -> IssuedKey:
    """Give a team a new key; the old one ends."""
    renewed, key = _make_key(row, now)
    return IssuedKey(renewed, key)


def find_team(rows: Sequence[TeamRow], wanted: str) -> TeamRow:
    """Find a team by its id or name; raises UserError."""
    for row in rows:
        if row.team_id.lower() == wanted.strip().lower() or _fold_name(row.name) == _fold_name(wanted):
            return row
    there = (
        ", ".join(f"{row.team_id} ({shorten(row.name)})" for row in rows[:20])
        or "none; `league class ROSTER.csv` makes them"
    )
    raise UserError(f"there is no team {quote(wanted)}; there are: {there}")


def _make_key(row: TeamRow, now: str) -> tuple[TeamRow, str]:
    key = create_key()
    return replace(row, key_sha256=hash_key(key), created_at=now), key


def _decode(content: bytes, name: str) -> str:
    """Decode what spreadsheets write: UTF-8 with or without a mark, UTF-16 with one, else Windows' Latin letters."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if b"\0" in content:
        raise UserError(f"{name} is no CSV but something binary; save the sheet as CSV")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _find_columns(header: Sequence[str], name: str) -> dict[str, int]:
    """Find our columns in the header; raises UserError if there is no student id."""
    titles = [_OTHER_SIGNS.sub(" ", title.lower()).strip() for title in header]
    found: dict[str, int] = {}
    for ours, theirs in COLUMN_NAMES.items():
        at = next((titles.index(title) for title in theirs if title in titles), None)
        if at is not None and at not in found.values():
            found[ours] = at
    if "student_id" not in found:
        shown = ", ".join(map(quote, header[:10]))
        raise UserError(
            f"{name} has no column with the student's id; expected the columns student id, name, e-mail and team in "
            f"its first line, found {shown}"
        )
    return found


def _read_student(cells: Sequence[str], columns: Mapping[str, int], where: str) -> Student:
    def read(column: str) -> str:
        at = columns.get(column, len(cells))
        return to_printable(" ".join(cells[at].split()), MAX_TEAM_NAME) if at < len(cells) else ""

    student_id = read("student_id")
    if not student_id:
        raise UserError(f"{where}: expected a student's id, found none in {shorten(' '.join(cells), MAX_WORD)!r}")
    name = read("name") or " ".join(filter(None, (read("first_name"), read("last_name"))))
    return Student(student_id, name, read("email"), read("team") or name or student_id)


def _fold_name(name: str) -> str:
    return " ".join(name.casefold().split())
