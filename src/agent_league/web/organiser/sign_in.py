"""Signing in: `GET /sign-in/KEY` shows a button, which alone redeems the link, so that no preview uses it up."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agent_league.http.call_limits import RateLimit
from agent_league.http.caller_address import UNKNOWN_ADDRESS
from agent_league.http.carrier import RequestRejected
from agent_league.http.header_check import HeaderCheck
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS
from agent_league.web.organiser.forms import read_form
from agent_league.web.organiser.sessions import OrganiserSessions
from agent_league.web.rendering import Site, render

SIGN_IN_PATH = "sign-in"
PRIVATE_HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store", "referrer-policy": "same-origin"}
"""With `no-referrer`, browsers would say `Origin: null` with our own forms."""
BAD_LINK = "This link doesn't work: it was used, is older than a day, or was taken back."
TOO_MANY_TRIES = "too many links that don't work were tried from here; wait a minute"
TRIES_PER_SECOND, TRY_BURST = 0.5, 30


class SignInApp:
    """ASGI application of `/sign-in`; `home` is the path to go to afterwards, below the site's base."""

    def __init__(
        self, sessions: OrganiserSessions, header_check: HeaderCheck, site: Site, home: str, title: str = "Agent League"
    ) -> None:
        self._sessions = sessions
        self._header_check = header_check
        self._site = site
        self._home = home
        self._title = title
        self._tries = RateLimit(TRIES_PER_SECOND, TRY_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RequestRejected(404, "there is nothing to connect to here")
        response = await self._answer(Request(scope, receive), scope["path"].removeprefix(f"/{SIGN_IN_PATH}/"))
        await response(scope, receive, send)

    async def _answer(self, request: Request, key: str) -> Response:
        address = (request.scope.get("client") or UNKNOWN_ADDRESS)[0]
        if self._tries.count_requests(address, 1):
            raise RequestRejected(429, TOO_MANY_TRIES)
        if request.method == "POST":
            await read_form(request, self._header_check)
            cookie = await self._sessions.redeem_link(key)
            if cookie:
                self._tries.count_requests(address, -1)
                headers = {**PRIVATE_HEADERS, "set-cookie": cookie}
                return RedirectResponse(self._site.to(self._home), 303, headers)
            return self._render(is_good=False, status=403)
        if request.method not in ("GET", "HEAD"):
            raise RequestRejected(405, "open the link, and press its button")
        is_good = await self._sessions.has_link(key)
        if is_good:
            self._tries.count_requests(address, -1)
        return self._render(is_good=is_good, status=200 if is_good else 403)

    def _render(self, *, is_good: bool, status: int) -> Response:
        frame = {"page_title": "Sign in", "league_title": self._title, "menu": (), "here": None, "within": None}
        text = render("sign_in.html", self._site, {**frame, "is_good": is_good, "problem": BAD_LINK})
        return Response(text, status, PRIVATE_HEADERS, HTML_TYPE)
