"""The web pages as an ASGI application, which the manager serves beside `/mcp`.

Owns paths, headers and status codes; the content of a page belongs to its module in `pages`. An error in a page is
logged and answered with a short notice; it never reaches the manager.
"""

import asyncio
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_league.http.carrier import RequestRejected
from agent_league.league.state import LeaguePhase
from agent_league.log import JsonLogger
from agent_league.text import MAX_PHRASE, MAX_SENTENCE, shorten
from agent_league.web.data_files import DATA_FILES, DataFile
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.feed import LiveFeed
from agent_league.web.page import Page, PageNotFound, quote_name
from agent_league.web.page_cache import (
    MAX_AGE_SECONDS,
    SETTLED_VERSION,
    BuildPage,
    CacheOverloaded,
    PageCache,
    ServedContent,
    accepts_gzip,
    encode_content,
)
from agent_league.web.pages import PAGES, read_page_data, render_notice, render_page
from agent_league.web.rendering import LiveSite, guess_media_type, load_assets

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HTML_TYPE = "text/html; charset=utf-8"
CACHE_FOREVER = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"


class ExtraRoutes(Protocol):
    """Further routes beside the pages, such as those of people who play in the browser."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...
    @property
    def listeners(self) -> int: ...
    async def close(self) -> None: ...


class WebApp:
    """All pages of one league."""

    def __init__(
        self,
        reader: LeagueReader,
        log: JsonLogger | None = None,
        extra_routes: ExtraRoutes | None = None,
        max_age_seconds: float = MAX_AGE_SECONDS,
        site: LiveSite | None = None,
    ) -> None:
        """Serve the pages of `reader`; while the league runs, a cached page may be `max_age_seconds` old."""
        self._reader = reader
        self._reader.ratings.works_in_background = True
        self._log = log
        self._extra_routes = extra_routes
        self._site = site or LiveSite()
        self._cache = PageCache(max_age_seconds)
        self._live_feed = LiveFeed(reader, self._site, log)
        routes: list[BaseRoute] = list(extra_routes.routes) if extra_routes else []
        routes.append(Route("/events", self._live_feed, methods=["GET"]))
        routes.append(Route("/static/{name}", serve_asset, methods=["GET"]))
        routes += [Route(f"/{page.path}", partial(self._serve_page, page), methods=["GET"]) for page in PAGES]
        routes += [Route(f"/{file.path}", partial(self._serve_file, file), methods=["GET"]) for file in DATA_FILES]
        self._router = Router(routes, redirect_slashes=False, default=_raise_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        # Starlette's own exception handlers would answer without our page frame
        inner = {name: value for name, value in scope.items() if name != "starlette.exception_handlers"}
        try:
            await self._select_app(inner)(inner, receive, send_guarded)
        except Exception as error:
            if started:
                self._log_failure(scope, error)
                raise
            await self._build_error_response(scope, error)(scope, receive, send_guarded)

    @property
    def listeners(self) -> int:
        """Number of open live streams."""
        return self._live_feed.listeners + (self._extra_routes.listeners if self._extra_routes else 0)

    async def close(self) -> None:
        """End the live streams, which would otherwise stay open, and stop building pages."""
        await self._live_feed.close()
        await self._cache.close()
        if self._extra_routes:
            await self._extra_routes.close()

    async def _serve_page(self, page: Page, request: Request) -> Response:
        """Serve a page from the cache; raises PageNotFound."""
        key: str = request.path_params.get("key", "")
        if page.shows_ratings:
            await self._reader.ratings.wait_for_first()

        def read() -> BuildPage:
            told = read_page_data(page, key, self._reader, self._site)

            async def build() -> ServedContent:
                await self._reader.wait_until_saved()
                return await asyncio.to_thread(lambda: encode_content(render_page(page, told, self._site).encode()))

            return build

        version = SETTLED_VERSION if page.is_settled(self._reader, key) else self._reader.history.version
        found = await self._cache.get_page((page.path, key), version, read, is_busy=self._is_busy)
        return _build_response(request.headers, found, HTML_TYPE, REVALIDATE)

    async def _serve_file(self, file: DataFile, request: Request) -> Response:
        """Serve a table of the league from the cache."""

        def read() -> BuildPage:
            make = file.read(self._reader)
            return lambda: asyncio.to_thread(lambda: encode_content(make()))

        version = self._reader.history.version
        found = await self._cache.get_page((file.path, ""), version, read, is_busy=self._is_busy)
        return _build_response(request.headers, found, file.media_type, REVALIDATE)

    @property
    def _is_busy(self) -> bool:
        return self._reader.state.phase is LeaguePhase.RUNNING

    def _select_app(self, scope: Scope) -> ASGIApp:
        path: str = scope["path"]
        if path != "/" and path.endswith("/"):
            return RedirectResponse(self._site.to(path.strip("/")), 307)
        return self._router

    def _build_error_response(self, scope: Scope, error: Exception) -> Response:
        """Build the notice page and status code for an error."""
        headers: dict[str, str] = {"cache-control": "no-store"}
        match error:
            case PageNotFound():
                status, title, sentence = 404, "Not found", str(error)
            case HTTPException(status_code=405):
                status, title = 405, "Not possible here"
                sentence = f"{shorten(scope['method'])} is not possible here; this address can only be read."
                headers.update(error.headers or {})
            case HTTPException():
                status, title, sentence = error.status_code, "Not possible here", error.detail
                headers.update(error.headers or {})
            case RequestRejected():
                status, title, sentence = error.status, "Not possible now", error.sentence
                headers["retry-after"] = "2"
            case CacheOverloaded():
                status, title, sentence = 503, "Too many at once", "Many people look at once; try again in a moment."
                headers["retry-after"] = "2"
            case _:
                self._log_failure(scope, error)
                status, title = 500, "Our fault"
                sentence = "This page could not be made. The manager's log says why; the league goes on."
        text = render_notice(title, shorten(sentence, MAX_SENTENCE), self._reader, self._site)
        return Response(text, status, headers, HTML_TYPE)

    def _log_failure(self, scope: Scope, error: Exception) -> None:
        if self._log:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
            path, what = shorten(scope["path"], MAX_PHRASE), shorten(repr(error), MAX_SENTENCE)
            self._log.error("page_failed", path=path, error=what, where=place)


async def serve_asset(request: Request) -> Response:
    """Serve a style, script or image; raises PageNotFound."""
    name: str = request.path_params["name"]
    found = load_assets().get(name)
    if found is None:
        raise PageNotFound(f"There is no file {quote_name(name)} here.")
    is_its_own = request.url.query == found.etag
    return _build_response(request.headers, found, guess_media_type(name), CACHE_FOREVER if is_its_own else REVALIDATE)


async def _raise_not_found(scope: Scope, _receive: Receive, _send: Send) -> None:
    titles = ", ".join(page.title for page in PAGES if page.title)
    raise PageNotFound(f"There is no page {quote_name(scope['path'])} here. There are: {titles}.")


def _build_response(asked: Headers, found: ServedContent, media_type: str, keeping: str) -> Response:
    """Answer with the content, gzipped if accepted, or with 304 if the client's copy is current."""
    headers = {"etag": f'"{found.etag}"', "cache-control": keeping, "vary": "accept-encoding"}
    if found.etag in asked.get("if-none-match", ""):
        return Response(None, 304, headers)
    if accepts_gzip(asked.get("accept-encoding", "")):
        return Response(found.gzipped, 200, {**headers, "content-encoding": "gzip"}, media_type)
    return Response(found.plain, 200, headers, media_type)
