"""The HTTP application of one agent: endpoints, MCP and metrics, with access as its settings allow."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from agent_league.a2a import has_a2a_sdk
from agent_league.a2a.lazy_player_server import CARD_FOLDER, PlayerCardApp
from agent_league.a2a.player_card import build_player_card
from agent_league.agent.app import AgentApp, PagesApp
from agent_league.agent.runtime import Agent
from agent_league.config.models import NetworkConfig
from agent_league.http.call_limits import RateLimit
from agent_league.http.header_check import HeaderCheck
from agent_league.http.hosts import WILDCARD_HOSTS
from agent_league.launch.agent_plan import AgentPlan, ManagerPlan, PlayerPlan
from agent_league.mcp.server.lazy_server import make_lazy_mcp_server
from agent_league.protocol.dial_out import DIAL_NAME, SEATS_NAME
from agent_league.protocol.methods import Caller
from agent_league.web.metrics import MetricsPage

PUBLIC_CALLERS = frozenset({Caller.ANYBODY, Caller.APPLICANT})
"""Roles of a caller without a valid token."""


def make_agent_app(seat: AgentPlan, agent: Agent, pages: PagesApp | None = None) -> AgentApp:
    """Make the ASGI application of an agent; only a manager has pages."""
    network, security = seat.settings.system.network, seat.settings.system.security
    called_by = urlsplit(seat.settings.endpoint or "").hostname
    own = [host for host in (seat.host, called_by) if host and host not in WILDCARD_HOSTS]
    rate = security.rate_limit_per_sec

    def has_good_token(token: str) -> bool:
        return bool((agent.audience(token) or PUBLIC_CALLERS) - PUBLIC_CALLERS)

    header_check = make_header_check(network, own)
    is_manager = isinstance(seat, ManagerPlan)
    app = AgentApp(
        agent.dispatcher.answer_request,
        agent.health,
        header_check,
        RateLimit(rate, security.rate_limit_burst) if rate else None,
        seat.other_paths(agent),
        make_lazy_mcp_server(agent, has_good_token),
        pages,
        MetricsPage(agent, lambda: pages.listeners if pages else 0),
        has_good_token,
        agent.dispatcher.message_log.log_refused_request,
        agent.dispatcher.refuse_requests,
        path_apps={} if is_manager else None,
    )
    if is_manager:
        _add_dial_out(agent, app, header_check)
    elif isinstance(seat, PlayerPlan) and has_a2a_sdk():
        app.add_path_app(CARD_FOLDER, PlayerCardApp(build_player_card(seat.settings)))
    return app


def _add_dial_out(agent: Agent, app: AgentApp, header_check: HeaderCheck) -> None:
    """Serve the paths by which players that can't be called dial out to a manager."""
    from agent_league.league.app import LeagueManager  # noqa: PLC0415 - players and referees do without
    from agent_league.league.dial_out.app import DialOutApp  # noqa: PLC0415 - as above

    if not isinstance(agent, LeagueManager):
        raise TypeError("only a manager has seats for agents that dial out")
    needed_key = agent.sign_up.explain_needed_key
    dial_out = DialOutApp(agent.seats, app, header_check, agent.endpoint, agent.log, agent.seat_members, needed_key)
    app.add_path_app(DIAL_NAME, dial_out.serve_dial)
    app.add_path_app(SEATS_NAME, dial_out.serve_seat)


def make_header_check(network: NetworkConfig, own_hosts: Sequence[str]) -> HeaderCheck:
    """Make the check of Host and Origin that accepts our own hosts, the public one and the configured ones."""
    hosts = (*network.allowed_hosts, network.base_host, *own_hosts, network.public_host or "")
    return HeaderCheck(filter(None, hosts), filter(None, (*network.allowed_origins, network.public_origin)))
