"""The pages behind a server: an ASGI application that the manager serves beside `/mcp`.

Owns paths, headers and status codes; what stands on a page is that page's business.
"""

from collections.abc import Callable
from importlib.resources import files

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from agent_league.web.framing import read_page, write_page
from agent_league.web.page import NoSuchThing, Page
from agent_league.web.pages import PAGES
from agent_league.web.reader import Reader
from agent_league.web.site import LiveSite


class WebApp:
    """All pages of one league."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._site = LiveSite()
        routes: list[BaseRoute] = [Route(f"/{page.path}", self._shown(page)) for page in PAGES]
        routes.append(Mount("/static", StaticFiles(directory=str(files("agent_league.web") / "static"))))
        self._app = Starlette(routes=routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def close(self) -> None:
        """Ends the streams that would never end by themselves."""

    def _shown(self, page: Page) -> Callable[[Request], "Response"]:
        async def show(request: Request) -> Response:
            key = request.path_params.get("key", "")
            try:
                told = read_page(page, key, self._reader, self._site)
                text = await run_in_threadpool(write_page, page, told, self._site)
            except NoSuchThing as error:
                return HTMLResponse(str(error), 404)
            return HTMLResponse(text)

        return show  # type: ignore[return-value]
