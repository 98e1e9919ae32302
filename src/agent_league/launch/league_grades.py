"""The grades of a league that is served, for its organiser's page: the same sheet and forms as `league grades`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.models import GradingConfig
from agent_league.errors import UserError
from agent_league.grades.grade_rows import GradeRow, GradeSheet, make_grade_sheet
from agent_league.grades.gradebook_forms import (
    CanvasExport,
    GradebookForm,
    choose_formula,
    fill_gradebook,
    list_remarks,
)
from agent_league.storage.access import AccessStore, TeamRow
from agent_league.web.league_reader import LeagueReader

NO_ROSTER = (
    "The league has no roster, so nobody's student id is known: `league class ROSTER.csv` on the server stores one."
)


class LeagueGrades:
    """Grades one league. `pages` is the address of its pages, for the links to evidence."""

    def __init__(self, reader: LeagueReader, access: AccessStore, home: Path, pages: str) -> None:
        self._reader = reader
        self._access = access
        self._home = home
        self._pages = pages

    async def read_preview(self) -> dict[str, Any]:
        """Read the sheet as plain data for a page; raises UserError."""
        sheet, settings = await self._make_sheet(needs_roster=False)
        return {
            "rows": [_read_row(row) for row in sheet.rows],
            "graded": sum(row.grade is not None for row in sheet.rows),
            "formula": choose_formula(settings).text,
            "points_possible": settings.points_possible,
            "assignment": settings.assignment or sheet.title,
            "without_team": [*sheet.without_team],
        }

    async def write(self, form: str, export: tuple[str, bytes] | None = None) -> tuple[str, Sequence[str]]:
        """Write a gradebook as CSV; returns it with what a person should know. Raises UserError."""
        chosen = GradebookForm(form)
        sheet, settings = await self._make_sheet(needs_roster=chosen is not GradebookForm.CSV)
        canvas = CanvasExport(*export) if export else None
        book = await asyncio.to_thread(fill_gradebook, sheet, settings, chosen, canvas)
        return book.text, list_remarks(sheet, book)

    async def _make_sheet(self, *, needs_roster: bool) -> tuple[GradeSheet, GradingConfig]:
        teams = await asyncio.to_thread(self._read_teams)
        if needs_roster and not teams:
            raise UserError(NO_ROSTER)
        settings = await asyncio.to_thread(self._load_settings)
        await self._reader.ratings.wait_for_latest()
        return make_grade_sheet(self._reader, teams, choose_formula(settings), {}, self._pages), settings

    def _read_teams(self) -> list[TeamRow]:
        return [team for team in self._access.read_teams(self._reader.state.league_id) if team.role == "player"]

    def _load_settings(self) -> GradingConfig:
        """Those of the league file, which may have changed since the start; without one, those of the start."""
        loader, league_id = ConfigLoader(self._home), self._reader.state.league_id
        if not loader.has_league_file(league_id):
            return self._reader.state.config.grading
        return loader.load_league(league_id).grading


def _read_row(row: GradeRow) -> dict[str, Any]:
    table = row.record.standing if row.record else None
    return {
        "student_id": row.student_id,
        "name": row.name,
        "team": row.team,
        "player_id": table.player_id if table else "",
        "rank": table.shared_rank if table else None,
        "points": table.points if table else None,
        "played": table.played if table else None,
        "technical": sum(row.record.technical_losses.values()) if row.record else None,
        "grade": row.grade,
        "problem": row.problem,
    }
