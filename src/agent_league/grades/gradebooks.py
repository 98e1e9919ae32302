"""Grade sheets in the forms that gradebooks import: Canvas, Moodle, Gradescope, and a table of everything.

Knows the columns that each of them wants; cells that a spreadsheet would run are disarmed, numbers stay numbers.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.errors import UserError
from agent_league.grades.grade_rows import GradeRow, GradeSheet
from agent_league.model.result_words import format_count
from agent_league.model.tables import DataTable
from agent_league.text import quote

CANVAS_STUDENT, POINTS_POSSIBLE = "Student", "Points Possible"
CANVAS_IDS = ("SIS User ID", "SIS Login ID", "Integration ID", "ID")
"""Columns of a Canvas export by which a student is found, the first that agrees."""
FULL_COLUMNS = (
    *("student_id", "name", "email", "team", "player_id", "display_name", ">grade", ">rank", ">points", ">played"),
    *(">wins", ">draws", ">losses", ">rating", ">rating_low", ">rating_high", ">technical_losses"),
    *("technical_losses_by_kind", ">deviations", ">check_score", "version", "evidence", "remark"),
)


@dataclass(frozen=True, slots=True)
class FilledGradebook:
    """A gradebook with grades in it, as CSV, and what a person should know about it."""

    text: str
    remarks: Sequence[str] = ()


def write_full_table(sheet: GradeSheet) -> FilledGradebook:
    """Write everything there is, one row a student."""
    return FilledGradebook(DataTable(FULL_COLUMNS, [_list_cells(row) for row in sheet.rows]).to_csv())


def write_moodle(sheet: GradeSheet, assignment: str) -> FilledGradebook:
    """Write what Moodle's import of grades maps: the user by ID number or e-mail, the grade, and feedback."""
    columns = ("ID number", "Email address", f">{assignment}", f"{assignment} (feedback)")
    rows = [(row.student_id, row.email, row.grade, describe_evidence(row)) for row in sheet.rows]
    return FilledGradebook(DataTable(columns, rows).to_csv())


def write_gradescope(sheet: GradeSheet, points_possible: float) -> FilledGradebook:
    """Write the columns of Gradescope's own tables of scores."""
    columns = ("First Name", "Last Name", "SID", "Email", ">Total Score", ">Max Points", "Status")
    rows = []
    for row in sheet.rows:
        first, _, last = row.name.strip().rpartition(" ")
        status = "Missing" if row.grade is None else "Graded"
        rows.append((first, last, row.student_id, row.email, row.grade, _to_number(points_possible), status))
    return FilledGradebook(DataTable(columns, rows).to_csv())


def fill_canvas(
    export: bytes, name: str, sheet: GradeSheet, assignment: str, points_possible: float
) -> FilledGradebook:
    """Fill the column of an assignment in a gradebook that Canvas exported, or add it; raises UserError.

    All other columns stay. A student is found by SIS User ID, SIS Login ID (or e-mail) or ID.
    """
    lines = _parse_export(export, name)
    header = [cell.strip() for cell in lines[0]]
    at = next((at for at, title in enumerate(header) if _is_assignment(title, assignment)), len(header))
    is_new = at == len(header)
    if is_new:
        header.append(assignment)
    id_columns = [header.index(title) for title in CANVAS_IDS if title in header]
    found, graded, missing = _index_students(sheet), set[int](), []
    rows: list[list[Any]] = []
    for line in lines[1:]:
        cells: list[Any] = [*map(_keep_number, line), *[""] * (len(header) - len(line))]
        if line and line[0].strip().casefold() == POINTS_POSSIBLE.casefold():
            if is_new:
                cells[at] = _to_number(points_possible)
        elif row := _find_student(cells, id_columns, found):
            graded.add(id(row))
            cells[at] = "" if row.grade is None else row.grade
        elif any(str(cells[column]).strip() for column in id_columns):
            missing.append(str(cells[0]).strip())
        rows.append(cells)
    left = [row.name or row.student_id for row in sheet.rows if id(row) not in graded]
    remarks = [f"The column {quote(header[at])} is {'new' if is_new else 'filled'}; all others are as they were."]
    remarks += [f"In the export and not in the class: {_list_names(missing)}."] if missing else []
    remarks += [f"In the class and not in the export: {_list_names(left)}."] if left else []
    return FilledGradebook(DataTable(header, rows).to_csv(), remarks)


def describe_evidence(row: GradeRow) -> str:
    """Say in a sentence where a grade comes from."""
    if row.record is None:
        return row.problem or f"{row.team} has no agent in the league."
    table = row.record.standing
    technical = sum(row.record.technical_losses.values())
    lost = f", {technical} technically lost" if technical else ""
    points, played = format_count(table.points, "point"), format_count(table.played, "match")
    told = f"Rank {table.shared_rank} with {points} after {played}{lost}."
    return " ".join(filter(None, (told, row.problem and f"No grade: {row.problem}.", row.evidence)))


def _list_cells(row: GradeRow) -> Sequence[Any]:
    person = (row.student_id, row.name, row.email, row.team)
    record = row.record
    if record is None:
        unknown = [None] * (len(FULL_COLUMNS) - 8)
        return (*person, "", "", row.grade, *unknown, describe_evidence(row))
    table, rating = record.standing, record.rating
    kinds = ", ".join(f"{kind} {count}" for kind, count in record.technical_losses.items())
    elo = [round(number, 1) for number in (rating.elo, rating.low, rating.high)] if rating else [None] * 3
    return (
        *(*person, table.player_id, table.display_name, row.grade, table.shared_rank, table.points, table.played),
        *(table.wins, table.draws, table.losses, *elo, sum(record.technical_losses.values()), kinds),
        *(record.deviations, record.check_score, record.version, row.evidence, row.problem),
    )


def _parse_export(export: bytes, name: str) -> list[list[str]]:
    try:
        lines = list(csv.reader(io.StringIO(export.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{name} can't be read as a gradebook: {error}") from None
    titles = [cell.strip() for cell in lines[0]] if lines else []
    if CANVAS_STUDENT not in titles or not set(CANVAS_IDS) & set(titles):
        expected = "Student, ID, SIS User ID, SIS Login ID, Section"
        raise UserError(
            f"{name} isn't a gradebook that Canvas exported: its first line should have the columns {expected}, and "
            f"has {quote(', '.join(titles)) if titles else 'nothing'}. Canvas writes it by Grades, Export."
        )
    return lines


def _is_assignment(title: str, assignment: str) -> bool:
    """Whether a column is that of the assignment: Canvas writes its own number behind the name."""
    name, _, number = title.rpartition(" (")
    return title == assignment or (name == assignment and number.removesuffix(")").isdigit())


def _index_students(sheet: GradeSheet) -> Mapping[str, GradeRow]:
    found: dict[str, GradeRow] = {}
    for row in sheet.rows:
        login = row.email.partition("@")[0]
        for key in (row.student_id, row.email, login):
            if key.strip():
                found.setdefault(key.strip().casefold(), row)
    return found


def _find_student(cells: Sequence[Any], id_columns: Sequence[int], found: Mapping[str, GradeRow]) -> GradeRow | None:
    keys = (str(cells[column]).strip().casefold() for column in id_columns)
    return next((found[key] for key in keys if key in found), None)


def _to_number(points: float) -> float:
    return int(points) if float(points).is_integer() else points


def _keep_number(cell: str) -> str | float:
    """Return a cell with a sign as the number that it is, which is no formula; anything else as it stands."""
    if cell[:1] not in ("-", "+"):
        return cell
    try:
        return _to_number(float(cell))
    except ValueError:
        return cell


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(quote(name) for name in names[:10])
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown
