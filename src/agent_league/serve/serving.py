"""Running a server: its port, its application and its leagues, until it is told to stop."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

from agent_league.agent.tasks import run_until_first
from agent_league.http.limits import ConnectionLimits
from agent_league.http.proxies import serve_behind_proxies
from agent_league.http.server import HttpServer
from agent_league.serve.app import ServerApp
from agent_league.serve.league_server import LeagueServer, ServerSettings
from agent_league.serve.server_links import choose_internal_url, open_links

MAX_CONNECTIONS = 10_000
OWN_PART = 2
"""One in so many open files may be a connection."""
SHARED_PART = 4
"""The same where other servers pass calls on: a call has a connection here, one to its owner, and one there."""


async def serve_until(
    stop: asyncio.Event, settings: ServerSettings, ready: Callable[[LeagueServer], None] | None = None
) -> None:
    """Serve all leagues of a home until `stop` is set; `ready` is called once it listens and all have begun."""
    settings = choose_internal_url(settings)
    limits = ConnectionLimits(max_connections=raise_file_limit(SHARED_PART if settings.shares_store else OWN_PART))
    server = LeagueServer(settings)
    async with AsyncExitStack() as ending:
        ending.push_async_callback(server.close)
        links = await open_links(server)
        app = ServerApp(server, calls=links.calls if links else None)
        outside = serve_behind_proxies(app, settings.system.network)
        hint = "Stop what is using it, or choose another with --port."
        listeners = [HttpServer(outside, settings.host, settings.port, "the server of the leagues", hint, limits)]
        ending.push_async_callback(listeners[0].stop)
        if links:
            ending.push_async_callback(links.close)
            listeners.append(links.make_listener(app, limits))
            ending.push_async_callback(listeners[1].stop)
        ending.callback(server.end_questions)
        for listener in listeners:
            await listener.start()
        await server.start()
        if ready:
            ready(server)
        await run_until_first(stop.wait(), server.run())


def raise_file_limit(part: int = OWN_PART) -> int:
    """Raise the limit of open files as far as is allowed; return how many connections one part of them leaves."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - not there on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * MAX_CONNECTIONS if hard == resource.RLIM_INFINITY else min(4 * MAX_CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // part)
