"""What is said of an agent: its state, how it speaks, how fast it answers. Its address is nobody's business."""

from dataclasses import dataclass

from agent_league.league.roster import Member
from agent_league.model.agents import PLAINLY, AgentState
from agent_league.model.names import printable
from agent_league.web.league_reader import Reader

KINDS = {AgentState.ACTIVE: "live", AgentState.SUSPENDED: "loss"}


@dataclass(frozen=True, slots=True)
class State:
    """Where an agent is in its life, and how it answers the manager at the moment."""

    words: str
    kind: str
    failures: int
    """In a row, up to now."""
    latency_ms: float | None


def state_of(reader: Reader, member: Member) -> State:
    return State(
        words=state_words(str(member.state), is_barred=member.is_barred),
        kind="loss" if member.is_barred else KINDS.get(member.state, ""),
        failures=member.breaker.count,
        latency_ms=latency_of(reader, member),
    )


def state_words(state: str, *, is_barred: bool) -> str:
    """A state for people. What the organiser said stands, also after the end.

    The manager tells nobody to shut down: that state means that an agent's league is over.
    """
    if is_barred:
        return "suspended by the organiser"
    return "finished" if state == AgentState.SHUTDOWN else state.lower()


def latency_of(reader: Reader, member: Member) -> float | None:
    """How long it takes to answer the manager, smoothed; None where nobody measures."""
    found = reader.meter.peer(member.agent.endpoint) if reader.meter else None
    return None if found is None or found.smoothed is None else 1000 * found.smoothed


def speech_of(member: Member) -> str:
    """Its protocol, and its way of calling where that is not the documents' own."""
    style = member.how.style
    return member.how.protocol if style == PLAINLY.style else f"{member.how.protocol}, {printable(style)}"
