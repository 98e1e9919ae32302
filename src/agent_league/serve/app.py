"""The ASGI application of a server with many leagues: its index, and each league below `/leagues/LEAGUE_ID/`.

Owns the server's own paths. A league's requests go to its own application with the prefix taken off, as if it were
alone; an error there is that league's alone.
"""

import asyncio
import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send

from agent_league.agent.app import MCP_PATH, deny_websocket
from agent_league.errors import Refusal, UserError
from agent_league.http.call_limits import RateLimit
from agent_league.http.caller_address import UNKNOWN_ADDRESS
from agent_league.http.carrier import RequestRejected
from agent_league.http.limits import ConnectionLimits
from agent_league.launch.agent_app import make_header_check
from agent_league.launch.serving import make_organiser_sessions
from agent_league.serve.archive import ARCHIVE_PATH
from agent_league.serve.index_page import LEAGUES_PATH, hide_home, render_index
from agent_league.serve.internal_app import NotOwner, is_passed
from agent_league.serve.league_calls import LeagueCalls
from agent_league.serve.league_files import NewLeague
from agent_league.serve.league_server import LeagueServer
from agent_league.serve.organisers import LocalOrganisers, OrganiserCheck, SignedInOrganisers
from agent_league.serve.passing import AnswerBroken
from agent_league.serve.served_league import MAX_TRACE, ServedLeague
from agent_league.text import MAX_PHRASE, MAX_WORD, shorten, to_printable
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS, serve_asset
from agent_league.web.live.news_stream import NewsStream
from agent_league.web.metrics import make_server_metrics
from agent_league.web.organiser.forms import read_form
from agent_league.web.organiser.sessions import OrganiserSession, is_csrf_token
from agent_league.web.organiser.sign_in import PRIVATE_HEADERS, SIGN_IN_PATH, SignInApp
from agent_league.web.page import PageNotFound
from agent_league.web.rendering import LiveSite, render

ARCHIVED_PAGE = re.compile(rf"/{ARCHIVE_PATH}/[^/]+/")
LEAGUES_PREFIX = f"/{LEAGUES_PATH}/"
SIGN_UP_PREFIX = "/join/"
OWN_ADDRESSES = "Each league of this server has an address of its own, with which sign-up addresses begin"
MAX_BODY = 8192
INDEX_SECONDS = 1.0
"""So old the index may be: with many leagues it costs more than anybody may ask of us at once."""
MAX_NAMED = 12
"""Leagues that an answer names to somebody who asked for none of them."""
ALLOWED_FETCH_SITES = ("same-origin", "none")
MENU = (("", "Leagues"), (ARCHIVE_PATH, "Archive"))
NUMBERS = ("players", "rounds")
TEXTS = ("league_id", "title", "game", "format")
SIGN_OUT_PATH = "/sign-out"
CSRF_HEADER = "x-csrf-token"


class ServerApp:
    """All paths of a server; `may_organise` decides who may make leagues."""

    takes_websockets = True

    def __init__(
        self,
        server: LeagueServer,
        may_organise: OrganiserCheck | None = None,
        extra_routes: Sequence[BaseRoute] = (),
        calls: LeagueCalls | None = None,
    ) -> None:
        """`calls` passes on those for leagues of other servers that share the store, if there are any."""
        settings, network = server.settings, server.settings.system.network
        self._server = server
        self._calls = calls
        self._sessions = make_organiser_sessions(server.access, network)
        local = LocalOrganisers(lambda: server.is_loopback_only)
        self._may_organise = may_organise or SignedInOrganisers(self._sessions, local)
        self._site = LiveSite(network.public_path, origin=network.public_origin or "")
        self._header_check = make_header_check(network, [settings.host])
        self._sign_in = SignInApp(self._sessions, self._header_check, self._site, "")
        self._news = NewsStream(server.read_index_version, ConnectionLimits().max_connections // 4)
        self._index_lock = asyncio.Lock()
        self._built_indexes: dict[bool, tuple[str, float]] = {}
        """By whether it is for organisers: the latest index, and when it was made."""
        self._metrics = make_server_metrics(server.read_samples)
        rate = settings.system.security.rate_limit_per_sec
        self._rate_limit = RateLimit(rate, settings.system.security.rate_limit_burst) if rate else None
        self._router = Router(
            [
                *extra_routes,
                Route("/", self._show_index, methods=["GET"]),
                Route("/events", self._show_news, methods=["GET"]),
                Route("/health", self._show_health, methods=["GET"]),
                Route("/metrics", self._show_metrics, methods=["GET"]),
                Route("/static/{name}", serve_asset, methods=["GET"]),
                Route(f"/{LEAGUES_PATH}", self._make_league, methods=["POST"]),
                Route("/seasons", self._begin_season, methods=["POST"]),
                Route(f"/{ARCHIVE_PATH}", self._show_archive, methods=["GET"]),
                Route(f"/{ARCHIVE_PATH}/{{number:int}}", self._to_season, methods=["GET"]),
            ],
            redirect_slashes=False,
            default=self._raise_not_found,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            if path.startswith(LEAGUES_PREFIX):
                await self._serve_league(path, scope, receive, send)
            elif path.startswith(f"/{SIGN_IN_PATH}/"):
                self._header_check.check_request(scope)
                await self._sign_in(scope, receive, send)
            elif path == SIGN_OUT_PATH and scope["type"] == "http":
                self._header_check.check_request(scope)
                await (await self._sign_out(Request(scope, receive)))(scope, receive, send)
            elif scope["type"] == "http":
                self._check_own_request(scope)
                app = self._serve_season if ARCHIVED_PAGE.match(path) else self._router
                await app(scope, receive, send)
            else:
                raise RequestRejected(404, f"{OWN_ADDRESSES}: expected http://HOST/{LEAGUES_PATH}/NAME")
        except RequestRejected as error:
            await self._answer_rejection(error, scope, receive, send)
        except PageNotFound as error:
            await self._answer_rejection(RequestRejected(404, str(error)), scope, receive, send)
        except NotOwner:
            raise  # told to the server that has passed the call
        except AnswerBroken as error:
            self._server.log.warning("answer_broken", path=shorten(path, MAX_PHRASE), why=str(error))
            raise  # the connection is closed by the server
        except Exception as error:
            trace = "".join(traceback.format_exception(error))[-MAX_TRACE:]
            self._server.log.error("page_failed", path=shorten(path, MAX_PHRASE), trace=trace)
            raise  # answered with 500 by the server

    async def close(self) -> None:
        """End the streams of the index, which would otherwise stay open."""
        await self._news.close()

    def refused(self, address: tuple[str, int] | None, status: int, sentence: str) -> None:
        """Log a request that the server itself has refused; called for each."""
        self._server.log.info("request_refused", address=address[0] if address else "", status=status, why=sentence)

    async def _serve_league(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to its league, with the prefix taken off."""
        league_id, slash, rest = path.removeprefix(LEAGUES_PREFIX).partition("/")
        league = self._server.leagues.get(league_id)
        if league is None and not (self._calls and self._calls.has_league(league_id)):
            if is_passed(scope):
                raise NotOwner(league_id)
            raise RequestRejected(
                404, f"There is no league “{to_printable(league_id, MAX_WORD)}” here. {self._name_leagues()}"
            )
        if not slash:
            await RedirectResponse(self._site.to(f"{LEAGUES_PATH}/{league_id}/"), 307)(scope, receive, send)
            return
        root = f"{self._site.base}{LEAGUES_PREFIX}{league_id}"
        inner = {**scope, "path": f"/{rest}", "root_path": root}
        if self._calls:
            await self._calls.serve(league_id, scope, inner, receive, send)
        elif league:
            await league(inner, receive, send)

    async def _serve_season(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to a season of the archive, with the prefix taken off."""
        _, _, number, rest = scope["path"].split("/", 3)
        root = f"{self._site.base}/{ARCHIVE_PATH}/{number}"
        inner = {**scope, "path": f"/{rest}", "root_path": root}
        await self._server.archive.serve_season(number, inner, receive, send)

    def _check_own_request(self, scope: Scope) -> None:
        fields = self._header_check.check_request(scope)
        if scope["path"] == MCP_PATH or scope["path"].startswith(SIGN_UP_PREFIX):
            raise RequestRejected(404, f"{OWN_ADDRESSES}. {self._name_leagues()}")
        if scope["method"] == "POST":
            self._header_check.check_post(fields)
        client = scope.get("client") or UNKNOWN_ADDRESS
        if self._rate_limit and self._rate_limit.count_requests(client[0], 1):
            raise RequestRejected(429, "too many requests from your address; come again in a moment")

    def _name_leagues(self) -> str:
        """Name the leagues that can be joined, or all, to somebody who asked for another."""
        leagues = self._server.leagues.values()
        joinable = [one.league_id for one in leagues if _is_joinable(one)]
        if self._server.shared:
            own = self._server.leagues
            joinable += [one.league_id for one in self._server.read_index().soon if one.league_id not in own]
        named = joinable or [*self._server.leagues]
        what = "These can be joined" if joinable else "There are"
        root = self._server.settings.public_root
        listed = ", ".join(f"{root}{LEAGUES_PREFIX}{name}{MCP_PATH}" for name in named[:MAX_NAMED])
        more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
        return f"{what}: {listed}{more}." if named else "There is none yet."

    async def _show_index(self, request: Request) -> Response:
        organiser = await self._may_organise(request.scope)
        if organiser and organiser.session:
            text = await self._render_index(is_organiser=True, session=organiser.session)
            return Response(text, 200, PRIVATE_HEADERS, HTML_TYPE)
        text = await self._build_index(is_organiser=organiser is not None)
        return Response(text, 200, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)

    async def _build_index(self, *, is_organiser: bool) -> str:
        """Build the index, or return one that is no older than INDEX_SECONDS; those who ask meanwhile wait for it."""
        async with self._index_lock:
            now = asyncio.get_running_loop().time()
            text, made_at = self._built_indexes.get(is_organiser, ("", -INDEX_SECONDS))
            if now - made_at >= INDEX_SECONDS:
                text = await self._render_index(is_organiser=is_organiser)
                self._built_indexes[is_organiser] = (text, now)
        return text

    async def _render_index(self, *, is_organiser: bool, session: OrganiserSession | None = None) -> str:
        choices = await asyncio.to_thread(self._server.list_choices) if is_organiser else {}
        told = {"menu": MENU, "is_organiser": is_organiser, "choices": choices, "session": session}
        news_id = self._news.read_id()
        index = self._server.read_index()
        try:
            await self._server.wait_until_saved()
        except Refusal:
            raise RequestRejected(503, "Leagues are moving to another server; try again in a moment.") from None
        return await asyncio.to_thread(render_index, index, self._site, {**told, "news_id": news_id})

    async def _require_organiser(self, request: Request, what: str) -> None:
        """Raise RequestRejected unless an organiser of the server makes this change, with their CSRF token."""
        organiser = await self._may_organise(request.scope)
        if organiser is None:
            raise RequestRejected(403, f"only an organiser of this server may {what}")
        if organiser.session and not is_csrf_token(organiser.session, request.headers.get(CSRF_HEADER, "")):
            raise RequestRejected(403, "this page is no longer good; load it again")

    async def _sign_out(self, request: Request) -> Response:
        """End an organiser's session."""
        form = await read_form(request, self._header_check)
        session = await self._sessions.find_session(request.scope)
        if session is None or not is_csrf_token(session, form.get("csrf", "")):
            raise RequestRejected(403, "this page is no longer good; load it again")
        cookie = await self._sessions.end_session(request.scope)
        return RedirectResponse(self._site.to(""), 303, {**PRIVATE_HEADERS, "set-cookie": cookie})

    async def _show_news(self, request: Request) -> Response:
        """Tell whoever looks at the index when it has changed."""
        return self._news.answer(request.scope)

    async def _show_health(self, _: Request) -> Response:
        return Response(orjson.dumps(self._server.health()), media_type="application/json")

    async def _show_metrics(self, request: Request) -> Response:
        text, content_type = self._metrics(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": content_type})

    async def _make_league(self, request: Request) -> Response:
        """Make a league for an organiser: a JSON object with the fields of `NewLeague`."""
        await self._require_organiser(request, "make leagues")
        try:
            wanted = parse_new_league(await _read_json_body(request))
            await self._server.make_league(wanted)
        except UserError as error:
            return _answer_json(422, text=hide_home(str(error), self._server.settings.home))
        self._built_indexes.clear()
        path = self._site.to(f"{LEAGUES_PATH}/{wanted.league_id}/")
        return _answer_json(201, league_id=wanted.league_id, path=path)

    async def _begin_season(self, request: Request) -> Response:
        """Begin a new season of a league that is over, for an organiser: `{"league_id": ...}`."""
        await self._require_organiser(request, "begin seasons")
        league_id = str((await _read_json_body(request)).get("league_id"))
        if not self._server.is_completed(league_id):
            return _answer_json(409, text="There is no such league here, or it isn't over.")
        try:
            await self._server.begin_season(league_id)
        except UserError as error:
            return _answer_json(409, text=str(error))
        self._built_indexes.clear()
        return _answer_json(201, path=self._site.to(f"{LEAGUES_PATH}/{league_id}/"))

    async def _show_archive(self, _: Request) -> Response:
        seasons = await self._server.archive.list_seasons()
        frame = {"page_title": "Archive", "league_title": "Agent League", "here": ARCHIVE_PATH, "within": None}
        text = await asyncio.to_thread(render, "archive.html", self._site, {**frame, "menu": MENU, "seasons": seasons})
        return Response(text, 200, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)

    async def _to_season(self, request: Request) -> Response:
        return RedirectResponse(self._site.to(f"{ARCHIVE_PATH}/{request.path_params['number']}/"), 307)

    async def _raise_not_found(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RequestRejected(404, f"There is no page “{to_printable(scope['path'], MAX_WORD)}” here.")

    async def _answer_rejection(self, error: RequestRejected, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a person with a page, and a program with the sentence alone."""
        if scope["type"] == "websocket":
            denial = PlainTextResponse(error.sentence, error.status)
            await denial({**scope, "type": "http"}, receive, deny_websocket(send))
            return
        self.refused(scope.get("client"), error.status, error.sentence)
        headers = {**SECURITY_HEADERS, "cache-control": "no-store"}
        if error.status == 503:
            headers["retry-after"] = "5"
        accepted = dict(scope["headers"]).get(b"accept", b"")
        if scope["method"] == "GET" and b"text/html" in accepted:
            frame = {"page_title": "Not possible here", "league_title": "Agent League", "here": None, "within": None}
            told = {**frame, "menu": MENU, "sentence": error.sentence}
            response = Response(render("notice.html", self._site, told), error.status, headers, HTML_TYPE)
        else:
            response = Response(error.sentence, error.status, headers, "text/plain; charset=utf-8")
        await response(scope, receive, send)


def _is_joinable(league: ServedLeague) -> bool:
    state = league.manager.state if league.manager else None
    return state is not None and state.is_registration_open


def parse_new_league(wanted: Mapping[str, Any]) -> NewLeague:
    """Read what the form of a new league sends; raises UserError."""
    for name in TEXTS:
        if not isinstance(wanted.get(name, ""), str):
            raise UserError(f"'{name}' must be a text")
    for name in NUMBERS:
        if type(wanted.get(name)) not in (int, type(None)) or (wanted.get(name) or 1) < 1:
            raise UserError(f"'{name}' must be a whole number above 0, or null")
    if unknown := next((name for name in wanted if name not in (*TEXTS, *NUMBERS)), None):
        raise UserError(f"{shorten(repr(unknown))} is no field of a new league")
    return NewLeague(
        wanted.get("league_id", ""),
        wanted.get("title", ""),
        wanted.get("game") or None,
        wanted.get("format") or None,
        wanted.get("players"),
        wanted.get("rounds"),
    )


async def _read_json_body(request: Request) -> dict[str, Any]:
    """Read a small JSON object that a page of ours, or a program, sends; raises RequestRejected."""
    if request.headers.get("sec-fetch-site", "none") not in ALLOWED_FETCH_SITES:
        raise RequestRejected(403, "only a page of this very server may do that")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise RequestRejected(413, f"the body is over {MAX_BODY} bytes")
        data = orjson.loads(body)
    except (ClientDisconnect, orjson.JSONDecodeError):
        data = None
    if not isinstance(data, dict):
        raise RequestRejected(422, "the body must be a JSON object")
    return data


def _answer_json(status: int, **fields: str) -> Response:
    return Response(orjson.dumps(fields), status, {"cache-control": "no-store"}, "application/json")
