"""Which gradebook is written: the forms, the formula that a league file chooses, and what a person should know.

`league grades` and the organiser's page both come here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent_league.config.models import GradingConfig
from agent_league.errors import UserError
from agent_league.grades.grade_rows import GradeSheet
from agent_league.grades.gradebooks import (
    FilledGradebook,
    fill_canvas,
    write_full_table,
    write_gradescope,
    write_moodle,
)
from agent_league.model.grade_formula import GRADE_COLUMNS, GRADE_RULES, FormulaError, GradeFormula, parse_formula
from agent_league.text import quote, shorten

MAX_REMARKS = 20


class GradebookForm(StrEnum):
    """Whose form a grade sheet has."""

    CSV = "csv"
    """A table of everything."""
    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"


@dataclass(frozen=True, slots=True)
class CanvasExport:
    """A gradebook that Canvas exported."""

    name: str
    content: bytes


def choose_formula(settings: GradingConfig, typed: str | None = None, marks: Sequence[str] = ()) -> GradeFormula:
    """Return the formula that was typed, or that of a league file; raises UserError. `marks` are further columns."""
    text = typed or settings.formula or GRADE_RULES[settings.rule]
    try:
        return parse_formula(text, [*GRADE_COLUMNS, *(name for name in marks if name not in GRADE_COLUMNS)])
    except FormulaError as error:
        where = "--formula" if typed else "grading.formula of the league file"
        raise UserError(f"{where}: {error}") from None


def fill_gradebook(
    sheet: GradeSheet, settings: GradingConfig, form: GradebookForm, export: CanvasExport | None = None
) -> FilledGradebook:
    """Write the grades in a form; that of Canvas fills an export. Raises UserError."""
    assignment = settings.assignment or sheet.title
    match form:
        case GradebookForm.CANVAS:
            if export is None:
                raise UserError("Canvas needs the gradebook that it exported (Grades, Export), to be filled")
            return fill_canvas(export.content, export.name, sheet, assignment, settings.points_possible)
        case GradebookForm.MOODLE:
            return write_moodle(sheet, assignment)
        case GradebookForm.GRADESCOPE:
            return write_gradescope(sheet, settings.points_possible)
        case GradebookForm.CSV:
            return write_full_table(sheet)


def list_remarks(sheet: GradeSheet, book: FilledGradebook | None = None) -> list[str]:
    """List what a person should know about a sheet and the gradebook that was filled with it, as sentences."""
    remarks = [*book.remarks] if book else []
    if sheet.without_team:
        names = ", ".join(shorten(name) for name in sheet.without_team[:MAX_REMARKS])
        remarks.append(f"Players of no team in the roster, without a grade: {names}.")
    empty = [row for row in sheet.rows if row.problem]
    remarks += [f"No grade for {quote(row.name or row.student_id)}: {row.problem}." for row in empty[:MAX_REMARKS]]
    if len(empty) > MAX_REMARKS:
        remarks.append(f"And {len(empty) - MAX_REMARKS} more without a grade.")
    return remarks
