"""What pages say about an agent: its state, its protocol and its latency. Agents' addresses are never shown."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_league.clock import format_duration
from agent_league.league.roster import Member
from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, AgentState
from agent_league.text import to_printable
from agent_league.web.league_reader import LeagueReader

STATE_KINDS = {AgentState.ACTIVE: "live", AgentState.SUSPENDED: "loss"}


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent's state in words, and how it currently answers the manager."""

    words: str
    kind: str
    failures: int
    """Consecutive failed calls, up to now."""
    latency_ms: float | None


def read_agent_status(reader: LeagueReader, member: Member) -> AgentStatus:
    return AgentStatus(
        words=describe_state(member),
        kind=find_state_kind(member),
        failures=member.breaker.failure_count,
        latency_ms=read_latency_ms(reader, member),
    )


def find_state_kind(member: Member) -> str:
    """Return the look of an agent's state."""
    return "loss" if member.is_barred else STATE_KINDS.get(member.state, "")


def describe_state(member: Member) -> str:
    """Describe an agent's state in words; a suspension by the organiser outlasts the league.

    SHUTDOWN reads "finished": the manager never shuts agents down, the state only means that the league is over.
    """
    if member.is_barred:
        return "withdrawn" if member.is_withdrawn else "suspended by the organiser"
    return "finished" if member.state is AgentState.SHUTDOWN else str(member.state).lower()


def read_latency_ms(reader: LeagueReader, member: Member) -> float | None:
    """Return the agent's smoothed latency on the manager's calls; None if it was not measured."""
    found = reader.meter.peer_stats(member.agent.endpoint) if reader.meter else None
    return None if found is None or found.smoothed is None else 1000 * found.smoothed


def shows_operators_figures(reader: LeagueReader) -> bool:
    """Whether pages for everybody tell how well agents answer: only where all who can look are on this machine.

    Elsewhere the organiser's page does.
    """
    return reader.state.roster.rules.is_loopback_only


def read_last_seen(reader: LeagueReader, member: Member) -> datetime | None:
    """Return when an agent called the manager or answered it last; None if it hasn't since the manager started."""
    stats = reader.meter.peer_stats(member.agent.endpoint) if reader.meter else None
    answered = None
    if stats is not None and stats.answered_at is not None:
        answered = reader.history.now() - timedelta(seconds=time.monotonic() - stats.answered_at)
    return max(filter(None, (answered, member.last_call_at)), default=None)


def describe_age(moment: datetime | None, now: datetime) -> str:
    """Describe how long ago an agent was heard of: "12 s ago". None: it has registered, but with an earlier process."""
    if moment is None:
        return "not since the server started"
    return f"{format_duration(max(1, round((now - moment).total_seconds())))} ago"


def describe_protocol(member: Member) -> str:
    """Name the agent's protocol, and its call form if that is not the documented one."""
    style = member.protocol_profile.call_form
    return (
        member.protocol_profile.protocol
        if style == DEFAULT_PROTOCOL_PROFILE.call_form
        else f"{member.protocol_profile.protocol}, {to_printable(style)}"
    )
