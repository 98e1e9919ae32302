"""Two sets of pages of one league: what its file shows visitors, and all of it for organisers who have signed in.

Chooses between them by the session of a request, and turns visitors away from a league that is for its members.
"""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_league.agent.app import PagesApp
from agent_league.league.visibility import MEMBERS_ONLY
from agent_league.text import capitalise
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS
from agent_league.web.league_reader import LeagueReader
from agent_league.web.organiser.sessions import OrganiserSessions, read_session_cookie
from agent_league.web.pages import render_notice
from agent_league.web.rendering import Site

STATIC_PREFIX = "/static/"


class VisiblePages:
    """The pages of a league that hides something from visitors."""

    def __init__(
        self, public: PagesApp, full: PagesApp, sessions: OrganiserSessions | None, reader: LeagueReader, site: Site
    ) -> None:
        """`reader` reads the league as visitors may see it."""
        self._public = public
        self._full = full
        self._sessions = sessions
        self._reader = reader
        self._site = site

    @property
    def listeners(self) -> int:
        """Number of open live streams."""
        return self._public.listeners + self._full.listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if await self._is_organiser(scope):
            await self._full(scope, receive, send)
        elif self._reader.state.config.visibility == "members" and not scope["path"].startswith(STATIC_PREFIX):
            await self._make_notice()(scope, receive, send)
        else:
            await self._public(scope, receive, send)

    async def close(self) -> None:
        await self._public.close()
        await self._full.close()

    async def _is_organiser(self, scope: Scope) -> bool:
        if self._sessions is None or read_session_cookie(scope) is None:
            return False
        session = await self._sessions.find_session(scope)
        return session is not None and session.may_organise(self._reader.state.league_id)

    def _make_notice(self) -> Response:
        text = render_notice("For members", f"{capitalise(MEMBERS_ONLY)}.", self._reader, self._site)
        return Response(text, 403, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)
