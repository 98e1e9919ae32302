"""A server's links to the others of its store: the internal listener, and the passing of calls.

Chooses the internal address where none is given; what is passed and what is taken is `passing.py`'s and
`internal_app.py`'s.
"""

import time
from dataclasses import replace
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from agent_league.errors import HostNotOurs, UserError
from agent_league.http.exposure import is_loopback_only
from agent_league.http.hosts import are_all_loopback
from agent_league.http.limits import ConnectionLimits
from agent_league.http.proxies import serve_behind_proxies
from agent_league.http.server import HttpServer
from agent_league.launch.serving import find_free_port
from agent_league.serve.internal_app import InternalApp
from agent_league.serve.league_calls import LeagueCalls
from agent_league.serve.league_server import LeagueServer, ServerSettings
from agent_league.serve.passed_call import CallSigner, CallVerifier
from agent_league.serve.passing import CallPasser, parse_address
from agent_league.serve.shared_leagues import SharedLeagues
from agent_league.text import quote

INTERNAL_STEP = 1000
"""How far the internal port is above the public one, where no address is given."""
TRIED_PORTS = 100
LAST_PORT = 65535
LOOPBACK = "127.0.0.1"


def choose_internal_url(settings: ServerSettings) -> ServerSettings:
    """Give a server that shares its store an internal address on this machine, unless it has one; raises UserError.

    It is the same after a restart, so that the others see the same server again.
    """
    if not settings.shares_store:
        return settings
    if settings.internal_url is None:
        first = settings.port + INTERNAL_STEP
        first = first if first + TRIED_PORTS <= LAST_PORT else settings.port - INTERNAL_STEP
        port = find_free_port(LOOPBACK, (first, first + TRIED_PORTS))
        return replace(settings, internal_url=f"http://{LOOPBACK}:{port}")
    parts = urlsplit(settings.internal_url)
    try:
        is_address = parts.scheme == "http" and parts.hostname and parts.port and parts.path in ("", "/")
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment or parts.username:
        raise UserError(
            f"--internal-url {quote(settings.internal_url)}: expected the address of this machine in a network that"
            " only the servers reach, with a port of its own, such as http://10.0.0.2:9000"
        )
    if parts.port == settings.port and settings.port:
        raise UserError(f"--internal-url {quote(settings.internal_url)}: expected another port than --port")
    return replace(settings, internal_url=settings.internal_url.rstrip("/"))


class ServerLinks:
    """What one server has to do with the others. Create it inside a running event loop."""

    def __init__(self, server: LeagueServer, shared: SharedLeagues, key: bytes) -> None:
        """`key` is the one by which servers sign, from the store."""
        self._server = server
        self._owners = shared.owners
        self._key = key
        settings = server.settings
        self._host, self._port = parse_address(settings.internal_url or "")
        self._is_loopback_only = is_loopback_only(
            settings.system.network, listens_on_loopback=are_all_loopback([settings.host])
        )
        signer = CallSigner(key, time.time)
        self.passer = CallPasser(signer, self._host, is_exposed=not self._is_loopback_only)
        self.calls = LeagueCalls(server.find_league, shared.owners, self.passer, server.log)

    def make_listener(self, app: ASGIApp, limits: ConnectionLimits) -> HttpServer:
        """Make the internal listener, which serves passed calls by `app`; raises UserError."""
        network = self._server.settings.system.network.model_copy(update={"trusted_proxies": ()})
        verifier = CallVerifier(self._key, lambda: self._owners.server_id, time.time)
        internal = InternalApp(
            serve_behind_proxies(app, network), verifier, self._server.log, is_loopback_only=self._is_loopback_only
        )
        hint = "Choose another with --internal-url."
        try:
            return HttpServer(internal, self._host, self._port, "what servers pass to each other", hint, limits)
        except HostNotOurs as error:
            shown = self._server.settings.internal_url
            raise UserError(f"--internal-url {shown}: can't listen there: {error.problem}") from None

    async def close(self) -> None:
        await self.passer.close()


async def open_links(server: LeagueServer) -> ServerLinks | None:
    """Open a server's links to the others; None if it has its store alone. Raises StoreFailed and UserError."""
    if server.shared is None:
        return None
    owners = server.shared.owners
    await owners.open_store()
    return ServerLinks(server, server.shared, await owners.run_directory(owners.directory.passing_key))
