"""An HTTP server on uvicorn for one ASGI application. Several can live in one process and one event loop.

The limits on connections are in `limits`.
"""

import asyncio
import errno
import socket
import sys
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from agent_league.errors import HostNotOurs, PortInUse, UserError
from agent_league.http.carrier import MAX_BODY
from agent_league.http.limits import ConnectionLimits, LimitedProtocol, ServerLimits

MAX_WEBSOCKET_MESSAGE = 2 * MAX_BODY + 64 * 1024
"""Bytes of a message: a body as a JSON string, where each character may need two, and what is around it."""
WEBSOCKET_PING_SECONDS = 20.0
"""How often a WebSocket is pinged, and how long it may take to answer before it is closed."""


class HttpServer:
    """One agent's server: binds its port when created, unless it is given a bound socket; serves from `start` on."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        wanted_by: str,
        hint: str = "",
        limits: ConnectionLimits | None = None,
        bound: socket.socket | None = None,
    ) -> None:
        self.socket = bound or bind_socket(host, port, wanted_by, hint)
        self.port: int = self.socket.getsockname()[1]
        self._app = app
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws=_choose_websocket_protocol(app),
            ws_max_size=MAX_WEBSOCKET_MESSAGE,
            ws_ping_interval=WEBSOCKET_PING_SECONDS,
            ws_ping_timeout=WEBSOCKET_PING_SECONDS,
            ws_per_message_deflate=False,  # a small message may unpack to a huge one
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        refused = getattr(app, "refused", None)
        links = app if hasattr(app, "link_targets") else None
        self._server_limits = ServerLimits(limits or ConnectionLimits(), refused, links)  # type: ignore[arg-type]
        self._server.server_state = self._server_limits

    async def start(self) -> None:
        await self._server.startup(sockets=[self.socket])
        self._server_limits.start_timer()

    async def stop(self) -> None:
        self._server_limits.stop_timer()
        if close := getattr(self._app, "close", None):
            await close()
        if self._server.started:
            await self._server.shutdown(sockets=[self.socket])
            await self._server_limits.close_connections()
        self.socket.close()


def _choose_websocket_protocol(app: ASGIApp) -> type[asyncio.Protocol] | Literal["none"]:
    """WebSockets for an application that says that it takes them; others need not import the library."""
    if not getattr(app, "takes_websockets", False):
        return "none"
    from agent_league.http.websocket import LimitedWebSocket  # noqa: PLC0415 - see above

    return LimitedWebSocket


def bind_socket(host: str, port: int, wanted_by: str, hint: str = "", backlog: int | None = None) -> socket.socket:
    """Return a bound socket; raises PortInUse, HostNotOurs, or UserError if the port isn't allowed.

    `wanted_by` and `hint` go into the message. With a `backlog` it listens, and only then nobody else gets the port.
    """
    address = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # IPPROTO_TCP, because asyncio turns Nagle's algorithm off only on sockets that name it: 40 ms a call otherwise.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address, port))
        if backlog is not None:
            bound.listen(backlog)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(host, port, wanted_by, hint) from None
        if error.errno == errno.EACCES:
            raise UserError(
                f"Not allowed to listen on port {port} of {host}, and {wanted_by} wants it."
                " Choose one above 1024: those below belong to the system."
            ) from None
        raise HostNotOurs(host, wanted_by, error.strerror or str(error)) from None
    return bound
