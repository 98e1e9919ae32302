"""The HTTP application of one agent: endpoints, MCP and metrics, with access as its settings allow."""

from agent_league.agent.app import AgentApp, Pages
from agent_league.http.guard import Guard
from agent_league.http.rate_limit import RateLimit
from agent_league.launch.agent_plan import Agent, Seat
from agent_league.mcp.server.gate import agent_door
from agent_league.protocol.methods import Caller
from agent_league.web.metrics import MetricsPage

OPEN = frozenset({Caller.ANYBODY, Caller.APPLICANT})
"""Roles of a caller without a valid token."""
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


def app_of(seat: Seat, agent: Agent, pages: Pages | None = None) -> AgentApp:
    """Make the ASGI application of an agent; only a manager has pages."""
    network, security = seat.settings.system.network, seat.settings.system.security
    own = () if seat.host in EVERY_ADDRESS else (seat.host,)
    rate = security.rate_limit_per_sec

    def has_good_token(token: str) -> bool:
        return bool((agent.audience(token) or OPEN) - OPEN)

    return AgentApp(
        agent.dispatcher.answer,
        agent.health,
        Guard((*network.allowed_hosts, network.base_host, *own), network.allowed_origins),
        RateLimit(rate, security.rate_limit_burst, agent.dispatcher.turn_away) if rate else None,
        seat.other_paths(agent),
        agent_door(agent, has_good_token),
        pages,
        MetricsPage(agent, lambda: pages.listeners if pages else 0),
        has_good_token,
        agent.dispatcher.messages.refuse_request,
    )
