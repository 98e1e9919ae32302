"""Serving agents in this process: each with its own port and server, all in one event loop."""

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from agent_league.agent.app import AgentApp, Pages
from agent_league.errors import PortInUse, UserError
from agent_league.http.carrier import Carrier
from agent_league.http.client import HttpCarrier
from agent_league.http.port_holder import describe_port_holder
from agent_league.http.server import HttpServer, bind
from agent_league.launch.addresses import own_endpoint
from agent_league.launch.agent_app import app_of
from agent_league.launch.agent_plan import NO_WATCHERS, Agent, ManagerSeat, Seat, Watchers

if TYPE_CHECKING:
    from agent_league.league.app import LeagueManager

COLLECTED_AFTER = (20_000, 20, 20)
"""Rare collections: messages are many, and hardly any is in a reference cycle."""


def run_async(main: Coroutine[Any, Any, None]) -> None:
    """Run the event loop, on uvloop except on Windows; imported modules are frozen out of garbage collection."""
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415 - not there on Windows

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


async def serve(
    seats: Sequence[Seat],
    stop: asyncio.Event,
    watchers: Watchers = NO_WATCHERS,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve all agents until `stop` is set, all are done, or one fails; `ready` is called once all listen."""
    carrier = HttpCarrier()
    servers: list[HttpServer] = []
    try:
        agents = []
        for seat in seats:
            agent, app = _taken(seat, carrier, watchers)
            agents.append(agent)
            servers.append(HttpServer(app, seat.host, seat.port, seat.title, _hint(seat)))
        for server in servers:
            await server.start()
        if ready:
            ready()
        await _until_stopped([agent.run() for agent in agents], stop)
    finally:
        await asyncio.gather(*(server.stop() for server in servers))
        await carrier.close()


def _taken(seat: Seat, carrier: Carrier, watchers: Watchers) -> tuple[Agent, AgentApp]:
    if isinstance(seat, ManagerSeat):
        manager = seat.take(carrier, watchers)
        return manager, app_of(seat, manager, pages_of(seat, manager) if seat.settings.web else None)
    agent = seat.take(carrier, watchers)
    return agent, app_of(seat, agent)


def pages_of(seat: ManagerSeat, manager: "LeagueManager") -> Pages:
    """Make the web pages of a manager; they only read its state."""
    from agent_league.launch.browser_players import FALLBACK, Visitors  # noqa: PLC0415 - only where a manager sits
    from agent_league.web.app import WebApp  # noqa: PLC0415 - as above
    from agent_league.web.league_history import Chronicle  # noqa: PLC0415 - as above
    from agent_league.web.league_reader import Invitation, Reader, SeatsOffered  # noqa: PLC0415 - as above
    from agent_league.web.play.requests import SeatDesk  # noqa: PLC0415 - as above
    from agent_league.web.play.seats import Seats  # noqa: PLC0415 - as above

    settings = seat.settings
    endpoint = own_endpoint(seat.host, seat.port, settings.system.network.base_host)
    reader = Reader(
        manager.season,
        settings.home,
        Chronicle(manager.season, listen=manager.watch),
        meter=manager.meter,
        invitation=Invitation(endpoint, settings.players, settings.referees),
        seats=SeatsOffered(FALLBACK) if settings.seats else None,
    )
    desk = SeatDesk(Seats(reader, Visitors(settings, manager.season, seat.host, seat.port))) if settings.seats else None
    return WebApp(reader, manager.log, desk)


async def _until_stopped(runs: Sequence[Coroutine[Any, Any, None]], stop: asyncio.Event) -> None:
    """Run coroutines until all are done or `stop` is set; the first failure cancels the others."""
    stopping = asyncio.create_task(stop.wait())
    running = {asyncio.create_task(run) for run in runs}
    try:
        while running and not stopping.done():
            done, _ = await asyncio.wait({stopping, *running}, return_when=asyncio.FIRST_COMPLETED)
            for task in done & running:
                task.result()
            running -= done
    finally:
        for task in (stopping, *running):
            task.cancel()
        await asyncio.gather(stopping, *running, return_exceptions=True)


def check_ports(seats: Sequence[Seat]) -> None:
    """Raise PortInUse or UserError if an agent can't listen on its port, or would register with itself."""
    for seat in seats:
        try:
            bind(seat.host, seat.port, seat.title, _hint(seat)).close()
        except PortInUse:
            holder = describe_port_holder(seat.port)
            hint = f"{_hint(seat)} It is held by {holder}." if holder else _hint(seat)
            raise PortInUse(seat.host, seat.port, seat.title, hint) from None
        except OSError as error:
            raise UserError(f"--host {seat.host}: {seat.title} can't listen there: {error.strerror}") from None
        if seat.manager == own_endpoint(seat.host, seat.port, seat.settings.system.network.base_host):
            raise UserError(
                f"{seat.port_option} {seat.port}: {seat.title} would register with itself, for its League Manager is at"
                f" {seat.manager}. Choose another port, or name the manager's address with --manager."
            )


def first_free(host: str, ports: tuple[int, int]) -> int:
    """Return the first free port of a range; raises UserError if there is none."""
    for port in range(ports[0], ports[1] + 1):
        try:
            bind(host, port, "").close()
        except PortInUse:
            continue
        except OSError:  # the host is wrong, which `check_ports` reports with the agent's name
            return port
        return port
    raise UserError(f"Every port from {ports[0]} to {ports[1]} is in use; name another with --port.")


def _hint(seat: Seat) -> str:
    return f"Stop what is using it, or choose another with {seat.port_option}."
