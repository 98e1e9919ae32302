"""What an organiser downloads: tables, the whole league as JSON, and grades in the forms of gradebooks."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson
from starlette.responses import Response

from agent_league.clock import SystemClock, format_utc
from agent_league.errors import UserError
from agent_league.http.carrier import RequestRejected
from agent_league.web.export import TABLES, build_document, format_table_csv
from agent_league.web.league_reader import LeagueReader
from agent_league.web.organiser.sign_in import PRIVATE_HEADERS

DOCUMENT_NAME = "league.json"
GRADE_FILES = {"grades.csv": "csv", "grades-moodle.csv": "moodle", "grades-gradescope.csv": "gradescope"}
"""File name -> form of the gradebook."""
CANVAS_NAME = "grades-canvas.csv"
MAX_FILLED = 8
"""Filled gradebooks that wait to be downloaded."""
CSV_TYPE = "text/csv; charset=utf-8"


class GradeBooks(Protocol):
    """What the page needs of a league's grades; both methods raise UserError."""

    async def read_preview(self) -> Mapping[str, Any]: ...
    async def write(self, form: str, export: tuple[str, bytes] | None = None) -> tuple[str, Sequence[str]]: ...


class Downloads:
    """The files of one league, for organisers whose right was checked."""

    def __init__(self, reader: LeagueReader, grades: GradeBooks | None) -> None:
        self._reader = reader
        self.grades = grades
        self._filled: OrderedDict[str, str] = OrderedDict()
        """By CSRF token: the gradebook of Canvas that was filled last."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files but the grades."""
        return (*(f"{name}.csv" for name in TABLES), DOCUMENT_NAME)

    async def fill_canvas(self, owner: str, name: str, export: bytes) -> Sequence[str]:
        """Fill an export of Canvas, to be downloaded by its owner; returns remarks. Raises UserError."""
        if self.grades is None:
            raise UserError("There are no grades here.")
        self._filled[owner], remarks = await self.grades.write("canvas", (name, export))
        while len(self._filled) > MAX_FILLED:
            self._filled.popitem(last=False)
        return remarks

    def has_filled_canvas(self, owner: str) -> bool:
        return owner in self._filled

    async def answer(self, name: str, owner: str) -> Response:
        """Answer with a file; raises RequestRejected, and UserError if there can be no such grades."""
        if name in GRADE_FILES and self.grades:
            text, _ = await self.grades.write(GRADE_FILES[name])
            return self._send(name, text.encode("utf-8-sig" if name == "grades.csv" else "utf-8"))
        if name == CANVAS_NAME and owner in self._filled:
            return self._send(name, self._filled[owner].encode())
        kind = name.removesuffix(".csv")
        if name != DOCUMENT_NAME and (kind == name or kind not in TABLES):
            raise RequestRejected(404, "there is no such export")
        document = build_document(self._reader, format_utc(SystemClock().now()))
        if name == DOCUMENT_NAME:
            return self._send(name, orjson.dumps(document), "application/json")
        text = await asyncio.to_thread(format_table_csv, document, kind)
        return self._send(name, text.encode("utf-8-sig"))

    def _send(self, name: str, content: bytes, media_type: str = CSV_TYPE) -> Response:
        disposition = {"content-disposition": f'attachment; filename="{self._reader.state.league_id}-{name}"'}
        return Response(content, 200, {**PRIVATE_HEADERS, **disposition}, media_type)
