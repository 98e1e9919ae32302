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
from agent_league.model.result_words import counted, ending, what_went_wrong


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence; `label` comes first and links to the page `path`, `kind` selects its style."""

    kind: str
    text: str
    label: str = ""
    path: str = ""


def sentence_of(event: Event, names: Mapping[str, str]) -> Sentence:
    """Describe an event. `names` maps player ids to names."""
    match event:
        case AgentRegistered() | AgentStateChanged() | RegistrationRefused():
            return _of_agent(event, names)
        case MatchAssigned() | MatchFinished():
            return _of_match(event, names)
        case RoundStarted() | RoundCompleted():
            return Sentence("round", _of_round(event))
        case MatchOverdue() | MatchNotTaken() | RefereeWaitChanged() | StoreChanged():
            return Sentence("league" if _is_good(event) else "trouble", event.sentence)
        case _:
            return Sentence("league", _of_league(event))


def _is_good(event: MatchOverdue | MatchNotTaken | RefereeWaitChanged | StoreChanged) -> bool:
    """Whether the event reports the end of a problem."""
    if isinstance(event, StoreChanged):
        return event.is_there
    return isinstance(event, RefereeWaitChanged) and not event.is_waiting


def _of_agent(event: AgentRegistered | AgentStateChanged | RegistrationRefused, names: Mapping[str, str]) -> Sentence:
    if isinstance(event, RegistrationRefused):
        return Sentence("agent" if event.is_old_token else "trouble", event.sentence)
    path = f"players/{event.agent_id}" if event.agent_id in names else "referees"
    if isinstance(event, AgentRegistered):
        return Sentence("agent", "is back" if event.returned else f"joins as a {event.role}", event.display_name, path)
    kind = "trouble" if event.state is AgentState.SUSPENDED else "agent"
    return Sentence(kind, f"is {event.state.lower()}: {event.why}", names.get(event.agent_id, event.agent_id), path)


def _of_match(event: MatchAssigned | MatchFinished, names: Mapping[str, str]) -> Sentence:
    if isinstance(event, MatchAssigned):
        whose = f"goes to {event.referee_id}" if event.referee_id else "waits for a referee"
        return Sentence("match", whose, event.match_id, f"matches/{event.match_id}")
    result = event.result
    kind = "trouble" if what_went_wrong(result, names) else "match"
    return Sentence(kind, ending(result, names), result.match_id, f"matches/{result.match_id}")


def _of_round(event: RoundStarted | RoundCompleted) -> str:
    if isinstance(event, RoundStarted):
        return f"Round {event.round.round_id} begins"
    has_leader = event.standings and event.standings[0].played
    leader = f"; {event.standings[0].display_name} leads" if has_leader else ""
    return f"Round {event.round_id} is complete{leader}"


def _of_league(event: RegistrationChanged | PauseChanged | LeagueStarted | LeagueResumed | LeagueCompleted) -> str:
    match event:
        case RegistrationChanged():
            return f"Registration is {'open' if event.is_open else 'closed'}"
        case PauseChanged():
            return "The league is paused" if event.is_paused else "The league goes on"
        case LeagueStarted():
            return f"The league starts: {counted(event.players, 'player')}, {counted(event.matches, 'match')}"
        case LeagueResumed():
            return f"The league goes on after {len(event.results)} of {counted(event.matches, 'match')}"
        case LeagueCompleted():
            won = not event.is_void and event.standings
            who = f"{event.standings[0].display_name} is the champion" if won else "there is no champion"
            return f"The league is over; {who}"
