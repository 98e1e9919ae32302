"""The HTTP application of one agent: endpoints, MCP and metrics, with access as its settings allow."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from agent_league.agent.app import AgentApp, PagesApp
from agent_league.agent.runtime import Agent
from agent_league.config.models import NetworkConfig
from agent_league.http.call_limits import RateLimit
from agent_league.http.header_check import HeaderCheck
from agent_league.http.hosts import WILDCARD_HOSTS
from agent_league.launch.agent_plan import AgentPlan
from agent_league.mcp.server.lazy_server import make_lazy_mcp_server
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

    return AgentApp(
        agent.dispatcher.answer_request,
        agent.health,
        make_header_check(network, own),
        RateLimit(rate, security.rate_limit_burst) if rate else None,
        seat.other_paths(agent),
        make_lazy_mcp_server(agent, has_good_token),
        pages,
        MetricsPage(agent, lambda: pages.listeners if pages else 0),
        has_good_token,
        agent.dispatcher.message_log.log_refused_request,
        agent.dispatcher.refuse_requests,
    )


def make_header_check(network: NetworkConfig, own_hosts: Sequence[str]) -> HeaderCheck:
    """Make the check of Host and Origin that accepts our own hosts, the public one and the configured ones."""
    hosts = (*network.allowed_hosts, network.base_host, *own_hosts, network.public_host or "")
    return HeaderCheck(filter(None, hosts), filter(None, (*network.allowed_origins, network.public_origin)))
