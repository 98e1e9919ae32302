"""`league grades`: the grades of a class, in the form of a gradebook."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_league.cli.options import ExistingHomeOption, StoredLeagueOption, StoreOption, open_existing_home
from agent_league.cli.terminal import STDOUT, print_remark, write_output
from agent_league.errors import UserError
from agent_league.text import quote

if TYPE_CHECKING:
    from agent_league.storage.access import TeamRow

MAX_FILE_BYTES = 16 * 1024 * 1024


def grades(
    canvas: Annotated[
        Path | None,
        typer.Option(metavar="EXPORT.csv", help="Fill a gradebook that Canvas exported, to import it there again."),
    ] = None,
    moodle: Annotated[bool, typer.Option("--moodle", help="Write what Moodle's import of grades takes.")] = False,
    gradescope: Annotated[bool, typer.Option("--gradescope", help="Write Gradescope's columns of scores.")] = False,
    everything: Annotated[bool, typer.Option("--everything", help="Write a table of everything (default).")] = False,
    roster: Annotated[
        Path | None, typer.Option(metavar="ROSTER.csv", help="The class (default: as `league class` stored it).")
    ] = None,
    marks: Annotated[
        Path | None,
        typer.Option(metavar="MARKS.csv", help="Further columns for the formula: student id, and numbers."),
    ] = None,
    formula: Annotated[
        str | None, typer.Option(help="The formula of the grade (default: grading.formula of the league file).")
    ] = None,
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write it; - is stdout.")] = STDOUT,
    url: Annotated[
        str | None,
        typer.Option("--public-url", help="The address of the league, for links to players' pages.", metavar="URL"),
    ] = None,
    league_id: StoredLeagueOption = None,
    store: StoreOption = None,
    home: ExistingHomeOption = None,
) -> None:
    """Grade a class by its league: for Canvas, Moodle, Gradescope, or as a table of everything.

    The grade is a formula in the league file (grading.formula, or grading.rule for a ready-made one); run it again
    after a correction. Who has no grade is told with the reason, and left empty.
    """
    from agent_league.cli.league_address import find_pages_address
    from agent_league.grades.grade_rows import make_grade_sheet
    from agent_league.grades.gradebook_forms import (
        CanvasExport,
        GradebookForm,
        choose_formula,
        fill_gradebook,
        list_remarks,
    )
    from agent_league.launch.stored_leagues import find_league

    if sum((canvas is not None, moodle, gradescope, everything)) > 1:
        raise UserError("league grades: expected one of --canvas, --moodle, --gradescope and --everything")
    folder, loader = open_existing_home(home)
    found = find_league(folder, loader, league_id, store)
    if found.remark:
        print_remark(found.remark)
    reader = found.make_reader()
    league = reader.state.league_id
    teams = _read_teams(folder, league, roster, store)
    chosen = {GradebookForm.CANVAS: canvas, GradebookForm.MOODLE: moodle, GradebookForm.GRADESCOPE: gradescope}
    form = next((form for form, is_chosen in chosen.items() if is_chosen), GradebookForm.CSV)
    is_full = form is GradebookForm.CSV
    if not teams and not is_full:
        raise UserError(
            f"{league} has no roster, so nobody's student id is known: name it with --roster ROSTER.csv, or store it "
            "with `league class ROSTER.csv`"
        )
    league_file = loader.load_league(league) if loader.has_league_file(league) else reader.state.config
    settings = league_file.grading  # of the file, which may have changed since the start
    known_marks, names = _read_marks(marks) if marks else ({}, [])
    pages = find_pages_address(folder, loader, league, url)
    sheet = make_grade_sheet(reader, teams, choose_formula(settings, formula, names), known_marks, pages)
    export = CanvasExport(str(canvas), _read_file(canvas)) if canvas else None
    book = fill_gradebook(sheet, settings, form, export)
    for remark in list_remarks(sheet, book):
        print_remark(remark)
    write_output(out, book.text.encode("utf-8" if out == STDOUT else "utf-8-sig" if is_full else "utf-8"))


def _read_teams(home: Path, league_id: str, roster: Path | None, store: str | None) -> "Sequence[TeamRow]":
    """Read the teams of the file that was named, else those of the store."""
    from agent_league.league.class_roster import parse_roster, update_teams
    from agent_league.league.resume import open_store
    from agent_league.storage.sql_access import SqlAccessStore

    opened = open_store(home, store)
    try:
        known = [team for team in SqlAccessStore(opened).read_teams(league_id) if team.role == "player"]
    finally:
        opened.close()
    if roster is None:
        return known
    return update_teams(league_id, known, parse_roster(_read_file(roster), roster.name).students, "").rows


def _read_marks(path: Path) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Read further columns by student id, and their names; raises UserError that names the line."""
    lines = list(csv.reader(io.StringIO(_read_file(path).decode("utf-8-sig", "replace"), newline="")))
    names = [cell.strip().casefold().replace(" ", "_").replace("-", "_") for cell in lines[0]] if lines else []
    if len(names) < 2 or not all(name.isidentifier() for name in names):
        raise UserError(f"{path}: expected a line of column names, the student id first, such as: student id, bonus")
    marks: dict[str, dict[str, float]] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cells):
            continue
        try:
            values = {name: float(cell or 0) for name, cell in zip(names[1:], cells[1:], strict=False)}
        except ValueError:
            raise UserError(f"{path}, line {number}: expected numbers, found {quote(', '.join(cells[1:]))}") from None
        marks[cells[0].strip()] = dict.fromkeys(names[1:], 0.0) | values
    return marks, names[1:]


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}") from None
