"""The pages of a league that hides something: for visitors, for each team that is signed in, and all for organisers.

Chooses between them by the session of a request, and turns visitors away from a league that is for its members.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agent_league.agent.app import PagesApp
from agent_league.agent.sign_up_team import SignUpTeam
from agent_league.league.visibility import MEMBERS_ONLY, Viewer
from agent_league.model.agents import Role
from agent_league.text import capitalise
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS
from agent_league.web.league_reader import LeagueReader
from agent_league.web.organiser.sessions import OrganiserSessions, read_session_cookie
from agent_league.web.pages import render_notice
from agent_league.web.rendering import Site
from agent_league.web.team_sessions import TeamSessions

STATIC_PREFIX = "/static/"
EVENTS_PATH = "/events"
CHECK_SECONDS = 1.0
"""How often a stream that is open asks whether its session still is."""
MAX_TEAM_PAGES = 64
"""Teams whose pages are kept; each has a few that were made for it."""

MakePages = Callable[[LeagueReader], PagesApp]


@dataclass(frozen=True, slots=True)
class PageSessions:
    """Who may see more than visitors do."""

    organisers: OrganiserSessions | None
    teams: TeamSessions | None


class VisiblePages:
    """The pages of a league that hides something from visitors."""

    def __init__(
        self,
        public: PagesApp,
        full: PagesApp,
        sessions: PageSessions,
        reader: LeagueReader,
        site: Site,
        make_pages: MakePages,
    ) -> None:
        """`reader` reads the league as visitors may see it; `make_pages` makes pages of another reader."""
        self._public = public
        self._full = full
        self._sessions = sessions
        self._reader = reader
        self._site = site
        self._make_pages = make_pages
        self._team_pages: OrderedDict[str, PagesApp] = OrderedDict()
        """By player, of those that see their own beside what all see."""

    @property
    def listeners(self) -> int:
        """Number of open live streams."""
        return sum(pages.listeners for pages in (self._public, self._full, *self._team_pages.values()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_public = scope["path"].startswith(STATIC_PREFIX)
        if not is_public and await self._is_organiser(scope):
            await self._serve_guarded(self._full, lambda: self._is_organiser(scope), scope, receive, send)
        elif not is_public and (team := await self._find_team(scope)):
            pages = await self._choose_team_pages(team)
            await self._serve_guarded(pages, lambda: self._is_team(scope, team), scope, receive, send)
        elif self._is_for_members and not is_public:
            await self._make_notice()(scope, receive, send)
        else:
            await self._public(scope, receive, send)

    async def close(self) -> None:
        for pages in (self._public, self._full, *self._team_pages.values()):
            await pages.close()

    @property
    def _is_for_members(self) -> bool:
        return self._reader.state.config.visibility == "members"

    async def _serve_guarded(
        self, pages: PagesApp, is_good: Callable[[], Awaitable[bool]], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a page; a live stream ends with the session that may see it."""
        if scope["path"] != EVENTS_PATH:
            await pages(scope, receive, send)
            return
        await receive()  # the request itself, which has no body
        leaving = asyncio.ensure_future(receive())

        async def receive_while_good() -> Message:
            while not leaving.done():
                await asyncio.wait({leaving}, timeout=CHECK_SECONDS)
                if not await is_good():
                    break
            return {"type": "http.disconnect"}

        # streams listen for the end of the connection only under this version of the interface
        inner = {**scope, "asgi": {**scope.get("asgi", {}), "spec_version": "2.3"}}
        try:
            await pages(inner, receive_while_good, send)
        finally:
            leaving.cancel()

    async def _choose_team_pages(self, team: SignUpTeam) -> PagesApp:
        if self._is_for_members:
            return self._full
        members = self._reader.state.unmasked.roster.list_members(Role.PLAYER)
        player_id = next((member.agent_id for member in members if member.team_id == team.team_id), None)
        if player_id is None:
            return self._public
        pages = self._team_pages.pop(player_id, None)
        if pages is None:
            pages = self._make_pages(self._reader.seen_by(Viewer(player_id, is_member=True)))
        self._team_pages[player_id] = pages
        if len(self._team_pages) > MAX_TEAM_PAGES:
            await self._team_pages.popitem(last=False)[1].close()
        return pages

    async def _is_organiser(self, scope: Scope) -> bool:
        sessions = self._sessions.organisers
        if sessions is None or read_session_cookie(scope) is None:
            return False
        session = await sessions.find_session(scope)
        return session is not None and session.may_organise(self._reader.state.league_id)

    async def _find_team(self, scope: Scope) -> SignUpTeam | None:
        return await self._sessions.teams.find_team(scope) if self._sessions.teams else None

    async def _is_team(self, scope: Scope, team: SignUpTeam) -> bool:
        return await self._find_team(scope) == team

    def _make_notice(self) -> Response:
        text = render_notice("For members", f"{capitalise(MEMBERS_ONLY)}.", self._reader, self._site)
        return Response(text, 403, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)
