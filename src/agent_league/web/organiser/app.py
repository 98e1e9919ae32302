"""The organiser's page of one league and what it changes: `/organiser`, for those who have signed in.

Every change needs a session with the right for this league and its CSRF token, and goes through the manager's
`carry_out`, which leaves an entry in the audit log. Nothing here changes a league by itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agent_league.clock import SystemClock, format_utc
from agent_league.errors import Refusal
from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import HeaderCheck
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.model.audit import OrganiserAction
from agent_league.storage.access import AccessStore, TeamRow
from agent_league.text import capitalise
from agent_league.web.app import HTML_TYPE
from agent_league.web.export import TABLES, build_document, format_table_csv
from agent_league.web.league_reader import LeagueReader
from agent_league.web.organiser.forms import read_form
from agent_league.web.organiser.page import read_organiser_data
from agent_league.web.organiser.sessions import OrganiserSession, OrganiserSessions, is_csrf_token
from agent_league.web.organiser.sign_in import PRIVATE_HEADERS
from agent_league.web.page import Page
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.rendering import Site

ORGANISER_PATH = "organiser"
NOT_SIGNED_IN = "Sign in with a link of your own; `league admin invite NAME` on the server makes one."
OTHER_LEAGUE = "You are an organiser of another league, and can do nothing in this one."
NO_CSRF_TOKEN = "this form is no longer good; open the organiser's page again"  # noqa: S105 - a sentence
MAX_FLASHES = 100

CarryOut = Callable[[OrganiserCommand], Awaitable[str]]


class OrganisedLeague(Protocol):
    """What the page needs of a manager."""

    access: AccessStore | None

    async def carry_out(self, command: OrganiserCommand) -> str: ...


class OrganiserApp:
    """ASGI application of `/organiser`, a path app of the league's agent app."""

    def __init__(
        self,
        reader: LeagueReader,
        league: OrganisedLeague,
        sessions: OrganiserSessions,
        header_check: HeaderCheck,
        site: Site,
    ) -> None:
        self._reader = reader
        self._league = league
        self._sessions = sessions
        self._header_check = header_check
        self._site = site
        self._flashes: dict[str, tuple[str, bool]] = {}
        """By CSRF token: what to say on the next page, and whether it was refused."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RequestRejected(404, "there is nothing to connect to here")
        response = await self._answer(
            Request(scope, receive), scope["path"].removeprefix(f"/{ORGANISER_PATH}").strip("/")
        )
        await response(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        session = await self._sessions.find_session(request.scope)
        if request.method == "POST":
            return await self._answer_post(request, path, session)
        if request.method not in ("GET", "HEAD"):
            raise RequestRejected(405, "this address can be read, and its forms posted")
        self._require_right(session)
        if path == "":
            return await self._show_page(session)
        return await self._export(path)

    async def _answer_post(self, request: Request, path: str, session: OrganiserSession | None) -> Response:
        form = await read_form(request, self._header_check)
        if session is None:
            raise RequestRejected(403, NOT_SIGNED_IN)
        if not is_csrf_token(session, form.get("csrf", "")):
            raise RequestRejected(403, NO_CSRF_TOKEN)
        if path == "sign-out":
            cookie = await self._sessions.end_session(request.scope)
            return RedirectResponse(self._site.to(""), 303, {**PRIVATE_HEADERS, "set-cookie": cookie})
        self._require_right(session)
        if path != "":
            raise RequestRejected(404, "there is nothing to change at this address")
        await self._carry_out(form, session)
        return RedirectResponse(self._site.to(ORGANISER_PATH), 303, PRIVATE_HEADERS)

    def _require_right(self, session: OrganiserSession | None) -> None:
        if session is None:
            raise RequestRejected(403, NOT_SIGNED_IN)
        if not session.may_organise(self._reader.state.league_id):
            raise RequestRejected(403, OTHER_LEAGUE)

    async def _carry_out(self, form: dict[str, str], session: OrganiserSession) -> None:
        try:
            action = OrganiserAction(form.get("action", ""))
        except ValueError:
            raise RequestRejected(422, "'action' must name a command of an organiser") from None
        fields = {name: form.get(name, "").strip() for name in ("target", "reason", "winner")}
        consent = form.get("void_followers", "") == "yes"
        command = OrganiserCommand(action, **fields, who=session.name, void_followers=consent)
        try:
            said, is_refused = await self._league.carry_out(command), False
        except Refusal as refusal:
            said, is_refused = refusal.message, True
        if len(self._flashes) >= MAX_FLASHES:
            self._flashes.clear()
        self._flashes[session.csrf_token] = (capitalise(said), is_refused)

    async def _show_page(self, session: OrganiserSession | None) -> Response:
        if session is None:
            raise RequestRejected(403, NOT_SIGNED_IN)
        access, league_id = self._league.access, self._reader.state.league_id
        teams: list[TeamRow] = await asyncio.to_thread(access.read_teams, league_id) if access else []
        said, is_refused = self._flashes.pop(session.csrf_token, ("", False))
        page = Page(
            ORGANISER_PATH, "organiser.html", lambda reader, _: read_organiser_data(reader, teams), title="Organiser"
        )
        told = {
            **read_page_data(page, "", self._reader, self._site),
            "session": session,
            "said": said,
            "is_refused": is_refused,
            "exports": (*(f"{name}.csv" for name in TABLES), "league.json"),
        }
        text = await asyncio.to_thread(render_page, page, told, self._site)
        return Response(text, 200, PRIVATE_HEADERS, HTML_TYPE)

    async def _export(self, name: str) -> Response:
        """Answer with a table or the document of the league, all of it, for the organiser."""
        kind = name.removesuffix(".csv")
        if name != "league.json" and (kind == name or kind not in TABLES):
            raise RequestRejected(404, "there is no such export")
        document = build_document(self._reader, format_utc(SystemClock().now()))
        disposition = {"content-disposition": f'attachment; filename="{self._reader.state.league_id}-{name}"'}
        headers = {**PRIVATE_HEADERS, **disposition}
        if name == "league.json":
            return Response(orjson.dumps(document), 200, headers, "application/json")
        text = await asyncio.to_thread(format_table_csv, document, kind)
        return Response(text.encode("utf-8-sig"), 200, headers, "text/csv; charset=utf-8")
