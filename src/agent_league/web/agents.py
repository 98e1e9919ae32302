"""What pages say about an agent: its state, its protocol and its latency. Agents' addresses are never shown."""

from dataclasses import dataclass

from agent_league.league.roster import Member
from agent_league.model.agents import PLAINLY, AgentState
from agent_league.model.names import printable
from agent_league.web.league_reader import Reader

KINDS = {AgentState.ACTIVE: "live", AgentState.SUSPENDED: "loss"}


@dataclass(frozen=True, slots=True)
class State:
    """An agent's state in words, and how it currently answers the manager."""

    words: str
    kind: str
    failures: int
    """Consecutive failed calls, up to now."""
    latency_ms: float | None


def state_of(reader: Reader, member: Member) -> State:
    return State(
        words=state_words(str(member.state), is_barred=member.is_barred),
        kind="loss" if member.is_barred else KINDS.get(member.state, ""),
        failures=member.breaker.count,
        latency_ms=latency_of(reader, member),
    )


def state_words(state: str, *, is_barred: bool) -> str:
    """Describe an agent's state in words; a suspension by the organiser outlasts the league.

    SHUTDOWN reads "finished": the manager never shuts agents down, the state only means that the league is over.
    """
    if is_barred:
        return "suspended by the organiser"
    return "finished" if state == AgentState.SHUTDOWN else state.lower()


def latency_of(reader: Reader, member: Member) -> float | None:
    """Return the agent's smoothed latency on the manager's calls; None if it was not measured."""
    found = reader.meter.peer(member.agent.endpoint) if reader.meter else None
    return None if found is None or found.smoothed is None else 1000 * found.smoothed


def speech_of(member: Member) -> str:
    """Name the agent's protocol, and its call form if that is not the documented one."""
    style = member.how.style
    return member.how.protocol if style == PLAINLY.style else f"{member.how.protocol}, {printable(style)}"
