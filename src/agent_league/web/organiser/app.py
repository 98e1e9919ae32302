"""The organiser's page of one league and what it changes: `/organiser`, for those who have signed in.

Every change needs a session with the right for this league and its CSRF token, and goes through the manager's
`carry_out`, which leaves an entry in the audit log. Nothing here changes a league by itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agent_league.config.times import TimesConfig
from agent_league.errors import Refusal, UserError
from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import HeaderCheck
from agent_league.league.changed_times import read_times
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.model.audit import OrganiserAction
from agent_league.storage.access import AccessStore, TeamRow
from agent_league.text import capitalise
from agent_league.web.app import HTML_TYPE
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.news_stream import NewsStream
from agent_league.web.organiser.downloads import CANVAS_NAME, GRADE_FILES, Downloads, GradeBooks
from agent_league.web.organiser.forms import read_form, read_upload
from agent_league.web.organiser.page import read_organiser_data
from agent_league.web.organiser.sessions import OrganiserSession, OrganiserSessions, is_csrf_token
from agent_league.web.organiser.sign_in import PRIVATE_HEADERS
from agent_league.web.page import Page
from agent_league.web.pages import read_page_data, render_notice, render_saved_page
from agent_league.web.rendering import Site

ORGANISER_PATH = "organiser"
GRADES_PATH = f"{ORGANISER_PATH}/grades"
NOT_SIGNED_IN = "Sign in with a link of your own; `league admin invite NAME` on the server makes one."
OTHER_LEAGUE = "You are an organiser of another league, and can do nothing in this one."
NO_CSRF_TOKEN = "this form is no longer good; open the organiser's page again"  # noqa: S105 - a sentence
NO_EXPORT = "Choose the file that Canvas exported first (Grades, Export)."
MAX_FLASHES = 100
AGE_SECONDS = 15.0
"""So old what the page says of agents may be while nothing else changes: when they were last seen."""

CarryOut = Callable[[OrganiserCommand], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Flash:
    """What to say on the next page, once."""

    said: str = ""
    is_refused: bool = False
    typed: Mapping[str, str] = field(default_factory=dict)
    """What a refused form had in its fields, so that nothing is lost."""


class OrganisedLeague(Protocol):
    """What the page needs of a manager."""

    access: AccessStore | None

    async def carry_out(self, command: OrganiserCommand) -> str: ...


class OrganiserApp:
    """ASGI application of `/organiser`, a path app of the league's agent app.

    A person who may not read a page is told so by a page, a program by the sentence alone.
    """

    def __init__(
        self,
        reader: LeagueReader,
        league: OrganisedLeague,
        sessions: OrganiserSessions,
        header_check: HeaderCheck,
        site: Site,
        grades: GradeBooks | None = None,
    ) -> None:
        self._reader = reader
        self._league = league
        self._sessions = sessions
        self._header_check = header_check
        self._site = site
        self._downloads = Downloads(reader, grades)
        self._news = NewsStream(self._read_version)
        self._flashes: dict[str, _Flash] = {}
        """By CSRF token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RequestRejected(404, "there is nothing to connect to here")
        path = scope["path"].removeprefix(f"/{ORGANISER_PATH}").strip("/")
        request = Request(scope, receive)
        try:
            response = await self._answer(request, path)
        except RequestRejected as error:
            if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
                raise
            notice = render_notice("Organiser", capitalise(error.sentence), self._reader, self._site)
            response = Response(notice, error.status, PRIVATE_HEADERS, HTML_TYPE)
        await response(scope, receive, send)

    async def close(self) -> None:
        """End the streams of pages that are open."""
        await self._news.close()

    def _read_version(self) -> Hashable:
        now = asyncio.get_running_loop().time()
        return self._reader.state.event_count, self._reader.history.version, now // AGE_SECONDS

    async def _answer(self, request: Request, path: str) -> Response:
        session = await self._sessions.find_session(request.scope)
        if request.method == "POST":
            return await self._answer_post(request, path, session)
        if request.method not in ("GET", "HEAD"):
            raise RequestRejected(405, "this address can be read, and its forms posted")
        session = self._require_right(session)
        if path == "":
            return await self._show_page(session)
        if path == "events":
            return self._news.answer(request.scope, lambda: self._is_still_organiser(request.scope))
        try:
            if path == "grades" and self._downloads.grades:
                return await self._show_grades(session, self._downloads.grades)
            return await self._downloads.answer(path, session.csrf_token)
        except UserError as error:
            return self._say_and_return(session, ORGANISER_PATH, _Flash(str(error), is_refused=True))

    async def _answer_post(self, request: Request, path: str, session: OrganiserSession | None) -> Response:
        if path == "grades":
            form, file = await read_upload(request, self._header_check)
        else:
            form, file = await read_form(request, self._header_check), None
        if session is None:
            raise RequestRejected(403, NOT_SIGNED_IN)
        if not is_csrf_token(session, form.get("csrf", "")):
            raise RequestRejected(403, NO_CSRF_TOKEN)
        if path == "sign-out":
            cookie = await self._sessions.end_session(request.scope)
            return RedirectResponse(self._site.to(""), 303, {**PRIVATE_HEADERS, "set-cookie": cookie})
        self._require_right(session)
        if path == "grades":
            flash = await self._fill_canvas(session, file.name if file else "", file.content if file else b"")
            return self._say_and_return(session, GRADES_PATH, flash)
        if path != "":
            raise RequestRejected(404, "there is nothing to change at this address")
        return self._say_and_return(session, ORGANISER_PATH, await self._carry_out(form, session))

    def _require_right(self, session: OrganiserSession | None) -> OrganiserSession:
        if session is None:
            raise RequestRejected(403, NOT_SIGNED_IN)
        if not session.may_organise(self._reader.state.league_id):
            raise RequestRejected(403, OTHER_LEAGUE)
        return session

    async def _is_still_organiser(self, scope: Scope) -> bool:
        session = await self._sessions.find_session(scope)
        return session is not None and session.may_organise(self._reader.state.league_id)

    def _say_and_return(self, session: OrganiserSession, path: str, flash: _Flash) -> Response:
        """Go back to a page, which says once what came of a form."""
        if len(self._flashes) >= MAX_FLASHES:
            self._flashes.clear()
        self._flashes[session.csrf_token] = flash
        return RedirectResponse(self._site.to(path), 303, PRIVATE_HEADERS)

    async def _carry_out(self, form: dict[str, str], session: OrganiserSession) -> _Flash:
        try:
            action = OrganiserAction(form.get("action", ""))
        except ValueError:
            raise RequestRejected(422, "'action' must name a command of an organiser") from None
        target, reason, winner = (form.get(name, "").strip() for name in ("target", "reason", "winner"))
        try:
            times = self._parse_times(form) if action is OrganiserAction.SET_TIMES else None
            consent, without = (form.get(name, "") == "yes" for name in ("void_followers", "without_missing_teams"))
            command = OrganiserCommand(action, target, reason, session.name, winner, times, consent, without)
            return _Flash(capitalise(await self._league.carry_out(command)))
        except (Refusal, UserError) as refusal:
            said = refusal.message if isinstance(refusal, Refusal) else str(refusal)
            return _Flash(capitalise(said), is_refused=True, typed=form)

    def _parse_times(self, form: Mapping[str, str]) -> TimesConfig:
        return read_times(form, self._reader.state.config.times)

    async def _fill_canvas(self, session: OrganiserSession, name: str, export: bytes) -> _Flash:
        if not export:
            return _Flash(NO_EXPORT, is_refused=True)
        try:
            remarks = await self._downloads.fill_canvas(session.csrf_token, name, export)
        except UserError as error:
            return _Flash(str(error), is_refused=True)
        return _Flash(" ".join(("The gradebook is filled; download it below.", *remarks)))

    async def _show_page(self, session: OrganiserSession) -> Response:
        access, league_id = self._league.access, self._reader.state.league_id
        teams: list[TeamRow] = await asyncio.to_thread(access.read_teams, league_id) if access else []
        flash = self._flashes.pop(session.csrf_token, _Flash())
        page = Page(
            ORGANISER_PATH,
            "organiser.html",
            lambda reader, _: read_organiser_data(reader, teams, flash.typed),
            title="Organiser",
        )
        told = {
            "exports": self._downloads.names,
            "grade_files": tuple(GRADE_FILES) if self._downloads.grades else (),
            "news_id": self._news.read_id(),
        }
        return await self._render(page, session, flash, told)

    async def _show_grades(self, session: OrganiserSession, grades: GradeBooks) -> Response:
        preview = await grades.read_preview()
        flash = self._flashes.pop(session.csrf_token, _Flash())
        page = Page(GRADES_PATH, "grades.html", lambda _, __: preview, title="Grades")
        has_canvas = self._downloads.has_filled_canvas(session.csrf_token)
        told = {"grade_files": tuple(GRADE_FILES), "canvas_file": CANVAS_NAME if has_canvas else ""}
        return await self._render(page, session, flash, told)

    async def _render(self, page: Page, session: OrganiserSession, flash: _Flash, told: Mapping[str, Any]) -> Response:
        said = {"session": session, "said": flash.said, "is_refused": flash.is_refused}
        data = {**read_page_data(page, "", self._reader, self._site), **said, **told}
        text = await render_saved_page(page, data, self._reader, self._site)
        return Response(text, 200, PRIVATE_HEADERS, HTML_TYPE)
