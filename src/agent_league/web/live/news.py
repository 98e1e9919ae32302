"""League events as sentences for people. They never contain agents' addresses, which only the league needs."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_league.model.agents import AgentState
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    PauseChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundStarted,
    StoreChanged,
)
from agent_league.model.result_words import describe_ending, describe_fault, format_count


@dataclass(frozen=True, slots=True)
class NewsSentence:
    """A sentence; `label` comes first and links to the page `path`, `kind` selects its style."""

    kind: str
    text: str
    label: str = ""
    path: str = ""


def describe_event(event: Event, names: Mapping[str, str]) -> NewsSentence:
    """Describe an event. `names` maps player ids to names."""
    match event:
        case AgentRegistered() | AgentStateChanged() | RegistrationRefused():
            return _describe_agent_event(event, names)
        case MatchAssigned() | MatchFinished():
            return _describe_match_event(event, names)
        case RoundStarted() | RoundCompleted():
            return NewsSentence("round", _describe_round_event(event))
        case MatchOverdue() | MatchNotTaken() | RefereeWaitChanged() | StoreChanged():
            return NewsSentence("league" if _is_recovery(event) else "trouble", event.sentence)
        case _:
            return NewsSentence("league", _describe_league_event(event))


def _is_recovery(event: MatchOverdue | MatchNotTaken | RefereeWaitChanged | StoreChanged) -> bool:
    """Whether the event reports the end of a problem."""
    if isinstance(event, StoreChanged):
        return event.is_there
    return isinstance(event, RefereeWaitChanged) and not event.is_waiting


def _describe_agent_event(
    event: AgentRegistered | AgentStateChanged | RegistrationRefused, names: Mapping[str, str]
) -> NewsSentence:
    if isinstance(event, RegistrationRefused):
        return NewsSentence("agent" if event.has_old_token else "trouble", event.sentence)
    path = f"players/{event.agent_id}" if event.agent_id in names else "referees"
    if isinstance(event, AgentRegistered):
        return NewsSentence(
            "agent", "is back" if event.returned else f"joins as a {event.role}", event.display_name, path
        )
    kind = "trouble" if event.state is AgentState.SUSPENDED else "agent"
    return NewsSentence(kind, f"is {event.state.lower()}: {event.why}", names.get(event.agent_id, event.agent_id), path)


def _describe_match_event(event: MatchAssigned | MatchFinished, names: Mapping[str, str]) -> NewsSentence:
    if isinstance(event, MatchAssigned):
        whose = f"goes to {event.referee_id}" if event.referee_id else "waits for a referee"
        return NewsSentence("match", whose, event.match_id, f"matches/{event.match_id}")
    result = event.result
    kind = "trouble" if describe_fault(result, names) else "match"
    return NewsSentence(kind, describe_ending(result, names), result.match_id, f"matches/{result.match_id}")


def _describe_round_event(event: RoundStarted | RoundCompleted) -> str:
    if isinstance(event, RoundStarted):
        return f"Round {event.round.round_id} begins"
    has_leader = event.standings and event.standings[0].played
    leader = f"; {event.standings[0].display_name} leads" if has_leader else ""
    return f"Round {event.round_id} is complete{leader}"


def _describe_league_event(
    event: RegistrationChanged | PauseChanged | LeagueStarted | LeagueResumed | LeagueCompleted,
) -> str:
    match event:
        case RegistrationChanged():
            return f"Registration is {'open' if event.is_open else 'closed'}"
        case PauseChanged():
            return "The league is paused" if event.is_paused else "The league goes on"
        case LeagueStarted():
            return f"The league starts: {format_count(event.players, 'player')}, {format_count(event.matches, 'match')}"
        case LeagueResumed():
            return f"The league goes on after {len(event.results)} of {format_count(event.matches, 'match')}"
        case LeagueCompleted():
            won = not event.is_void and event.standings
            who = f"{event.standings[0].display_name} is the champion" if won else "there is no champion"
            return f"The league is over; {who}"
