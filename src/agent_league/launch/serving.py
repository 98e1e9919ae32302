"""Serving agents in this process: each with its own port and server, all in one event loop."""

import asyncio
import gc
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agent_league.agent.app import AgentApp, PagesApp
from agent_league.agent.runtime import Agent
from agent_league.agent.tasks import run_all, run_until_first
from agent_league.config.models import NetworkConfig
from agent_league.errors import PortInUse, UserError
from agent_league.http.carrier import Carrier
from agent_league.http.client import HttpCarrier
from agent_league.http.hosts import own_endpoint
from agent_league.http.link_server import LinkTarget
from agent_league.http.port_holder import describe_port_holder
from agent_league.http.proxies import serve_behind_proxies
from agent_league.http.server import HttpServer, bind_socket
from agent_league.launch.a2a_guests import open_a2a_guests, takes_a2a_agents
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import NO_LISTENERS, AgentListeners, AgentPlan, ManagerPlan, PlayerPlan, RefereePlan
from agent_league.launch.dialled_agent import run_dialled_agent
from agent_league.launch.house_bots import BOTS_PATH, open_house_bots
from agent_league.league.visibility import ORGANISER, VISITOR, Viewer, hides_from_visitors, mask_event, mask_state
from agent_league.model.events import Event

if TYPE_CHECKING:
    from agent_league.launch.league_grades import LeagueGrades
    from agent_league.league.app import LeagueManager
    from agent_league.storage.access import AccessStore
    from agent_league.web.a2a_invitation import InviteA2a
    from agent_league.web.league_reader import LeagueReader
    from agent_league.web.organiser.sessions import OrganiserSessions
    from agent_league.web.rendering import LiveSite
    from agent_league.web.team_sessions import TeamSessions

BACKLOG = 2048
"""Connections that wait until an agent is served; with too few places a caller would try again after a second."""
GC_THRESHOLDS = (100_000, 5, 20)
"""Rare collections: messages and matches are many, and hardly any is in a reference cycle."""
T = TypeVar("T")
PlanT = TypeVar("PlanT", bound=AgentPlan)


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run the event loop, on uvloop except on Windows; imported modules are frozen out of garbage collection."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415 - not there on Windows

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


async def serve_agents(
    seats: Sequence[AgentPlan],
    stop: asyncio.Event,
    watchers: AgentListeners = NO_LISTENERS,
    ready: Callable[[], None] | None = None,
    *,
    has_links: bool = False,
) -> None:
    """Serve all agents until `stop` is set, all are done, or one fails; `ready` is called once all are served.

    They listen before they are made, so that whoever calls meanwhile waits for the answer and need not call again.
    With `has_links`, they offer other processes to be called over links.
    """
    carrier = HttpCarrier()
    servers: list[HttpServer] = []
    sockets: list[socket.socket] = []
    try:
        agents = []
        dialled = [seat for seat in seats if isinstance(seat, PlayerPlan | RefereePlan) and seat.dial_out]
        served = [seat for seat in seats if seat not in dialled]
        linked: dict[bytes, LinkTarget] = {}
        for seat in served:
            found = seat.held_socket or bind_socket(seat.host, seat.port, seat.title, _port_hint(seat), BACKLOG)
            sockets.append(found)
        for seat, bound in zip(offer_links(served) if has_links else served, sockets, strict=True):
            agent, app = make_agent_and_app(seat, carrier, watchers)
            agents.append(agent)
            if seat.settings.link_port and seat.settings.endpoint:
                linked[seat.settings.endpoint.encode()] = app
                app.link_targets = linked
            proxied = serve_behind_proxies(app, seat.settings.system.network) if isinstance(seat, ManagerPlan) else app
            servers.append(HttpServer(proxied, seat.host, seat.port, seat.title, bound=bound))
        for server in servers:
            await server.start()
        if ready:
            ready()
        runs = [agent.run() for agent in agents] + [run_dialled_agent(seat, carrier, watchers) for seat in dialled]
        await run_until_first(stop.wait(), run_all(*runs))
    finally:
        await asyncio.gather(*(server.stop() for server in servers))
        await carrier.close()
        for bound in sockets:
            bound.close()


def offer_links(seats: Sequence[PlanT]) -> list[PlanT]:
    """Let the agents of a process name the port of the first of them for links, unless proxies stand before them."""
    network = seats[0].settings.system.network if seats else None
    if network is None or not network.links or network.public_url or network.trusted_proxies:
        return list(seats)
    return [seat.with_link(seats[0].port) for seat in seats]


def make_agent_and_app(seat: AgentPlan, carrier: Carrier, watchers: AgentListeners) -> tuple[Agent, AgentApp]:
    """Make an agent and what serves it."""
    if isinstance(seat, ManagerPlan):
        manager = seat.make_agent(carrier, watchers)
        return manager, make_manager_app(seat, manager, carrier)
    agent = seat.make_agent(carrier, watchers)
    return agent, make_agent_app(seat, agent)


def make_manager_app(seat: ManagerPlan, manager: "LeagueManager", carrier: Carrier) -> AgentApp:
    """Make what serves a manager: its own paths, and those of the house bots of a practice ladder."""
    guests = open_a2a_guests(manager, seat.settings.home, seat.settings.system.network.allowed_hosts)
    app = _make_own_app(seat, manager, guests.invite if guests and takes_a2a_agents(manager) else None)
    if bots := open_house_bots(manager, seat.settings, carrier):
        app.add_path_app(BOTS_PATH, bots)
    return app


def _make_own_app(seat: ManagerPlan, manager: "LeagueManager", invite_a2a: "InviteA2a | None") -> AgentApp:
    """Make what serves a manager itself: with its pages, its sign-up addresses and its organiser's page."""
    from agent_league.web.organiser.app import ORGANISER_PATH, OrganiserApp  # noqa: PLC0415 - only where a manager sits
    from agent_league.web.organiser.sign_in import SIGN_IN_PATH, SignInApp  # noqa: PLC0415 - as above
    from agent_league.web.sign_up_app import SignUpApp  # noqa: PLC0415 - as above
    from agent_league.web.team_page import TeamPage  # noqa: PLC0415 - as above

    if not seat.settings.serves_pages:
        app = make_agent_app(seat, manager)
        app.add_path_app("join", SignUpApp(app, manager.sign_up))
        return app
    reader, site = make_league_reader(seat, manager), make_league_site(seat)
    sessions = make_organiser_sessions(manager.access, seat.settings.system.network) if manager.access else None
    teams = _make_team_sessions(seat, manager, site)
    app = make_agent_app(seat, manager, make_manager_pages(seat, manager, reader, sessions, teams, invite_a2a))
    team_page = TeamPage(reader, manager.sign_up, seat.endpoint, site, manager.ladder_requests, teams, invite_a2a)
    app.add_path_app("join", SignUpApp(app, manager.sign_up, team_page, team_page.render_refusal), team_page.close)
    if sessions is not None:
        app.add_path_app(SIGN_IN_PATH, SignInApp(sessions, app.header_check, site, ORGANISER_PATH, reader.title))
        organiser = OrganiserApp(reader, manager, sessions, app.header_check, site, _make_grades(seat, manager, reader))
        app.add_path_app(ORGANISER_PATH, organiser, organiser.close)
    return app


def _make_team_sessions(seat: ManagerPlan, manager: "LeagueManager", site: "LiveSite") -> "TeamSessions | None":
    """Make the sessions of teams; None in a league that hides nothing from visitors, or has no database."""
    from agent_league.web.team_sessions import TeamSessions  # noqa: PLC0415 - as above

    if manager.access is None or not hides_from_visitors(manager.state.config.visibility):
        return None
    is_secure = (seat.settings.system.network.public_url or "").startswith("https:")
    return TeamSessions(manager.state.league_id, manager.access, f"{site.base}/", is_secure=is_secure)


def _make_grades(seat: ManagerPlan, manager: "LeagueManager", reader: "LeagueReader") -> "LeagueGrades | None":
    from agent_league.launch.league_grades import LeagueGrades  # noqa: PLC0415 - as above

    pages = seat.endpoint.removesuffix("/mcp")
    return LeagueGrades(reader, manager.access, seat.settings.home, pages) if manager.access else None


def make_organiser_sessions(access: "AccessStore", network: NetworkConfig) -> "OrganiserSessions":
    """Make the sign-in of organisers; its cookie is for the server's base path, and for https alone if that is used."""
    from agent_league.web.organiser.sessions import OrganiserSessions  # noqa: PLC0415 - as above

    is_secure = (network.public_url or "").startswith("https:")
    return OrganiserSessions(access, base_path=f"{network.public_path}/", is_secure=is_secure)


def make_league_site(seat: ManagerPlan) -> "LiveSite":
    """Make the links of a manager's pages."""
    from agent_league.web.rendering import LiveSite  # noqa: PLC0415 - as above

    address = urlsplit(seat.endpoint)
    base = address.path.removesuffix("/mcp")
    index = f"{base.removesuffix(seat.path)}/" if seat.path else ""
    return LiveSite(base, index, origin=f"{address.scheme}://{address.netloc}")


def make_league_reader(seat: ManagerPlan, manager: "LeagueManager", viewer: Viewer = ORGANISER) -> "LeagueReader":
    """Make what pages read of a manager's league, as a viewer may see it."""
    from agent_league.web.league_reader import (  # noqa: PLC0415 - as above
        BrowserSeatOffer,
        JoinInstructions,
        LeagueHistory,
        LeagueReader,
    )
    from agent_league.web.play.seats import FALLBACK  # noqa: PLC0415 - as above

    settings, state = seat.settings, mask_state(manager.state, viewer)

    def listen(listener: Callable[[Event], None]) -> None:
        manager.add_watcher(lambda event: listener(mask_event(manager.state, event, viewer)))

    return LeagueReader(
        state,
        settings.home,
        LeagueHistory(state, listen=listen),
        meter=manager.meter,
        invitation=JoinInstructions(seat.endpoint, settings.expected_players, settings.expected_referees),
        seats=BrowserSeatOffer(FALLBACK, takes_a2a=takes_a2a_agents(manager)) if settings.offers_seats else None,
        wait_until_saved=manager.wait_until_saved,
        live_positions=manager.live_positions,
    )


def make_manager_pages(
    seat: ManagerPlan,
    manager: "LeagueManager",
    reader: "LeagueReader | None" = None,
    sessions: "OrganiserSessions | None" = None,
    teams: "TeamSessions | None" = None,
    invite_a2a: "InviteA2a | None" = None,
) -> PagesApp:
    """Make the web pages of a manager, which only read its state.

    Organisers, and teams as far as it is theirs, see what is hidden from visitors.
    """
    from agent_league.launch.outside_player import OutsidePlayer  # noqa: PLC0415 - only where a manager sits
    from agent_league.web.app import WebApp  # noqa: PLC0415 - as above
    from agent_league.web.play.moving_players import MovingBrowserPlayers  # noqa: PLC0415 - as above
    from agent_league.web.play.requests import SeatRoutes  # noqa: PLC0415 - as above
    from agent_league.web.play.seats import BrowserPlayers, BrowserSeats  # noqa: PLC0415 - as above
    from agent_league.web.visible_pages import PageSessions, VisiblePages  # noqa: PLC0415 - as above

    settings, site = seat.settings, make_league_site(seat)
    full = reader or make_league_reader(seat, manager)
    is_hiding = hides_from_visitors(manager.state.config.visibility)
    public = make_league_reader(seat, manager, VISITOR) if is_hiding else full
    place = (settings, manager.state, seat.host, seat.port, OutsidePlayer, seat.path)
    guests = (
        MovingBrowserPlayers(*place, derive_secret=manager.derive_browser_secret)
        if settings.moves_between_servers
        else BrowserPlayers(*place)
    )
    offered = settings.offers_seats
    seats = BrowserSeats(public, guests, manager.sign_up.needs_player_key) if offered else None
    desk = SeatRoutes(seats, site, invite_a2a) if seats else None
    pages = WebApp(public, manager.log, desk, site=site)
    if not is_hiding:
        return pages

    def make_pages(shown: "LeagueReader") -> PagesApp:
        return WebApp(shown, manager.log, site=site)

    known = PageSessions(sessions, teams or _make_team_sessions(seat, manager, site))
    return VisiblePages(pages, make_pages(full), known, public, site, make_pages)


def check_ports(seats: Sequence[AgentPlan]) -> None:
    """Raise PortInUse or UserError if an agent can't listen on its port, or would register with itself."""
    for seat in seats:
        if isinstance(seat, PlayerPlan | RefereePlan) and seat.dial_out:
            continue
        try:
            if seat.held_socket is None:
                bind_socket(seat.host, seat.port, seat.title, _port_hint(seat)).close()
        except PortInUse:
            holder = describe_port_holder(seat.port)
            hint = f"{_port_hint(seat)} It is held by {holder}." if holder else _port_hint(seat)
            raise PortInUse(seat.host, seat.port, seat.title, hint) from None
        if seat.manager_address == own_endpoint(seat.host, seat.port, seat.settings.system.network.base_host):
            raise UserError(
                f"{seat.port_option} {seat.port}: {seat.title} would register with itself, for its League Manager is at"
                f" {seat.manager_address}. Choose another port, or name the manager's address with --manager."
            )


def find_free_port(host: str, ports: tuple[int, int]) -> int:
    """Return the first free port of a range, which others may take meanwhile; raises UserError if there is none."""
    port, held_socket = _hold_free_port(host, ports)
    if held_socket:
        held_socket.close()
    return port


def choose_port(
    port: int | None, host: str, ports: tuple[int, int], *, dial_out: bool
) -> tuple[int, socket.socket | None]:
    """Return the port that somebody named, else a free one, and what holds it for an agent that will listen there."""
    if port or dial_out:
        return port or find_free_port(host, ports), None
    return _hold_free_port(host, ports)


def _hold_free_port(host: str, ports: tuple[int, int]) -> tuple[int, socket.socket | None]:
    """Return the first free port of a range, and what listens there from now on; raises UserError if there is none.

    Nothing listens if host or port can't be, which `check_ports` reports with the agent's name.
    """
    for port in range(ports[0], ports[1] + 1):
        try:
            return port, bind_socket(host, port, "", backlog=BACKLOG)
        except PortInUse:
            continue
        except UserError:
            return port, None
    raise UserError(f"Every port from {ports[0]} to {ports[1]} is in use; name another with --port.")


def _port_hint(seat: AgentPlan) -> str:
    return f"Stop what is using it, or choose another with {seat.port_option}."
